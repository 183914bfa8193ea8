//! Records kept in memory over any store: those that were read, until they are written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::records::{Folder, find_in, put_into};
use super::watchers::{Changed, Watch, Watchers, folders_of};
use super::{
    Batch, CatchUp, ForeignSigns, Lane, Pin, Record, Result, Scan, Staging, Store, StoredObject,
    Version,
};
use crate::base::id::{BlobId, ObjectId};
use crate::base::limits::{
    FOLDER_CACHE_BYTES, FOLDER_STATES_KEPT, FOREIGN_KEYS_MAX, RECORD_CACHE_BYTES,
};
use crate::base::may_block;
use crate::base::reads::Reads;
use crate::base::tally::CacheUse;

/// Counts of changes to single records.
const SHARES: usize = 256;
/// So often a record or a folder is read while others write; the last time they wait until it is kept.
const READS_MAX: u32 = 16;

/// Keeps what was read of a store's records: single ones, also their absence, and whole folders. What
/// this process commits is renewed or dropped before the commit is answered; what another process
/// writes is dropped within the bound of [`Store::foreign_writes`]. Who reads from the store what is
/// newer than what is kept renews that first: nobody reads a record, or a folder, and then the same one
/// as it was before.
#[derive(Debug)]
pub struct RecordCache<S: ?Sized> {
    store: Arc<S>,
    records: Cache<String, Option<Arc<Record>>, ByBytes>,
    folders: Cache<String, Folder, ByBytes>,
    /// See [`Store::folder_state`]. An entry goes when anything in its folder changes.
    states: Cache<String, u64>,
    last_state: AtomicU64,
    /// Counts what makes single records that are kept doubtful; several share a count.
    changes: [AtomicU64; SHARES],
    /// Held to keep a value and to drop values, so that no old value is kept after its drop.
    gate: Mutex<()>,
    /// The version up to which the foreign writes were observed.
    foreign: AtomicU64,
    watchers: Watchers,
}

#[derive(Clone, Debug)]
struct ByBytes;

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

/// A write that was committed, or may have been.
struct Write<'a> {
    key: String,
    /// The count of changes that the key shares in, and where it stood before the commit.
    changes: &'a AtomicU64,
    before: u64,
    /// The record as it is then, where that is known.
    record: Option<Arc<Record>>,
}

impl<S: Store> RecordCache<S> {
    /// Keeps records of this store.
    pub fn new(store: S) -> Self {
        Self::over(Arc::new(store))
    }
}

impl<S: Store + ?Sized> RecordCache<S> {
    /// Keeps records of a store that others have, too.
    pub fn over(store: Arc<S>) -> Self {
        let items = usize::try_from(RECORD_CACHE_BYTES / 512).unwrap_or(1024);
        Self {
            store,
            records: Cache::with_weighter(items, RECORD_CACHE_BYTES, ByBytes),
            folders: Cache::with_weighter(items / 16, FOLDER_CACHE_BYTES, ByBytes),
            states: Cache::new(FOLDER_STATES_KEPT),
            last_state: AtomicU64::new(0),
            changes: [const { AtomicU64::new(0) }; SHARES],
            gate: Mutex::default(),
            foreign: AtomicU64::new(0),
            watchers: Watchers::default(),
        }
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Drops what another process has written, and tells who watches it.
    fn observe_foreign(&self) -> Result<()> {
        let found = self.store.foreign_writes()?;
        if self.foreign.load(Ordering::Acquire) < found {
            // It asks the store for the keys.
            may_block(|| self.drop_foreign(found));
        }
        Ok(())
    }

    /// Drops what other processes have written up to this version.
    fn drop_foreign(&self, found: Version) {
        let gate = self.lock();
        let observed = self.foreign.load(Ordering::Acquire);
        if observed >= found {
            // Another was first.
            return;
        }
        let keys = self.store.foreign_keys(observed, FOREIGN_KEYS_MAX);
        // Where they cannot be told, whatever is kept may be older.
        let keys = keys.ok().flatten();
        match &keys {
            Some(keys) => keys.iter().for_each(|key| self.forget(key)),
            None => self.forget_all(),
        }
        // Stored only now: who sees it must not find what was kept before.
        self.foreign.store(found, Ordering::Release);
        drop(gate);
        match keys {
            Some(keys) => self.watchers.tell(keys.iter().map(String::as_str)),
            // Who is told without a cause looks, and finds nothing new.
            None => self.watchers.tell_all(),
        }
    }

    /// Drops what is kept of this record. The gate is held.
    fn forget(&self, key: &str) {
        self.changes_of(key).fetch_add(1, Ordering::AcqRel);
        self.records.remove(key);
        for folder in folders_of(key) {
            self.folders.remove(folder);
            // Last: who reads the next state finds nothing that was kept before.
            self.states.remove(folder);
        }
    }

    /// Drops everything. The gate is held.
    fn forget_all(&self) {
        for changes in &self.changes {
            changes.fetch_add(1, Ordering::AcqRel);
        }
        self.records.clear();
        self.folders.clear();
        self.states.clear();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().expect("no panic while held")
    }

    /// The gate, for the last of the attempts to read something: then nobody changes what is kept between
    /// the read and the keeping, and what is read is the newest that anybody was told.
    fn gate_of(&self, attempt: u32) -> Option<MutexGuard<'_, ()>> {
        (attempt == READS_MAX).then(|| self.lock())
    }

    /// Keeps what was read while `still` holds: while no change was observed since the read began. None
    /// was if it was read with the gate held.
    /// Before that it renews what is kept of the same records, if `read` has them newer. False where it
    /// does not hold: then another who reads may yet keep something older.
    fn keep(
        &self,
        gate: Option<MutexGuard<'_, ()>>,
        read: &[Arc<Record>],
        still: impl FnOnce() -> bool,
        keep: impl FnOnce(),
    ) -> bool {
        let is_alone = gate.is_some();
        // Whoever renews a folder takes it out meanwhile: without the gate it could seem not to be kept.
        let _gate = gate.unwrap_or_else(|| self.lock());
        let holds = is_alone || still();
        if holds {
            for record in read.iter().filter(|record| self.is_news(record)) {
                self.renew(record);
                self.watchers.tell([record.key.as_str()]);
            }
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

    /// Puts a record into the place of its older version. The gate is held.
    fn renew(&self, record: &Arc<Record>) {
        // Who read the older one and has not kept it yet does not keep it.
        self.changes_of(&record.key).fetch_add(1, Ordering::AcqRel);
        // Out first, back last: who finds the new record meanwhile must not find a folder without it.
        let folders: Vec<_> = folders_of(&record.key)
            .filter_map(|folder| self.folders.remove(folder))
            .collect();
        if let Some(kept) = self.records.peek(&record.key)
            && is_older(kept.as_ref(), record)
        {
            let renewed = Some(Arc::clone(record));
            self.records.insert(record.key.clone(), renewed);
        }
        for (name, mut kept) in folders {
            put_into(Arc::make_mut(&mut kept), record);
            self.folders.insert(name, kept);
        }
        for folder in folders_of(&record.key) {
            // Last: who reads the next state finds only what was renewed.
            self.states.remove(folder);
        }
    }

    fn changes_of(&self, key: &str) -> &AtomicU64 {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let share = usize::try_from(hasher.finish() % SHARES as u64).unwrap_or(0);
        &self.changes[share]
    }

    /// A write of which nothing is known yet but its key.
    fn write_of(&self, key: String) -> Write<'_> {
        let changes = self.changes_of(&key);
        Write {
            changes,
            before: changes.load(Ordering::Acquire),
            record: None,
            key,
        }
    }

    /// The state of a folder, known since `observe_foreign`.
    fn state(&self, folder: &str) -> u64 {
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

    /// Renews what is kept of these writes where the new record is known and nothing else has changed
    /// since the commit began, and drops the rest.
    fn observe_own(&self, writes: &[Write<'_>]) {
        let gate = self.lock();
        let alone: Vec<bool> = writes
            .iter()
            .map(|write| write.changes.load(Ordering::Acquire) == write.before)
            .collect();
        for (write, alone) in writes.iter().zip(alone) {
            match write.record.as_ref().filter(|_| alone) {
                Some(record) => self.renew(record),
                None => self.forget(&write.key),
            }
        }
        drop(gate);
        self.watchers
            .tell(writes.iter().map(|write| write.key.as_str()));
    }
}

/// True if what is kept, `None` for no record, is from before this record was written.
fn is_older(kept: Option<&Arc<Record>>, record: &Record) -> bool {
    kept.is_none_or(|kept| kept.version < record.version)
}

impl<S: Store + ?Sized> Store for RecordCache<S> {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        self.store.object(id)
    }

    fn objects(&self, ids: &[ObjectId]) -> Result<Vec<Option<StoredObject>>> {
        self.store.objects(ids)
    }

    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    fn outboard(&self, id: BlobId) -> Result<Option<Bytes>> {
        self.store.outboard(id)
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.observe_foreign()?;
        let mut attempts = 0;
        loop {
            if let Some(kept) = self.records.get(key) {
                return Ok(kept);
            }
            attempts += 1;
            let changes = self.changes_of(key);
            let gate = self.gate_of(attempts);
            let before = changes.load(Ordering::Acquire);
            let record = self.store.record(key)?;
            let mut is_newest = true;
            let is_kept = self.keep(
                gate,
                record.as_slice(),
                || changes.load(Ordering::Acquire) == before,
                || match (self.records.peek(key).flatten(), &record) {
                    // Another may have read the same record later, and kept it first.
                    (Some(kept), Some(read)) if kept.version > read.version => is_newest = false,
                    // Which of the two is older is not known.
                    (Some(_), None) => {
                        changes.fetch_add(1, Ordering::AcqRel);
                        self.records.remove(key);
                        is_newest = false;
                    }
                    _ => self.records.insert(key.to_owned(), record.clone()),
                },
            );
            // What is told and not kept could be followed by something older that another keeps.
            if is_kept && is_newest || attempts == READS_MAX {
                return Ok(record);
            }
        }
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        self.store.scan(scan)
    }

    fn folder(&self, prefix: &str) -> Result<Folder> {
        self.observe_foreign()?;
        let mut attempts = 0;
        loop {
            if let Some(kept) = self.folders.get(prefix) {
                return Ok(kept);
            }
            attempts += 1;
            let state = self.state(prefix);
            let gate = self.gate_of(attempts);
            let folder = self.store.folder(prefix)?;
            let mut is_newest = true;
            let is_kept = self.keep(
                gate,
                &folder,
                || self.states.get(prefix) == Some(state),
                || match self.folders.peek(prefix) {
                    None => self.folders.insert(prefix.to_owned(), Arc::clone(&folder)),
                    Some(kept) if kept == folder => {}
                    // Another has read it too; which of the two is older is not known.
                    Some(_) => {
                        self.folders.remove(prefix);
                        self.states.remove(prefix);
                        is_newest = false;
                    }
                },
            );
            // As with a single record.
            if is_kept && is_newest || attempts == READS_MAX {
                return Ok(folder);
            }
        }
    }

    fn folder_state(&self, prefix: &str) -> Result<u64> {
        self.observe_foreign()?;
        Ok(self.state(prefix))
    }

    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }

    fn foreign_writes(&self) -> Result<Version> {
        self.observe_foreign()?;
        self.store.foreign_writes()
    }

    fn catch_up(&self, reads: Reads) -> Option<CatchUp> {
        self.store.catch_up(reads)
    }

    fn foreign_keys(&self, after: Version, most: usize) -> Result<Option<Vec<String>>> {
        self.store.foreign_keys(after, most)
    }

    fn foreign_signs(&self) -> Option<ForeignSigns> {
        self.store.foreign_signs()
    }

    fn watch(&self, keys: Vec<String>, changed: &Changed) -> Watch {
        self.watchers.watch(keys, changed)
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        let of_write =
            |write: &super::RecordWrite| (self.write_of(write.key.clone()), write.value.clone());
        let (mut writes, values): (Vec<_>, Vec<_>) = batch.writes.iter().map(of_write).unzip();
        let appends = batch.appends.clone();
        self.store.commit_observed(batch, &mut |outcome| {
            // A deletion may have been none, and then it took no version: the others' are not known. After
            // a failure nothing is.
            if let Ok(last) = outcome
                && values.iter().all(Option::is_some)
            {
                let versions = (0..=*last).rev().skip(appends.len());
                for ((write, value), version) in writes.iter_mut().zip(&values).rev().zip(versions)
                {
                    let record = |value| Record::new(write.key.clone(), version, value);
                    write.record = value.clone().map(record).map(Arc::new);
                }
            }
            if let Ok(last) = outcome {
                let appended = appends.iter().rev().zip((0..=*last).rev());
                // Nobody reads a record of a log by itself, so none is kept: what was absent is dropped.
                writes.extend(appended.map(|(new, at)| self.write_of(new.key(at))));
            }
            if !writes.is_empty() {
                self.observe_own(&writes);
            }
        })
    }

    fn settle(&self) {
        self.store.settle();
    }

    fn lane(&self, key: &str, has_lost: bool) -> Option<Box<dyn Lane>> {
        self.store.lane(key, has_lost)
    }

    fn pin(&self) -> Result<Box<dyn Pin>> {
        self.store.pin()
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }

    fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    fn is_full(&self) -> bool {
        self.store.is_full()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.store.free_bytes()
    }

    fn has_writer(&self) -> bool {
        self.store.has_writer()
    }

    fn is_available(&self) -> bool {
        self.store.is_available()
    }

    fn has_large_bodies(&self) -> bool {
        self.store.has_large_bodies()
    }

    fn clock_ahead_ms(&self) -> i64 {
        self.store.clock_ahead_ms()
    }

    fn cache_uses(&self) -> Vec<CacheUse> {
        vec![
            CacheUse::weighed("records", &self.records),
            CacheUse::weighed("record_folders", &self.folders),
            CacheUse::counted("folder_states", &self.states),
        ]
    }
}
