//! What differs between two states.

mod comparison;
mod renames;

use std::fmt;

use super::{FileView, Result, Revision};

pub use comparison::{Comparison, Survey};
pub use renames::Renames;

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is only in the new state.
    Added,
    /// It is in both, with other bytes or another mode.
    Modified,
    /// It is only in the old state.
    Deleted,
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        })
    }
}

/// A file that differs. At least one side is there.
#[derive(Clone, Debug)]
pub struct FileDifference {
    /// The full path.
    pub path: String,
    /// As it is in the old state.
    pub old: Option<FileView>,
    /// As it is in the new state.
    pub new: Option<FileView>,
}

impl FileDifference {
    /// How it differs.
    pub fn kind(&self) -> ChangeKind {
        match (&self.old, &self.new) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Modified,
            (Some(_), None) => ChangeKind::Deleted,
        }
    }
}

/// The files that differ between two states, in the byte order of their paths. What both share is
/// not read.
pub fn diff(old: &Revision, new: &Revision) -> Result<Vec<FileDifference>> {
    diff_at_most(old, new, usize::MAX)
}

/// As [`diff`], but at most this many.
pub fn diff_at_most(old: &Revision, new: &Revision, limit: usize) -> Result<Vec<FileDifference>> {
    Comparison::of(old, new)?.part(None, limit)
}
