//! A listing of a folder, whole or in parts.

mod search;

use std::ops::ControlFlow;

use super::{FileView, Result, Revision, TreeEntry};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::manifest::page;
use crate::manifest::page::Window;
use crate::object::node::{Totals, Value};

pub use search::{LastEntry, Matches};

/// The entries of a folder in the order of contract section 5: not recursive, folders first;
/// recursive, depth first in path order, folders included.
///
/// Any part of it costs about what it holds: what comes before is skipped by the totals that the tree
/// carries. Not recursive, a part with folders costs reading all folders of this one.
#[derive(Clone, Debug)]
pub struct Listing {
    revision: Revision,
    root: NodeId,
    /// Empty, or ends in a slash.
    prefix: String,
    recursive: bool,
    folders: u64,
    total: u64,
}

impl Revision {
    /// Opens the listing of a folder; `None` is the root.
    ///
    /// # Errors
    /// [`super::Missing::Folder`] when nothing or a file is there.
    pub fn listing(&self, folder: Option<&FilePath>, recursive: bool) -> Result<Listing> {
        let root = self.folder(folder)?;
        let (folders, total) = if recursive {
            (0, page::count_recursive(self.nodes(), root)?)
        } else {
            let (folders, files) = page::count(self.nodes(), root)?;
            (folders, folders.saturating_add(files))
        };
        Ok(Listing {
            revision: self.clone(),
            root,
            prefix: folder.map_or(String::new(), |folder| format!("{folder}/")),
            recursive,
            folders,
            total,
        })
    }
}

impl Listing {
    /// How many entries it has.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many folders come first; none in a recursive one, where they lie between the files.
    pub fn folders(&self) -> u64 {
        self.folders
    }

    /// Names what it lists, and how: of equal texts the entries are equal.
    pub fn content(&self) -> String {
        format!("{}\n{}\n{}", self.root, self.recursive, self.prefix)
    }

    /// What is below the folder, at any depth, itself not counted.
    pub fn totals(&self) -> Result<Totals> {
        let nodes = self.revision.nodes();
        let node = crate::manifest::NodeSource::node(nodes, self.root)?;
        Ok(node.counts().totals)
    }

    /// At most `take` entries after the first `skip`.
    pub fn part(&self, skip: u64, take: u64) -> Result<Vec<TreeEntry>> {
        let mut entries = Vec::new();
        if self.recursive {
            self.visit(skip, take, &mut |path, value| {
                entries.extend(self.revision.tree_entry(path.to_owned(), value)?);
                Ok(())
            })?;
            return Ok(entries);
        }
        for (path, value) in self.own(skip, take)? {
            entries.extend(self.revision.tree_entry(path, &value)?);
        }
        Ok(entries)
    }

    /// As [`Listing::part`], with the files opened: `None` for a folder. No git ids are computed.
    pub fn opened_part(&self, skip: u64, take: u64) -> Result<Vec<(String, Option<FileView>)>> {
        let opened = |value: &Value| match value {
            Value::File(file) => Some(FileView::new(&self.revision.project, *file)),
            Value::Directory(_) | Value::Subtree(_) => None,
        };
        let mut entries = Vec::new();
        if !self.recursive {
            let own = self.own(skip, take)?.into_iter();
            return Ok(own.map(|(path, value)| (path, opened(&value))).collect());
        }
        self.visit(skip, take, &mut |path, value| {
            entries.push((path.to_owned(), opened(value)));
            Ok(())
        })?;
        Ok(entries)
    }

    /// A part of a listing that is not recursive.
    fn own(&self, skip: u64, take: u64) -> Result<Vec<(String, Value)>> {
        let mut entries = Vec::new();
        let end = skip.saturating_add(take);
        if skip < self.folders {
            entries = self.some_folders(skip, end)?;
        }
        let mut window = Window {
            skip: skip.saturating_sub(self.folders),
            take: end.saturating_sub(self.folders.max(skip)),
        };
        let _flow = page::files(
            self.revision.nodes(),
            self.root,
            &mut window,
            &mut |key, value| {
                entries.push((format!("{}{}", self.prefix, key.name), *value));
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(entries)
    }

    /// The folders from one place up to another.
    fn some_folders(&self, from: u64, to: u64) -> Result<Vec<(String, Value)>> {
        let mut all = Vec::new();
        page::directories(self.revision.nodes(), self.root, &mut |key, value| {
            all.push((format!("{}{}", self.prefix, key.name), *value));
            Ok(())
        })?;
        // A directory compares as `name/` in the tree, and as its name here.
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let place = |at: u64| usize::try_from(at).map_or(all.len(), |at| at.min(all.len()));
        let (from, to) = (place(from), place(to));
        Ok(all.drain(from..to).collect())
    }

    fn visit(
        &self,
        skip: u64,
        take: u64,
        visit: &mut dyn FnMut(&str, &Value) -> crate::store::Result<()>,
    ) -> Result<()> {
        let mut window = Window { skip, take };
        let mut prefix = self.prefix.clone();
        page::recursive(
            self.revision.nodes(),
            self.root,
            &mut prefix,
            &mut window,
            visit,
        )?;
        Ok(())
    }
}
