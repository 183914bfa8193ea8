//! What is kept of records in memory, and how it is renewed and dropped.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use quick_cache::sync::Cache;

use crate::base::limits::{FOLDER_CACHE_BYTES, FOLDER_STATES_KEPT, RECORD_CACHE_BYTES};
use crate::base::may_block;
use crate::store::records::{Folder, find_in, put_into};
use crate::store::watchers::{Watchers, folders_of};
use crate::store::{Record, Version};

/// Counts of changes to single records: so many that what is written at once seldom shares one.
const SHARES: usize = 4096;

/// Records and folders of records, and who watches them.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) records: Cache<String, Option<Arc<Record>>, ByBytes>,
    pub(super) folders: Cache<String, Folder, ByBytes>,
    /// See [`crate::store::Store::folder_state`]. An entry goes when anything in its folder changes.
    pub(super) states: Cache<String, u64>,
    last_state: AtomicU64,
    /// Counts what makes single records that are kept doubtful; several share a count.
    changes: Box<[AtomicU64]>,
    /// Held to keep a value and to drop values, so that no old value is kept after its drop.
    gate: Mutex<()>,
    pub(super) watchers: Watchers,
}

#[derive(Clone, Debug)]
pub(super) struct ByBytes;

/// What a record takes in memory: its value counts twice, for it is kept decoded, too.
fn weight_of(record: &Record) -> u64 {
    u64::try_from(200 + record.key.len() + 2 * record.value.len()).unwrap_or(u64::MAX)
}

impl quick_cache::Weighter<String, Option<Arc<Record>>> for ByBytes {
    fn weight(&self, key: &String, record: &Option<Arc<Record>>) -> u64 {
        let record = record.as_ref().map_or(0, |record| weight_of(record));
        96 + u64::try_from(key.len()).unwrap_or(0) + record
    }
}

impl quick_cache::Weighter<String, Folder> for ByBytes {
    fn weight(&self, key: &String, folder: &Folder) -> u64 {
        let records: u64 = folder.iter().map(|record| weight_of(record)).sum();
        96 + u64::try_from(key.len()).unwrap_or(0) + records
    }
}

impl Default for Kept {
    fn default() -> Self {
        let items = usize::try_from(RECORD_CACHE_BYTES / 512).unwrap_or(1024);
        Self {
            records: Cache::with_weighter(items, RECORD_CACHE_BYTES, ByBytes),
            folders: Cache::with_weighter(items / 16, FOLDER_CACHE_BYTES, ByBytes),
            states: Cache::new(FOLDER_STATES_KEPT),
            last_state: AtomicU64::new(0),
            changes: (0..SHARES).map(|_| AtomicU64::new(0)).collect(),
            gate: Mutex::default(),
            watchers: Watchers::default(),
        }
    }
}

impl Kept {
    /// Drops what is kept of this record. The gate is held.
    pub(super) fn forget(&self, key: &str) {
        self.changes_of(key).fetch_add(1, Ordering::AcqRel);
        self.records.remove(key);
        for folder in folders_of(key) {
            self.folders.remove(folder);
            // Last: who reads the next state finds nothing that was kept before.
            self.states.remove(folder);
        }
    }

    /// Drops everything. The gate is held.
    pub(super) fn forget_all(&self) {
        for changes in &self.changes {
            changes.fetch_add(1, Ordering::AcqRel);
        }
        self.records.clear();
        self.folders.clear();
        self.states.clear();
    }

    /// The gate. Who has it may read from the store meanwhile, so whoever waits lets others of its thread go on.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        let gate = match self.gate.try_lock() {
            Err(TryLockError::WouldBlock) => may_block(|| self.gate.lock().ok()),
            gate => gate.ok(),
        };
        gate.expect("no panic while held")
    }

    /// Keeps what was read while `still` holds: while no change was observed since the read began. None
    /// was if it was read with the gate held.
    /// Before that it renews what is kept of the same records, if `read` has them newer. False where it
    /// does not hold: then another who reads may yet keep something older.
    pub(super) fn keep(
        &self,
        gate: Option<MutexGuard<'_, ()>>,
        read: &[Arc<Record>],
        still: impl FnOnce() -> bool,
        keep: impl FnOnce(),
    ) -> bool {
        let is_alone = gate.is_some();
        // Who replaces something takes it out meanwhile: without the gate it could seem not to be kept.
        let _gate = gate.unwrap_or_else(|| self.lock());
        let holds = is_alone || still();
        if holds {
            let news = read.iter().filter(|record| self.is_news(record));
            let news: Vec<_> = news.cloned().collect();
            self.replace(&news, &[]);
            self.watchers
                .tell(news.iter().map(|record| record.key.as_str()));
            keep();
        }
        holds
    }

    /// True if this record is kept, by itself or in a folder, as it was before.
    fn is_news(&self, record: &Record) -> bool {
        let kept = self.records.peek(&record.key);
        kept.is_some_and(|kept| is_older(kept.as_ref(), record))
            || folders_of(&record.key).any(|folder| {
                let kept = self.folders.peek(folder);
                kept.is_some_and(|kept| is_older(find_in(&kept, &record.key), record))
            })
    }

    /// Puts records into the places of their older versions, and drops what is kept of the doubtful ones, unless it is
    /// of this version or later. The gate is held.
    ///
    /// Nobody finds one of them renewed and another as it was, nor what was derived from a folder before: all are taken
    /// out first, and whoever misses one waits for the gate.
    pub(super) fn replace(&self, renewed: &[Arc<Record>], doubtful: &[(&str, Version)]) {
        let keys = renewed.iter().map(|record| record.key.as_str());
        let keys = keys.chain(doubtful.iter().map(|(key, _)| *key));
        let (mut records, mut folders) = (BTreeMap::new(), BTreeMap::new());
        for key in keys {
            // Who read the older one and has not kept it yet does not keep it.
            self.changes_of(key).fetch_add(1, Ordering::AcqRel);
            records.extend(self.records.remove(key));
            for folder in folders_of(key) {
                self.states.remove(folder);
                folders.extend(self.folders.remove(folder));
            }
        }
        for (key, since) in doubtful {
            let kept = records.get(*key);
            if kept.is_some_and(|kept: &Option<_>| !is_since(kept.as_ref(), *since)) {
                records.remove(*key);
            }
            for folder in folders_of(key) {
                let kept = folders.get(folder);
                if kept.is_some_and(|kept: &Folder| !is_since(find_in(kept, key), *since)) {
                    folders.remove(folder);
                }
            }
        }
        for record in renewed {
            if let Some(kept) = records.get_mut(&record.key)
                && is_older(kept.as_ref(), record)
            {
                *kept = Some(Arc::clone(record));
            }
            for folder in folders_of(&record.key) {
                if let Some(kept) = folders.get_mut(folder) {
                    put_into(Arc::make_mut(kept), record);
                }
            }
        }
        for (key, record) in records {
            self.records.insert(key, record);
        }
        for (name, folder) in folders {
            self.folders.insert(name, folder);
        }
    }

    pub(super) fn changes_of(&self, key: &str) -> &AtomicU64 {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let share = usize::try_from(hasher.finish() % SHARES as u64).unwrap_or(0);
        &self.changes[share]
    }

    /// The state of a folder.
    pub(super) fn state(&self, folder: &str) -> u64 {
        if let Some(state) = self.states.get(folder) {
            return state;
        }
        let _gate = self.lock();
        // Another may have been first.
        self.states.get(folder).unwrap_or_else(|| {
            let state = self.last_state.fetch_add(1, Ordering::Relaxed) + 1;
            self.states.insert(folder.to_owned(), state);
            state
        })
    }
}

/// True if what is kept is of this version or later.
fn is_since(kept: Option<&Arc<Record>>, version: Version) -> bool {
    kept.is_some_and(|kept| kept.version >= version)
}

/// True if what is kept, `None` for no record, is from before this record was written.
fn is_older(kept: Option<&Arc<Record>>, record: &Record) -> bool {
    kept.is_none_or(|kept| kept.version < record.version)
}
