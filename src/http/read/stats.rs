//! How many lines commits changed.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::limits::{COMPARE_FILES_MAX, COMPARE_MS_MAX};
use crate::http::error::Error;
use crate::http::shape::patches::Budget;
use crate::repo;
use crate::repo::{Commit, LineCounts, Patch};

/// For all commits of an answer.
const WHOLE_TIME: Duration = Duration::from_millis(COMPARE_MS_MAX);

/// Lines that a commit added and removed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct StatsJson {
    additions: u64,
    deletions: u64,
    total: u64,
}

impl From<LineCounts> for StatsJson {
    fn from(LineCounts { added, removed }: LineCounts) -> Self {
        Self {
            additions: added,
            deletions: removed,
            total: added + removed,
        }
    }
}

/// Counts the lines that the commits of an answer changed. Those of a commit that were all counted are kept, whatever
/// changes since.
///
/// # Limits
/// Of each commit what a comparison shows: 1,000 files, 4 MiB of their diffs. 5 seconds for all commits together;
/// what is not counted by then adds nothing, so that clients find the numbers that they read without a look.
#[derive(Debug)]
pub(super) struct LineCounter {
    time: Duration,
}

impl LineCounter {
    pub(super) fn new() -> Self {
        Self { time: WHOLE_TIME }
    }

    /// True once its time is over: what comes then, or came last, is not counted whole.
    pub(super) fn is_over(&self) -> bool {
        self.time.is_zero()
    }

    /// How many lines a commit changed. The first commit of a branch changed none: what it begins with was made
    /// elsewhere.
    pub(super) fn count(&mut self, commit: &Commit) -> Result<StatsJson, Error> {
        if let Some(known) = commit.known_lines() {
            return Ok(known.into());
        }
        let mut lines = LineCounts::default();
        let Some(before) = commit.before.as_ref().filter(|_| !self.is_over()) else {
            return Ok(lines.into());
        };
        let begun = Instant::now();
        let mut budget = Budget::of_time(self.time);
        for difference in repo::diff_at_most(before, &commit.revision, COMPARE_FILES_MAX)? {
            if let Some(Patch::Text { added, removed, .. }) = budget.patch(&difference)? {
                lines.added += added;
                lines.removed += removed;
            }
        }
        self.time = self.time.saturating_sub(begun.elapsed());
        // The next answer may have more time for it.
        if !self.is_over() {
            commit.keep_lines(lines);
        }
        Ok(lines.into())
    }
}
