//! What is kept in memory of the last changes of files, and of how many files and lines changes changed.

use std::sync::{Arc, Mutex, MutexGuard};

use quick_cache::sync::Cache;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{CHANGE_COUNTS_ENTRIES, LAST_CHANGES_BYTES};
use crate::base::threads::lock;
use crate::manifest::diff::ChangeCounts;

/// What is known of last changes, by the branch's number and the path.
#[derive(Debug)]
pub(in crate::repo) struct LastChanges {
    pub(super) found: ByteCache<(u64, FilePath), LastChange>,
}

/// What is known of the last change of one file. Whoever searches for it holds it locked, so that all others who want
/// it meanwhile wait for what that one finds.
#[derive(Clone, Debug, Default)]
pub(super) struct LastChange(Arc<Mutex<Option<Found>>>);

impl LastChange {
    /// What is known now; `None` also while somebody searches.
    pub(super) fn now(&self) -> Option<Found> {
        let found = self.0.try_lock().ok()?;
        *found
    }

    /// Waits for who searches.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        lock(&self.0)
    }
}

/// The last change of a file as seen from a place in the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The oldest snapshot that was searched.
    pub(super) searched_from: u64,
    pub(super) seen_from: u64,
    pub(super) changed_at: u64,
    pub(super) changed: ManifestId,
}

impl Found {
    /// True if the file was last changed there as seen from this place, too.
    pub(super) fn holds_at(&self, place: u64) -> bool {
        (self.changed_at..=self.seen_from).contains(&place)
    }

    /// True if a search from there that goes back to this place and no farther comes to the same: if it was one that
    /// does, or if it met the change before it, and not just its end.
    pub(super) fn is_found_from(&self, oldest: u64) -> bool {
        let has_met_it = self.changed_at > self.searched_from;
        self.searched_from == oldest || has_met_it && self.changed_at >= oldest
    }
}

impl LastChanges {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::weighed("last_changes", &self.found)
    }
}

impl Default for LastChanges {
    fn default() -> Self {
        Self {
            found: byte_cache(LAST_CHANGES_BYTES, 4096, |(_, path), _| {
                256 + path.as_str().len()
            }),
        }
    }
}

/// Lines that differ between two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that only the newer one has.
    pub added: u64,
    /// Lines that only the older one has.
    pub removed: u64,
}

/// Counts of files and of lines that differ between two states, by both.
#[derive(Debug)]
pub(in crate::repo) struct CountedChanges {
    pub(super) known: Cache<(ManifestId, ManifestId), Option<ChangeCounts>>,
    pub(super) lines: Cache<(ManifestId, ManifestId), LineCounts>,
}

impl Default for CountedChanges {
    fn default() -> Self {
        Self {
            known: Cache::new(CHANGE_COUNTS_ENTRIES),
            lines: Cache::new(CHANGE_COUNTS_ENTRIES),
        }
    }
}

impl CountedChanges {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::counted("change_counts", &self.known),
            CacheUse::counted("line_counts", &self.lines),
        ]
    }
}
