//! What is kept of records in memory, and how it is renewed and dropped.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use quick_cache::sync::Cache;

use super::shared::SharedFolders;
use super::weighed_folder::{WeighedFolder, record_bytes};
use crate::base::cache::{ByteCache, byte_cache, entry_bytes_max};
use crate::base::limits::{FOLDER_CACHE_BYTES, FOLDER_STATES_KEPT, RECORD_CACHE_BYTES};
use crate::base::may_block;
use crate::store::records::{Folder, find_in};
use crate::store::watchers::{Watchers, folders_of};
use crate::store::{Record, Version};

/// Counts of changes to single records: so many that what is written at once seldom shares one.
const SHARES: usize = 4096;

/// From so many records on a folder is shared by all who hold it, also where there is no room to keep it.
const SHARED_RECORDS_MIN: usize = 64;
/// Folders that are kept, by which their cache is laid out: in one part, which has room for the branches of a project
/// that has as many as it may.
const FOLDERS_USUAL: u64 = 32;

/// Records and folders of records, and who watches them.
#[derive(Debug)]
pub(super) struct CachedRecords {
    pub(super) records: ByteCache<String, Option<Arc<Record>>>,
    pub(super) folders: ByteCache<String, WeighedFolder>,
    /// The large ones, for which there may be no room there.
    pub(super) shared: SharedFolders,
    /// See [`crate::store::Store::folder_state`]. An entry goes when anything in its folder changes.
    pub(super) states: Cache<String, u64>,
    last_state: AtomicU64,
    /// Counts of what was seen of records and folders, see [`CachedRecords::changes_of`]; several keys share a count.
    changes: Box<[AtomicU64]>,
    /// By which keys share a count: nobody outside can choose keys, such as those of tokens, that share one.
    shares: RandomState,
    /// Held to keep a value and to drop values, so that no old value is kept after its drop.
    gate: Mutex<()>,
    pub(super) watchers: Watchers,
}

/// What an entry takes in memory whose records take so much.
fn entry_bytes(key: &str, records_bytes: usize) -> usize {
    96 + key.len() + records_bytes
}

impl Default for CachedRecords {
    fn default() -> Self {
        let records = RECORD_CACHE_BYTES / 512;
        Self {
            records: byte_cache(RECORD_CACHE_BYTES, records, |key, record| {
                entry_bytes(key, record.as_ref().map_or(0, record_bytes))
            }),
            folders: byte_cache(FOLDER_CACHE_BYTES, FOLDERS_USUAL, |key, folder| {
                entry_bytes(key, folder.bytes())
            }),
            shared: SharedFolders::default(),
            states: Cache::new(FOLDER_STATES_KEPT),
            last_state: AtomicU64::new(0),
            changes: (0..SHARES).map(|_| AtomicU64::new(0)).collect(),
            shares: RandomState::new(),
            gate: Mutex::default(),
            watchers: Watchers::default(),
        }
    }
}

impl CachedRecords {
    /// Drops what is kept of this record. The gate is held.
    pub(super) fn forget(&self, key: &str) {
        self.changes_of(key).fetch_add(1, Ordering::AcqRel);
        self.records.remove(key);
        for folder in folders_of(key) {
            self.drop_folder(folder);
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
        self.shared.clear();
        self.states.clear();
    }

    /// A folder that was read, and that nobody has changed since.
    pub(super) fn folder(&self, name: &str) -> Option<Folder> {
        let kept = self.folders.get(name).map(WeighedFolder::into_records);
        kept.or_else(|| self.shared.get(name))
    }

    /// The same, which counts as no use of the memory.
    pub(super) fn peek_folder(&self, name: &str) -> Option<Folder> {
        let kept = self.folders.peek(name).map(WeighedFolder::into_records);
        kept.or_else(|| self.shared.get(name))
    }

    /// Keeps a folder as long as there is room for it, a large one also for those who hold it.
    fn insert_folder(&self, name: String, folder: WeighedFolder) {
        if folder.records().len() >= SHARED_RECORDS_MIN {
            self.shared.insert(&name, folder.records());
        }
        self.folders.insert(name, folder);
    }

    /// Takes a folder out. One that is only shared is gone then: it would not be kept.
    fn drop_folder(&self, name: &str) -> Option<(String, WeighedFolder)> {
        self.shared.remove(name);
        self.folders.remove(name)
    }

    /// The gate. Who has it may read from the store meanwhile, so whoever waits lets others of its thread go on.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        let gate = match self.gate.try_lock() {
            Err(TryLockError::WouldBlock) => may_block(|| self.gate.lock().ok()),
            gate => gate.ok(),
        };
        gate.expect("no panic while held")
    }

    /// Keeps a record that was read, or that there was none, if its changes have stood at this count since before the
    /// read; with the gate held since then they have. False where that does not hold, or where something else is kept
    /// that may be newer, and is dropped then: another who reads may yet keep something older than this.
    pub(super) fn keep_record(
        &self,
        gate: Option<MutexGuard<'_, ()>>,
        key: &str,
        record: Option<&Arc<Record>>,
        before: u64,
    ) -> bool {
        let is_alone = gate.is_some();
        // Who replaces something takes it out meanwhile: without the gate it could seem not to be kept.
        let _gate = gate.unwrap_or_else(|| self.lock());
        if !is_alone && self.changes_of(key).load(Ordering::Acquire) != before {
            return false;
        }
        let is_newest = match record {
            Some(record) => self.renew(slice::from_ref(record), is_alone),
            None => self.renew_absent(key, is_alone),
        };
        if is_newest {
            self.records.insert(key.to_owned(), record.cloned());
        }
        is_newest
    }

    /// The same for a folder, which was read when it was in this state. True, too, for one that is larger than there
    /// is room for: it may be told although somebody has changed it since. Whoever is told it reads nothing older
    /// afterwards: what is kept of its records is of its versions or later once this ends, and who has read or
    /// committed something of it before does not keep that.
    pub(super) fn keep_folder(
        &self,
        gate: Option<MutexGuard<'_, ()>>,
        prefix: &str,
        folder: &Folder,
        state: u64,
    ) -> bool {
        // Before the gate: it takes as long as the folder is large.
        let weighed = WeighedFolder::of(folder);
        let bytes = entry_bytes(prefix, weighed.bytes()) as u64;
        let is_alone = gate.is_some();
        let _gate = gate.unwrap_or_else(|| self.lock());
        let is_unchanged = is_alone || self.states.get(prefix) == Some(state);
        if is_unchanged
            && self.renew(folder, is_alone)
            && self.put_folder(prefix, weighed, is_alone)
        {
            return true;
        }
        bytes > entry_bytes_max(&self.folders) && self.pass(prefix, folder, is_unchanged)
    }

    /// Keeps a folder whose records are renewed. False where something else is kept of it, unless the reader was alone;
    /// that is dropped. The gate is held.
    fn put_folder(&self, prefix: &str, folder: WeighedFolder, is_alone: bool) -> bool {
        let kept = self.peek_folder(prefix);
        if kept.as_ref() == Some(folder.records()) {
            return true;
        }
        if kept.is_some() {
            // Another has read it too; which of the two is older is not known.
            self.drop_folder(prefix);
            self.states.remove(prefix);
            if !is_alone {
                return false;
            }
        }
        // Who commits a record that it lacks does not add it.
        self.changes_of(prefix).fetch_add(1, Ordering::AcqRel);
        self.insert_folder(prefix.to_owned(), folder);
        true
    }

    /// True for a folder that may be told and is not kept, see [`CachedRecords::keep_folder`]. `is_renewed` says
    /// whether what is kept of its records was renewed while the gate was held, which it is still.
    fn pass(&self, prefix: &str, folder: &Folder, is_renewed: bool) -> bool {
        if self.peek_folder(prefix).is_some() {
            // Another has read it and holds it.
            return false;
        }
        if !is_renewed {
            // What is newer of it in memory was written since it was read: nobody had seen that when the call began.
            self.renew(folder, false);
        }
        // Of all records, for nobody knows which are not there any more.
        for changes in &self.changes {
            changes.fetch_add(1, Ordering::AcqRel);
        }
        self.states
            .retain(|name, _| !name.starts_with(prefix) && !prefix.starts_with(name.as_str()));
        true
    }

    /// Puts records that were read into the places of their older versions. False where something else is kept that
    /// may be newer, unless the reader was alone: a later version, or that there is none, for another may have deleted
    /// it since. That is dropped. The gate is held.
    fn renew(&self, read: &[Arc<Record>], is_alone: bool) -> bool {
        let (mut news, mut doubtful) = (Vec::new(), Vec::new());
        for record in read {
            let (mut is_news, mut is_doubtful) = (false, false);
            for kept in self.kept_of(&record.key) {
                is_news |= is_older(kept.as_ref(), record);
                is_doubtful |= kept.is_none_or(|kept| kept.version > record.version);
            }
            if is_doubtful && !is_alone {
                doubtful.push(record.key.as_str());
            } else if is_news {
                news.push(Arc::clone(record));
            }
        }
        self.replace(&news, &[]);
        for key in &doubtful {
            self.forget(key);
        }
        let renewed = news.iter().map(|record| record.key.as_str());
        self.watchers.tell(renewed.chain(doubtful.iter().copied()));
        doubtful.is_empty()
    }

    /// The same for a record that was read and not there.
    fn renew_absent(&self, key: &str, is_alone: bool) -> bool {
        // Who has read it before, or commits it, does not put it back.
        self.changes_of(key).fetch_add(1, Ordering::AcqRel);
        let is_doubtful = self.kept_of(key).any(|kept| kept.is_some());
        if is_doubtful {
            self.forget(key);
            self.watchers.tell([key]);
        }
        is_alone || !is_doubtful
    }

    /// What is kept of a record: by itself, and in each folder that is kept; `None` where it is kept that there is
    /// none.
    fn kept_of(&self, key: &str) -> impl Iterator<Item = Option<Arc<Record>>> {
        let folders = folders_of(key).filter_map(|folder| self.peek_folder(folder));
        let in_folders = folders.map(move |folder| find_in(&folder, key).cloned());
        self.records.peek(key).into_iter().chain(in_folders)
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
                folders.extend(self.drop_folder(folder));
            }
        }
        for (key, since) in doubtful {
            let kept = records.get(*key);
            if kept.is_some_and(|kept: &Option<_>| !is_since(kept.as_ref(), *since)) {
                records.remove(*key);
            }
            for folder in folders_of(key) {
                let kept = folders.get(folder).map(WeighedFolder::records);
                if kept.is_some_and(|kept| !is_since(find_in(kept, key), *since)) {
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
                    kept.put(record);
                }
            }
        }
        for (key, record) in records {
            self.records.insert(key, record);
        }
        for (name, folder) in folders {
            self.insert_folder(name, folder);
        }
    }

    /// True if a folder that lacks this record is kept, and was read since the counts of its folders stood so.
    pub(super) fn is_missed_since(&self, key: &str, before: &[u64]) -> bool {
        let folders = folders_of(key).zip(before);
        folders
            .filter(|(folder, before)| self.changes_of(folder).load(Ordering::Acquire) != **before)
            .filter_map(|(folder, _)| self.peek_folder(folder))
            .any(|folder| find_in(&folder, key).is_none())
    }

    /// How often something was seen of a record that makes an older read or commit of it doubtful; of a folder, how
    /// often it was read and kept. Other keys may share the count.
    pub(super) fn changes_of(&self, key: &str) -> &AtomicU64 {
        let share = self.shares.hash_one(key) % SHARES as u64;
        let share = usize::try_from(share).unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const KEY: &str = "a/b/c";
    /// The state of no folder: who read one then reads it too late to have it kept.
    const NONE: u64 = 0;

    fn record(key: &str, version: Version, bytes: usize) -> Arc<Record> {
        let value = Bytes::from(vec![b'1'; bytes]);
        Arc::new(Record::new(key.to_owned(), version, value))
    }

    /// A folder that is too large to be kept, with records of this version.
    fn large(version: Version) -> Folder {
        let bytes = usize::try_from(FOLDER_CACHE_BYTES).unwrap();
        let largest = record("a/b/d", version, bytes);
        Arc::new(vec![record(KEY, version, 1), largest])
    }

    #[test]
    fn who_was_told_a_folder_that_is_not_kept_reads_nothing_older() {
        let kept = CachedRecords::default();
        let before = |key: &str| kept.changes_of(key).load(Ordering::Acquire);
        let old = record(KEY, 1, 1);
        assert!(kept.keep_record(None, KEY, Some(&old), before(KEY)));
        // Others read it, what is deleted now, and the folders that both are in.
        let gone = record("a/b/gone", 1, 1);
        let reads = [&old, &gone].map(|record| (record, before(&record.key)));
        let folders = ["a/", "a/b/"].map(|name| (name, kept.state(name)));
        let elsewhere = kept.state("b/");
        assert!(kept.keep_folder(None, "a/", &large(2), NONE));
        assert_eq!(kept.records.peek(KEY).unwrap().unwrap().version, 2);
        for (record, before) in reads {
            assert!(!kept.keep_record(None, &record.key, Some(record), before));
        }
        let as_it_was = Arc::new(vec![old, gone]);
        for (name, state) in folders {
            assert!(!kept.keep_folder(None, name, &as_it_was, state), "{name}");
        }
        assert_eq!(kept.state("b/"), elsewhere);
    }

    #[test]
    fn a_folder_that_could_be_kept_or_is_held_does_not_pass() {
        let kept = CachedRecords::default();
        let small = Arc::new(vec![record(KEY, 1, 1)]);
        assert!(!kept.keep_folder(None, "a/", &small, NONE));
        let held = large(2);
        kept.shared.insert("a/", &held);
        assert!(!kept.keep_folder(None, "a/", &large(1), NONE));
        assert!(Arc::ptr_eq(&kept.peek_folder("a/").unwrap(), &held));
    }

    #[test]
    fn a_large_folder_passes_that_has_a_record_older_than_what_was_kept_of_it() {
        let kept = CachedRecords::default();
        let before = |key: &str| kept.changes_of(key).load(Ordering::Acquire);
        let (old, newer) = (record(KEY, 1, 1), record(KEY, 3, 1));
        let counts = before(KEY);
        assert!(kept.keep_record(None, KEY, Some(&newer), counts));
        let state = kept.state("a/");
        assert!(kept.keep_folder(None, "a/", &large(2), state));
        assert_eq!(kept.records.peek(KEY), None);
        assert_eq!(kept.states.get("a/"), None);
        assert!(!kept.keep_record(None, KEY, Some(&old), counts));
    }

    #[test]
    fn a_folder_weighs_what_its_records_do_however_they_change() {
        let kept = CachedRecords::default();
        let name = "a/b/";
        let keep = |records: &[Arc<Record>]| {
            let state = kept.state(name);
            kept.keep_folder(None, name, &Arc::new(records.to_vec()), state)
        };
        let weighs = |records: &[(&str, usize)]| {
            let bytes = |&(key, bytes): &(&str, usize)| 200 + key.len() + 2 * bytes;
            let all = 96 + name.len() + records.iter().map(bytes).sum::<usize>();
            assert_eq!(kept.folders.weight(), all as u64, "{records:?}");
        };
        let second = "a/b/second";
        assert!(keep(&[record(KEY, 1, 10)]));
        weighs(&[(KEY, 10)]);
        // Renewed, twice by one commit, and by one that is older.
        kept.replace(&[record(KEY, 2, 500)], &[]);
        weighs(&[(KEY, 500)]);
        kept.replace(&[record(KEY, 3, 700), record(KEY, 4, 2)], &[]);
        weighs(&[(KEY, 2)]);
        kept.replace(&[record(KEY, 3, 700)], &[]);
        weighs(&[(KEY, 2)]);
        // Added.
        kept.replace(&[record(second, 5, 30)], &[]);
        weighs(&[(KEY, 2), (second, 30)]);
        // Renewed by who has read it since.
        let before = kept.changes_of(KEY).load(Ordering::Acquire);
        assert!(kept.keep_record(None, KEY, Some(&record(KEY, 6, 40)), before));
        weighs(&[(KEY, 40), (second, 30)]);
        // Removed: the folder goes, and is read anew.
        kept.replace(&[], &[(second, Version::MAX)]);
        assert_eq!(kept.folders.weight(), 0);
        assert!(keep(&[record(KEY, 6, 40)]));
        weighs(&[(KEY, 40)]);
        kept.forget(KEY);
        assert_eq!(kept.folders.weight(), 0);
    }
}
