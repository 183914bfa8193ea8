//! What is kept in memory of the last changes of files, and of how many files and lines changes changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quick_cache::sync::Cache;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{CHANGE_COUNTS_ENTRIES, LAST_CHANGES_BYTES};
use crate::base::threads::lock;
use crate::manifest::diff::ChangeCounts;
use crate::repo::Result;

/// What is known of last changes, by the branch's number and the path.
#[derive(Debug)]
pub(in crate::repo) struct LastChanges {
    pub(super) found: ByteCache<(u64, FilePath), Arc<KnownChange>>,
}

/// What is known of the last change of one file.
#[derive(Debug, Default)]
pub(super) struct KnownChange {
    found: Mutex<Option<Found>>,
    /// Whoever searches holds it, and others who want the same meanwhile wait for what that one finds.
    searching: Mutex<()>,
    /// How many searches have failed.
    failures: AtomicU64,
}

impl KnownChange {
    /// What is known now, also while somebody searches.
    pub(super) fn now(&self) -> Option<Found> {
        *lock(&self.found)
    }

    /// What is known if it `holds`, which is asked after waiting for who searches, or what a search from this place
    /// comes to. The search is given what is known.
    ///
    /// # Errors
    /// Those of the search.
    pub(super) fn find_from(
        &self,
        place: u64,
        is_newest: bool,
        holds: impl FnOnce(&Found) -> bool,
        search: impl FnOnce(Option<Found>) -> Result<Found>,
    ) -> Result<Found> {
        // Nobody waits for who asks for a state of long ago.
        let _turn = is_newest.then(|| self.turn(place));
        let known = self.now();
        if let Some(known) = known.filter(holds) {
            return Ok(known);
        }
        let found = search(known).inspect_err(|_| {
            self.failures.fetch_add(1, Ordering::Relaxed);
        })?;
        self.keep(found);
        Ok(found)
    }

    /// Waits for who searches. `None` for who searches beside others: from a place of which nothing is kept, so that
    /// nobody is to wait for it, or after waiting for a search that failed, as the next may after as long a time.
    fn turn(&self, place: u64) -> Option<MutexGuard<'_, ()>> {
        if !self.keeps(place) {
            return None;
        }
        let failures = self.failures.load(Ordering::Relaxed);
        let turn = lock(&self.searching);
        let has_failed = self.failures.load(Ordering::Relaxed) != failures;
        (!has_failed && self.keeps(place)).then_some(turn)
    }

    fn keep(&self, found: Found) {
        let mut kept = lock(&self.found);
        if kept.is_none_or(|kept| kept.seen_from <= found.seen_from) {
            *kept = Some(found);
        }
    }

    /// True if what is found from a place is kept: if nothing is that was seen from a later one.
    fn keeps(&self, place: u64) -> bool {
        self.now().is_none_or(|known| known.seen_from <= place)
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
    /// does, or if it met the change before it, or a gap, and not just its end.
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
