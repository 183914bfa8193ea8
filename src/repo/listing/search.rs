//! A place in a listing by the path that was seen last, and what is found in a listing.

use std::ops::ControlFlow;

use super::Listing;
use crate::base::file_path::FilePath;
use crate::base::name_error::NameError;
use crate::manifest::page::Window;
use crate::manifest::{lookup, page, walk};
use crate::object::node::Value;
use crate::repo::{EntryKind, Result, TreeEntry};

/// The entry of a listing after which it goes on: its path, which ends in a slash if it was a folder. It may be
/// there no longer, so that the listing does not tell which of the two it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastEntry(String);

impl LastEntry {
    /// Takes a path, with a slash at its end or without. One without is that of a folder, too, as long as the
    /// folder is there.
    ///
    /// # Errors
    /// As [`FilePath::parse`].
    pub fn parse(text: &str) -> std::result::Result<Self, NameError> {
        FilePath::parse(text.strip_suffix('/').unwrap_or(text))?;
        Ok(Self(text.to_owned()))
    }

    /// This entry.
    pub fn of(entry: &TreeEntry) -> Self {
        Self::at(&entry.path, entry.kind == EntryKind::Folder)
    }

    fn at(path: &str, is_folder: bool) -> Self {
        let slash = if is_folder { "/" } else { "" };
        Self(format!("{path}{slash}"))
    }

    /// The path, with the slash of a folder.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Entries of a listing that match.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The entries, in the listing's order.
    pub entries: Vec<TreeEntry>,
    /// The entry after which the search goes on; `None` when it came to the end.
    pub next: Option<LastEntry>,
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
    /// How many entries come before what follows this one; `None` for one that is not listed here.
    pub fn place_after(&self, last: &LastEntry) -> Result<Option<u64>> {
        let nodes = self.revision.nodes();
        let Some(name) = self.name_of(last)? else {
            return Ok(None);
        };
        if self.recursive {
            return Ok(Some(page::count_recursive_to(nodes, self.root, &name)?));
        }
        if let Some(name) = name.strip_suffix('/') {
            let folders = self.some_folders(0, self.folders)?;
            let is_passed = |(folder, _): &(String, Value)| &folder[self.prefix.len()..] <= name;
            return Ok(Some(folders.partition_point(is_passed) as u64));
        }
        let files = page::count_files_to(nodes, self.root, &name)?;
        Ok(Some(self.folders.saturating_add(files)))
    }

    /// The entries that come after this one and whose paths below the folder match, at most `limit`;
    /// `None` for one that is not listed here. At most `looked_max` entries are looked at, so there
    /// may be fewer matches, or none, and a `next`.
    pub fn search(
        &self,
        matches: &dyn Fn(&str) -> bool,
        after: Option<&LastEntry>,
        limit: usize,
        looked_max: usize,
    ) -> Result<Option<Matches>> {
        let after = match after {
            None => None,
            Some(last) => match self.name_of(last)? {
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
            search.below(after.as_deref())?;
        } else {
            search.own(after.as_deref())?;
        }
        Ok(Some(search.found))
    }

    /// The path of an entry below the folder, with a slash at its end if it was or is a folder; `None` if it
    /// is not listed here.
    fn name_of(&self, last: &LastEntry) -> Result<Option<String>> {
        let name = last.0.strip_prefix(&self.prefix).unwrap_or_default();
        let Ok(path) = FilePath::parse(name.strip_suffix('/').unwrap_or(name)) else {
            return Ok(None);
        };
        if !self.recursive && path.as_str().contains('/') {
            return Ok(None);
        }
        let nodes = self.revision.nodes();
        let is_folder = name.ends_with('/')
            || matches!(
                lookup::path(nodes, self.root, &path)?,
                Some(lookup::Found::Directory(_))
            );
        Ok(Some(LastEntry::at(path.as_str(), is_folder).0))
    }
}

impl Search<'_> {
    /// Everything below the folder. The walk meets a directory as its name with a slash, before what
    /// is in it.
    fn below(&mut self, after: Option<&str>) -> Result<()> {
        let listing = self.listing;
        let nodes = listing.revision.nodes();
        let from = after.unwrap_or_default();
        let mut passed = from;
        let _flow = walk::recursive_from(nodes, listing.root, from, &mut |name, value| {
            if !passed.is_empty() {
                let slash = matches!(value, Value::Directory(_));
                let here = name.bytes().chain(slash.then_some(b'/'));
                if here.le(passed.bytes()) {
                    return Ok(ControlFlow::Continue(()));
                }
                passed = "";
            }
            self.look(name, value)
        })?;
        Ok(())
    }

    /// The folder's own folders, then its files.
    fn own(&mut self, after: Option<&str>) -> Result<()> {
        let listing = self.listing;
        let last_folder = after.and_then(|name| name.strip_suffix('/'));
        let in_folders = after.is_none() || last_folder.is_some();
        if in_folders {
            for (path, value) in listing.some_folders(0, listing.folders)? {
                let name = &path[listing.prefix.len()..];
                let passed = last_folder.is_some_and(|last| name <= last);
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
            self.found.next = self.found.entries.last().map(LastEntry::of);
            return Ok(ControlFlow::Break(()));
        }
        let is_folder = matches!(value, Value::Directory(_));
        let is_last = self.looked == self.looked_max;
        let last = is_last.then(|| LastEntry::at(&path(), is_folder));
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
