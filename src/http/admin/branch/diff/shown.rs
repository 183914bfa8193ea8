//! Files that differ, as they are shown.

use serde::Serialize;

use crate::base::id::{GitId, Md5};
use crate::http::error::Error;
use crate::http::shape::patches::Budget;
use crate::repo::{FileDifference, FileView, Patch, Renames};

/// A path that differs.
#[derive(Debug, Serialize)]
pub(super) struct DifferenceJson<'a> {
    pub(super) path: &'a str,
    change: String,
    /// The deleted file whose bytes this added one has.
    renamed_from: Option<&'a str>,
    /// Lines; `None` where they are not counted.
    additions: Option<u64>,
    deletions: Option<u64>,
    /// `None` where that was not looked at.
    binary: Option<bool>,
    old: Option<SideJson>,
    new: Option<SideJson>,
}

/// A file on one side.
#[derive(Debug, Serialize)]
struct SideJson {
    id: GitId,
    size: u64,
    md5: Md5,
    mode: &'static str,
}

/// Those of the differences at these places as they are shown.
///
/// # Limits
/// Lines are counted of files up to 1 MiB, until the text diffs of an answer have 4 MiB, and for 5
/// seconds.
pub(super) fn shown(
    differences: &[FileDifference],
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<DifferenceJson<'_>>, Error> {
    let renames = Renames::of(differences);
    let mut budget = Budget::new();
    let shown = places.into_iter().map(|at| {
        let difference = &differences[at];
        let patch = budget.patch(difference)?;
        let renamed_from = renames.source(at);
        let renamed_from = renamed_from.map(|from| differences[from].path.as_str());
        Ok(DifferenceJson::new(
            difference,
            patch.as_ref(),
            renamed_from,
        ))
    });
    shown.collect()
}

impl<'a> DifferenceJson<'a> {
    pub(super) fn new(
        difference: &'a FileDifference,
        patch: Option<&Patch>,
        renamed_from: Option<&'a str>,
    ) -> Self {
        let side = |file: &FileView| SideJson {
            id: file.git_id(),
            size: file.size(),
            md5: file.md5(),
            mode: file.git_mode(),
        };
        let (additions, deletions, binary) = match patch {
            Some(Patch::Text { added, removed, .. }) => (Some(*added), Some(*removed), Some(false)),
            Some(Patch::Binary) => (None, None, Some(true)),
            Some(Patch::TooLarge) | None => (None, None, None),
        };
        Self {
            path: &difference.path,
            change: difference.kind().to_string(),
            renamed_from,
            additions,
            deletions,
            binary,
            old: difference.old.as_ref().map(side),
            new: difference.new.as_ref().map(side),
        }
    }
}
