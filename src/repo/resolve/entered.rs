//! What is kept in memory of the snapshots whose commit ids searches have entered in the index.

use quick_cache::sync::Cache;

use crate::base::cache::CacheUse;
use crate::base::limits::BRANCH_NUMBERS_KEPT;

/// By branch, which of its snapshots need not be searched again.
///
/// An entry stays in the index until a snapshot is pruned, which changes the oldest that the branch has: then all of
/// the branch is searched again.
#[derive(Debug)]
pub(in crate::repo) struct EnteredSnapshots {
    branches: Cache<u64, EnteredRange>,
}

/// Snapshots of a branch whose commit ids are in the index: the newest at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnteredRange {
    /// The number of the oldest snapshot that the branch had then.
    oldest: Option<u64>,
    /// The number of the newest of them.
    pub(super) up_to: u64,
    /// How many they are.
    pub(super) count: usize,
}

impl Default for EnteredSnapshots {
    fn default() -> Self {
        Self {
            branches: Cache::new(BRANCH_NUMBERS_KEPT),
        }
    }
}

impl EnteredSnapshots {
    /// Those of a branch that has this oldest snapshot; `None` where that is not known.
    pub(super) fn of(&self, branch: u64, oldest: Option<u64>) -> Option<EnteredRange> {
        let known = self.branches.get(&branch);
        known.filter(|known| known.oldest == oldest)
    }

    /// Keeps that the newest so many, up to this one, are entered. The oldest was asked for before they were.
    pub(super) fn keep(&self, branch: u64, oldest: Option<u64>, up_to: u64, count: usize) {
        let entered = EnteredRange {
            oldest,
            up_to,
            count,
        };
        self.branches.insert(branch, entered);
    }

    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::counted("entered_snapshots", &self.branches)
    }
}
