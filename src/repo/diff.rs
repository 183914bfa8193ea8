//! What differs between two states.

use std::fmt;

use super::{FileView, Project, Result, Revision};
use crate::base::id::NodeId;
use crate::manifest::NodeSource;
use crate::manifest::diff as manifest;
use crate::manifest::diff::FileChange;

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
    differences(&new.project, new.nodes(), old.root()?, new.root()?)
}

/// As [`diff`], but at most this many.
pub fn diff_at_most(old: &Revision, new: &Revision, limit: usize) -> Result<Vec<FileDifference>> {
    let changes = manifest::diff_at_most(new.nodes(), old.root()?, new.root()?, limit)?;
    Ok(viewed(&new.project, changes))
}

pub(super) fn differences(
    project: &Project,
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
) -> Result<Vec<FileDifference>> {
    Ok(viewed(project, manifest::diff(source, old, new)?))
}

fn viewed(project: &Project, changes: Vec<FileChange>) -> Vec<FileDifference> {
    let view = |entry| FileView::new(project, entry);
    changes
        .into_iter()
        .map(|change| FileDifference {
            path: change.path,
            old: change.old.map(view),
            new: change.new.map(view),
        })
        .collect()
}
