//! What is left out of the archive of a folder.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::file_path::FilePath;
use crate::repo;
use crate::repo::Revision;

/// Files and folders that are left out, each with what lies below it.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct LeftOut {
    /// How many entries lie below each, by its path. None of them lies below another.
    below: BTreeMap<FilePath, u64>,
    bytes: u64,
}

impl LeftOut {
    /// Finds what is at these paths of a revision, as far as it lies in a folder; `None` is the root. A path where
    /// nothing is leaves out nothing.
    pub(super) fn find(
        revision: &Revision,
        folder: Option<&FilePath>,
        paths: &BTreeSet<FilePath>,
    ) -> repo::Result<Self> {
        let mut found = Self::default();
        for path in paths {
            let is_inside = folder.is_none_or(|folder| folder.is_or_holds(path.as_str()));
            // A folder comes before what lies below it.
            if !is_inside || found.has_folder_of(path) {
                continue;
            }
            if let Some(listing) = repo::optional(revision.listing(Some(path), true))? {
                found.bytes += listing.totals()?.bytes;
                found.below.insert(path.clone(), listing.total());
            } else if let Some(file) = repo::optional(revision.file(path))? {
                found.bytes += file.size();
                found.below.insert(path.clone(), 0);
            }
        }
        Ok(found)
    }

    fn has_folder_of(&self, path: &FilePath) -> bool {
        let path = path.as_str();
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.any(|folder| self.below.contains_key(folder))
    }

    /// The paths, by their bytes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &FilePath> {
        self.below.keys()
    }

    /// How many bytes the files have together.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many entries lie below what is at a path, if it is left out: they follow it in a recursive listing.
    pub(super) fn entries_below(&self, path: &str) -> Option<u64> {
        self.below.get(path).copied()
    }
}
