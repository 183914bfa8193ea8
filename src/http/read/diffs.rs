//! Files that differ as GitLab's objects, with their diffs as far as the limits of an answer go.

use serde::Serialize;

use crate::http::error::Error;
use crate::http::shape::patches::Budget;
use crate::repo;
use crate::repo::{FileDifference, Patch};

/// A file that differs.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's fields")]
pub(super) struct DiffJson<'a> {
    diff: String,
    collapsed: bool,
    too_large: bool,
    new_path: &'a str,
    old_path: &'a str,
    a_mode: &'static str,
    b_mode: &'static str,
    new_file: bool,
    renamed_file: bool,
    deleted_file: bool,
    generated_file: bool,
}

/// The differences as GitLab shows them; with `unidiff` each begins with the lines that name the files.
///
/// # Limits
/// Diffs of files up to 1 MiB, 4 MiB of them, 5 seconds. A file beyond that is shown without its diff,
/// as `too_large` or `collapsed`.
pub(super) fn shown(
    differences: &[FileDifference],
    unidiff: bool,
) -> Result<Vec<DiffJson<'_>>, Error> {
    let mut budget = Budget::new();
    let shown = differences.iter().map(|difference| {
        let patch = budget.patch(difference)?;
        Ok(DiffJson::new(difference, patch, unidiff))
    });
    shown.collect()
}

impl<'a> DiffJson<'a> {
    fn new(difference: &'a FileDifference, patch: Option<Patch>, unidiff: bool) -> Self {
        let path = &difference.path;
        let mode =
            |file: &Option<repo::FileView>| file.as_ref().map_or("0", repo::FileView::git_mode);
        let (collapsed, too_large) = (patch.is_none(), patch == Some(Patch::TooLarge));
        let (a_mode, b_mode) = (mode(&difference.old), mode(&difference.new));
        let diff = match patch {
            Some(Patch::Text { hunks, .. }) if unidiff && !hunks.is_empty() => {
                let (old, new) = (difference.old.is_some(), difference.new.is_some());
                repo::patch_names(path, old, new) + &hunks
            }
            Some(Patch::Text { hunks, .. }) => hunks,
            Some(Patch::Binary) => format!("Binary files a/{path} and b/{path} differ\n"),
            Some(Patch::TooLarge) | None => String::new(),
        };
        Self {
            diff,
            collapsed,
            too_large,
            new_path: path,
            old_path: path,
            a_mode,
            b_mode,
            new_file: difference.old.is_none(),
            renamed_file: false,
            deleted_file: difference.new.is_none(),
            generated_file: false,
        }
    }
}
