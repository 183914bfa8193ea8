//! How many lines a commit changed.

use serde::Serialize;

use crate::base::limits::COMPARE_FILES_MAX;
use crate::http::error::Error;
use crate::http::shape::patches::Budget;
use crate::repo;
use crate::repo::{Commit, Patch};

/// Lines that a commit added and removed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct StatsJson {
    additions: u64,
    deletions: u64,
    total: u64,
}

/// How many lines a commit changed, as far as the limits of a comparison go. The first commit of a
/// branch changed none: what it begins with was made elsewhere.
pub(super) fn stats(commit: &Commit) -> Result<StatsJson, Error> {
    let mut stats = StatsJson::default();
    let Some(before) = &commit.before else {
        return Ok(stats);
    };
    let mut budget = Budget::new();
    for difference in repo::diff_at_most(before, &commit.revision, COMPARE_FILES_MAX)? {
        if let Some(Patch::Text { added, removed, .. }) = budget.patch(&difference)? {
            stats.additions += added;
            stats.deletions += removed;
        }
    }
    stats.total = stats.additions + stats.deletions;
    Ok(stats)
}
