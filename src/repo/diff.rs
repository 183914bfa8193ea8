//! What differs between two states.

use std::fmt;

use similar::TextDiff;

use super::{Body, Error, FileView, Missing, Project, Result, Revision};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::base::limits::TEXT_DIFF_BYTES_MAX;
use crate::manifest::NodeSource;

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

pub(super) fn differences(
    project: &Project,
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
) -> Result<Vec<FileDifference>> {
    let view = |entry| FileView::new(project, entry);
    let changes = crate::manifest::diff::diff(source, old, new)?;
    Ok(changes
        .into_iter()
        .map(|change| FileDifference {
            path: change.path,
            old: change.old.map(view),
            new: change.new.map(view),
        })
        .collect())
}

/// The unified text diff of one file between two states; empty where it does not differ.
///
/// # Errors
/// [`Missing::File`] when it is in neither.
///
/// # Limits
/// Files of at most 1 MiB are compared; larger ones are [`Error::TooLarge`]. Of files that are not
/// text it says only that they differ.
pub fn text_diff(old: &Revision, new: &Revision, path: &FilePath) -> Result<String> {
    let sides = (text_of(old, path)?, text_of(new, path)?);
    let (before, after) = match sides {
        (Side::Absent, Side::Absent) => return Err(Error::missing(Missing::File)),
        (Side::Absent, Side::Text(after)) => (String::new(), after),
        (Side::Text(before), Side::Absent) => (before, String::new()),
        (Side::Text(before), Side::Text(after)) => (before, after),
        (Side::Binary(a), Side::Binary(b)) if a == b => return Ok(String::new()),
        (Side::Binary(_), _) | (_, Side::Binary(_)) => {
            return Ok("Binary files differ\n".to_owned());
        }
    };
    let diff = TextDiff::from_lines(&before, &after);
    Ok(diff
        .unified_diff()
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string())
}

enum Side {
    Absent,
    Text(String),
    Binary(bytes::Bytes),
}

fn text_of(revision: &Revision, path: &FilePath) -> Result<Side> {
    let file = match revision.file(path) {
        Err(Error::NotFound { .. }) => return Ok(Side::Absent),
        other => other?,
    };
    let too_large = Error::TooLarge {
        limit_bytes: TEXT_DIFF_BYTES_MAX,
    };
    if file.size() > TEXT_DIFF_BYTES_MAX {
        return Err(too_large);
    }
    let bytes = match file.content()?.body {
        Body::Inline(bytes) => bytes,
        Body::Large(large) => {
            let mut bytes = vec![0; usize::try_from(file.size()).map_err(|_| too_large)?];
            let read = large.read_exact_at(&mut bytes, 0);
            read.map_err(|e| crate::store::StoreError::io("reading a blob", e))?;
            bytes.into()
        }
    };
    Ok(match std::str::from_utf8(&bytes) {
        Ok(text) if !text.contains('\0') => Side::Text(text.to_owned()),
        _ => Side::Binary(bytes),
    })
}
