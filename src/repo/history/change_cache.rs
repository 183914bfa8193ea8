//! What is kept in memory of the last changes of files, and of how many files changes changed.

use quick_cache::sync::Cache;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{CHANGE_COUNTS_ENTRIES, LAST_CHANGES_BYTES};
use crate::manifest::diff::ChangeCounts;

/// What is known of last changes.
#[derive(Debug)]
pub(in crate::repo) struct LastChanges {
    pub(super) found: ByteCache<(u64, FilePath), Found>,
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
                160 + path.as_str().len()
            }),
        }
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
