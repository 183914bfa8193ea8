//! A place in a listing by the path that was seen last, and what is found in a listing.

use std::ops::ControlFlow;

use super::Listing;
use crate::base::file_path::FilePath;
use crate::manifest::page::Window;
use crate::manifest::{lookup, page, walk};
use crate::object::node::{Key, Value};
use crate::repo::{Result, TreeEntry};

/// Entries of a listing that match.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The entries, in the listing's order.
    pub entries: Vec<TreeEntry>,
    /// The path after which the search goes on; `None` when it came to the end.
    pub next: Option<String>,
}

/// What is looked for, and what was found.
struct Search<'a> {
    listing: &'a Listing,
    matches: &'a dyn Fn(&str) -> bool,
    limit: usize,
    looked_max: usize,
    looked: usize,
    found: Matches,
}

impl Listing {
    /// How many entries come before what follows this path, which may be there no longer; `None` for a
    /// path that is not listed here.
    pub fn place_after(&self, path: &FilePath) -> Result<Option<u64>> {
        let nodes = self.revision.nodes();
        let Some(name) = self.name_of(path) else {
            return Ok(None);
        };
        if self.recursive {
            return Ok(Some(page::count_recursive_to(nodes, self.root, name)?));
        }
        if self.has_folder(name)? {
            let folders = self.some_folders(0, self.folders)?;
            let path = path.as_str();
            return Ok(Some(
                folders.partition_point(|(folder, _)| folder.as_str() <= path) as u64,
            ));
        }
        let files = page::count_files_to(nodes, self.root, name)?;
        Ok(Some(self.folders.saturating_add(files)))
    }

    /// The entries that come after a path and whose paths below the folder match, at most `limit`;
    /// `None` for a path that is not listed here. At most `looked_max` entries are looked at, so there
    /// may be fewer matches, or none, and a `next`.
    pub fn search(
        &self,
        matches: &dyn Fn(&str) -> bool,
        after: Option<&FilePath>,
        limit: usize,
        looked_max: usize,
    ) -> Result<Option<Matches>> {
        let after = match after {
            None => None,
            Some(path) => match self.name_of(path) {
                None => return Ok(None),
                name => name,
            },
        };
        let mut search = Search {
            listing: self,
            matches,
            limit,
            looked_max,
            looked: 0,
            found: Matches::default(),
        };
        if self.recursive {
            search.below(after)?;
        } else {
            search.own(after)?;
        }
        Ok(Some(search.found))
    }

    /// A path as it is below the folder, `None` if it is not listed here.
    fn name_of<'a>(&self, path: &'a FilePath) -> Option<&'a str> {
        let name = path.as_str().strip_prefix(&self.prefix)?;
        (self.recursive || !name.contains('/')).then_some(name)
    }

    fn has_folder(&self, name: &str) -> Result<bool> {
        let nodes = self.revision.nodes();
        Ok(lookup::value(nodes, self.root, &Key::directory(name))?.is_some())
    }
}

impl Search<'_> {
    /// Everything below the folder. The walk meets a directory as its name with a slash, before what
    /// is in it.
    fn below(&mut self, after: Option<&str>) -> Result<()> {
        let listing = self.listing;
        let nodes = listing.revision.nodes();
        let from = after.unwrap_or_default();
        let mut passed = match after {
            None => String::new(),
            Some(name) => {
                let path = FilePath::parse(name).ok();
                let there = path.map(|path| lookup::path(nodes, listing.root, &path));
                match there.transpose()?.flatten() {
                    Some(lookup::Found::Directory(_)) => format!("{name}/"),
                    _ => name.to_owned(),
                }
            }
        };
        let _flow = walk::recursive_from(nodes, listing.root, from, &mut |name, value| {
            if !passed.is_empty() {
                let slash = matches!(value, Value::Directory(_));
                let here = name.bytes().chain(slash.then_some(b'/'));
                if here.le(passed.bytes()) {
                    return Ok(ControlFlow::Continue(()));
                }
                passed.clear();
            }
            self.look(name, value)
        })?;
        Ok(())
    }

    /// The folder's own folders, then its files.
    fn own(&mut self, after: Option<&str>) -> Result<()> {
        let listing = self.listing;
        let in_folders = match after {
            None => true,
            Some(name) => listing.has_folder(name)?,
        };
        if in_folders {
            for (path, value) in listing.some_folders(0, listing.folders)? {
                let name = &path[listing.prefix.len()..];
                let passed = after.is_some_and(|after| name <= after);
                if !passed && self.look(name, &value)?.is_break() {
                    return Ok(());
                }
            }
        }
        let nodes = listing.revision.nodes();
        let skip = match after.filter(|_| !in_folders) {
            Some(name) => page::count_files_to(nodes, listing.root, name)?,
            None => 0,
        };
        let mut window = Window {
            skip,
            take: u64::MAX,
        };
        let _flow = page::files(nodes, listing.root, &mut window, &mut |key, value| {
            self.look(&key.name, value)
        })?;
        Ok(())
    }

    /// Looks at the next entry; breaks when the page ends before it.
    fn look(&mut self, name: &str, value: &Value) -> crate::store::Result<ControlFlow<()>> {
        self.looked += 1;
        let path = || format!("{}{name}", self.listing.prefix);
        let is_found = (self.matches)(name);
        if is_found && self.found.entries.len() == self.limit {
            self.found.next = self.found.entries.last().map(|last| last.path.clone());
            return Ok(ControlFlow::Break(()));
        }
        let last = (self.looked == self.looked_max).then(path);
        if is_found {
            let entry = self.listing.revision.tree_entry(path(), value)?;
            self.found.entries.extend(entry);
        }
        if last.is_some() {
            self.found.next = last;
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    }
}
