//! What is kept in memory of the last changes of files, of the steps among which they are searched, and
//! of how many files changes changed.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{CHANGE_COUNTS_ENTRIES, LAST_CHANGES_BYTES, RECENT_STEPS_BYTES};
use crate::manifest::diff::ChangeCounts;

/// What is known of last changes.
#[derive(Debug)]
pub(in crate::repo) struct LastChanges {
    pub(super) recent: ByteCache<u64, Arc<Recent>>,
    pub(super) found: ByteCache<(u64, FilePath), Found>,
}

/// The newest steps of a branch, from one state to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// The place of the state before the first step. The first state of a branch has place 1, its
    /// snapshot version.
    pub(super) begin: u64,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The state before it.
    pub(super) from: ManifestId,
    /// A hash of the one path that may have changed; `None` if any may have.
    pub(super) path: Option<u64>,
}

/// The last change of a file as seen from a place in the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) seen_from: u64,
    pub(super) changed_at: u64,
    pub(super) changed: ManifestId,
}

impl LastChanges {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::weighed("history_steps", &self.recent),
            CacheUse::weighed("last_changes", &self.found),
        ]
    }
}

impl Default for LastChanges {
    fn default() -> Self {
        Self {
            recent: byte_cache(RECENT_STEPS_BYTES, 256, |_, recent| {
                64 + recent.steps.len() * size_of::<Step>()
            }),
            found: byte_cache(LAST_CHANGES_BYTES, 4096, |(_, path), _| {
                160 + path.as_str().len()
            }),
        }
    }
}

impl Recent {
    /// The place of the state after the last step.
    pub(super) fn end(&self) -> u64 {
        self.begin + self.steps.len() as u64
    }

    /// The state at a place before the end.
    pub(super) fn state(&self, place: u64) -> Option<ManifestId> {
        let at = usize::try_from(place.checked_sub(self.begin)?).ok()?;
        self.steps.get(at).map(|step| step.from)
    }
}

/// Counts of files that differ between two states, by both.
#[derive(Debug)]
pub(in crate::repo) struct CountedChanges {
    pub(super) known: Cache<(ManifestId, ManifestId), Option<ChangeCounts>>,
}

impl Default for CountedChanges {
    fn default() -> Self {
        Self {
            known: Cache::new(CHANGE_COUNTS_ENTRIES),
        }
    }
}

impl CountedChanges {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::counted("change_counts", &self.known)
    }
}
