//! What differs between two states.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::ControlFlow;

use super::{FileView, Project, Result, Revision};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::manifest::NodeSource;
use crate::manifest::diff as manifest;
use crate::manifest::diff::{FileChange, Start};

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

/// For added files that hold the bytes of a deleted one, by their places in the list, the place of that
/// one. Each is named once; of several the one that keeps its name is taken, else the first. Empty files
/// are left out: they say nothing.
pub fn renames(differences: &[FileDifference]) -> HashMap<usize, usize> {
    let name = |at: usize| {
        let path = &differences[at].path;
        path.rsplit('/').next().unwrap_or(path)
    };
    let mut named: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, difference) in differences.iter().enumerate() {
        if let (Some(old), None) = (&difference.old, &difference.new)
            && old.size() > 0
        {
            let same = named.entry((old.blob(), name(at))).or_default();
            same.push_back(at);
        }
    }
    let mut renames = HashMap::new();
    let mut others = Vec::new();
    for (at, difference) in differences.iter().enumerate() {
        if let (None, Some(new)) = (&difference.old, &difference.new) {
            let same = named.get_mut(&(new.blob(), name(at)));
            match same.and_then(VecDeque::pop_front) {
                Some(from) => drop(renames.insert(at, from)),
                None => others.push((at, new.blob())),
            }
        }
    }
    let mut left: Vec<_> = named
        .into_iter()
        .flat_map(|((blob, _), same)| same.into_iter().map(move |at| (at, blob)))
        .collect();
    left.sort_unstable_by_key(|(at, _)| *at);
    let mut by_blob: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, blob) in left {
        by_blob.entry(blob).or_default().push_back(at);
    }
    for (at, blob) in others {
        let same = by_blob.get_mut(&blob);
        if let Some(from) = same.and_then(VecDeque::pop_front) {
            renames.insert(at, from);
        }
    }
    renames
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

/// A page of [`diff`]: those at or below `path` that come after `after`, at most `limit`, and whether there
/// are more. It is compared until the page is full; what comes before it is skipped unread.
pub fn diff_page(
    old: &Revision,
    new: &Revision,
    path: Option<&FilePath>,
    after: Option<&FilePath>,
    limit: usize,
) -> Result<(Vec<FileDifference>, bool)> {
    let start = match (path, after) {
        (Some(path), after) if after.is_none_or(|after| after.as_str() < path.as_str()) => {
            Some(Start::At(path.as_str()))
        }
        (_, after) => after.map(|after| Start::After(after.as_str())),
    };
    let (mut changes, mut more) = (Vec::new(), false);
    // Nothing that comes after this is below the path.
    let end = path.map(|path| format!("{path}0"));
    let (old, new_root) = (old.root()?, new.root()?);
    let _flow = manifest::each(new.nodes(), old, new_root, start, &mut |change| {
        if end.as_ref().is_some_and(|end| change.path >= *end) {
            return ControlFlow::Break(());
        }
        if path.is_some_and(|path| !path.is_or_holds(&change.path)) {
            return ControlFlow::Continue(());
        }
        more = changes.len() == limit;
        if more {
            return ControlFlow::Break(());
        }
        changes.push(change);
        ControlFlow::Continue(())
    })?;
    Ok((viewed(&new.project, changes), more))
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
