//! Records kept in memory over any store: those that were read, until they are written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

use super::{Batch, Record, Result, Scan, Staging, Store, StoredObject, Version};
use crate::base::id::ObjectId;
use crate::base::limits::RECORD_CACHE_BYTES;

/// Counts of changes to single records.
const SHARES: usize = 256;

/// Keeps what was read of a store's records: single ones, also their absence, and whole folders (a
/// scan of a prefix that ends in a slash). What this process commits is renewed or dropped before the
/// commit is answered; what another process writes is dropped within the bound of
/// [`Store::foreign_writes`].
#[derive(Debug)]
pub struct RecordCache<S> {
    store: S,
    records: Cache<String, Option<Record>, ByBytes>,
    folders: Cache<String, Vec<Record>, ByBytes>,
    /// Counts what makes anything kept doubtful: a folder read before is not kept after.
    changes: AtomicU64,
    /// The same for single records, several of which share a count.
    changes_by_key: [AtomicU64; SHARES],
    /// Held to keep a value and to drop values, so that no old value is kept after its drop.
    gate: Mutex<()>,
    /// The foreign writes that were taken note of.
    foreign: AtomicU64,
}

#[derive(Clone, Debug)]
struct ByBytes;

fn weight_of(record: &Record) -> u64 {
    u64::try_from(96 + record.key.len() + record.value.len()).unwrap_or(u64::MAX)
}

impl quick_cache::Weighter<String, Option<Record>> for ByBytes {
    fn weight(&self, key: &String, record: &Option<Record>) -> u64 {
        96 + u64::try_from(key.len()).unwrap_or(0) + record.as_ref().map_or(0, weight_of)
    }
}

impl quick_cache::Weighter<String, Vec<Record>> for ByBytes {
    fn weight(&self, key: &String, records: &Vec<Record>) -> u64 {
        96 + u64::try_from(key.len()).unwrap_or(0) + records.iter().map(weight_of).sum::<u64>()
    }
}

impl<S: Store> RecordCache<S> {
    /// Keeps records of this store.
    pub fn new(store: S) -> Self {
        let items = usize::try_from(RECORD_CACHE_BYTES / 512).unwrap_or(1024);
        Self {
            store,
            records: Cache::with_weighter(items, RECORD_CACHE_BYTES, ByBytes),
            folders: Cache::with_weighter(items / 16, RECORD_CACHE_BYTES, ByBytes),
            changes: AtomicU64::new(0),
            changes_by_key: [const { AtomicU64::new(0) }; SHARES],
            gate: Mutex::default(),
            foreign: AtomicU64::new(0),
        }
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Drops everything if another process has written.
    fn notice_foreign(&self) -> Result<()> {
        let found = self.store.foreign_writes()?;
        if self.foreign.load(Ordering::Acquire) != found {
            let _gate = self.gate.lock().expect("no panic while held");
            self.changes.fetch_add(1, Ordering::AcqRel);
            for changes in &self.changes_by_key {
                changes.fetch_add(1, Ordering::AcqRel);
            }
            self.records.clear();
            self.folders.clear();
            // Noted only now: who sees it noted must not find what was kept before.
            self.foreign.store(found, Ordering::Release);
        }
        Ok(())
    }

    /// Keeps a value unless what `count` counts has changed since it was `before`.
    fn keep(&self, count: &AtomicU64, before: u64, keep: impl FnOnce()) {
        let _gate = self.gate.lock().expect("no panic while held");
        if count.load(Ordering::Acquire) == before {
            keep();
        }
    }

    fn changes_of(&self, key: &str) -> &AtomicU64 {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let share = usize::try_from(hasher.finish() % SHARES as u64).unwrap_or(0);
        &self.changes_by_key[share]
    }

    /// Takes note of writes that were committed, or may have been: renews what is kept of them where
    /// the new record is known and nothing else has changed since the commit began, drops the rest.
    fn note(&self, writes: &[Noted<'_>]) {
        let _gate = self.gate.lock().expect("no panic while held");
        self.changes.fetch_add(1, Ordering::AcqRel);
        let alone: Vec<bool> = writes
            .iter()
            .map(|write| write.changes.load(Ordering::Acquire) == write.before)
            .collect();
        for (write, alone) in writes.iter().zip(alone) {
            write.changes.fetch_add(1, Ordering::AcqRel);
            match &write.record {
                Some(record) if alone && self.records.contains_key(&write.key) => {
                    self.records.insert(write.key.clone(), Some(record.clone()));
                }
                _ => drop(self.records.remove(&write.key)),
            }
            for folder in folders_of(&write.key) {
                self.folders.remove(folder);
            }
        }
    }
}

/// A write on its way.
struct Noted<'a> {
    key: String,
    /// The count of changes that the key shares in, and where it stood before the commit.
    changes: &'a AtomicU64,
    before: u64,
    /// The record as it is then, where that is known.
    record: Option<Record>,
}

/// The folders that a key lies in, each with its slash.
fn folders_of(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('/').map(|(slash, _)| &key[..=slash])
}

impl<S: Store> Store for RecordCache<S> {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        self.store.object(id)
    }

    fn contains(&self, id: ObjectId) -> Result<bool> {
        self.store.contains(id)
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }

    fn record(&self, key: &str) -> Result<Option<Record>> {
        self.notice_foreign()?;
        if let Some(kept) = self.records.get(key) {
            return Ok(kept);
        }
        let changes = self.changes_of(key);
        let before = changes.load(Ordering::Acquire);
        let record = self.store.record(key)?;
        self.keep(changes, before, || {
            self.records.insert(key.to_owned(), record.clone());
        });
        Ok(record)
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Record>> {
        let whole = scan.prefix.ends_with('/')
            && scan.after.is_none()
            && !scan.descending
            && scan.limit == usize::MAX;
        if !whole {
            return self.store.scan(scan);
        }
        self.notice_foreign()?;
        if let Some(kept) = self.folders.get(scan.prefix) {
            return Ok(kept);
        }
        let before = self.changes.load(Ordering::Acquire);
        let prefix = scan.prefix;
        let records = self.store.scan(scan)?;
        self.keep(&self.changes, before, || {
            self.folders.insert(prefix.to_owned(), records.clone());
        });
        Ok(records)
    }

    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }

    fn generation(&self) -> Result<u64> {
        self.notice_foreign()?;
        Ok(self.changes.load(Ordering::Acquire))
    }

    fn foreign_writes(&self) -> Result<u64> {
        self.store.foreign_writes()
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        let mut noted: Vec<_> = batch
            .writes
            .iter()
            .map(|write| {
                let changes = self.changes_of(&write.key);
                Noted {
                    key: write.key.clone(),
                    changes,
                    before: changes.load(Ordering::Acquire),
                    record: write.value.as_ref().map(|value| Record {
                        key: write.key.clone(),
                        version: 0,
                        value: value.clone(),
                    }),
                }
            })
            .collect();
        let outcome = self.store.commit(batch);
        // A deletion may have been none, and then it took no version: the others' are not known.
        let known = noted.iter().all(|write| write.record.is_some());
        match &outcome {
            // The last write's version; each has its own, in their order.
            Ok(last) if known => {
                for (version, write) in (0..=*last).rev().zip(noted.iter_mut().rev()) {
                    if let Some(record) = &mut write.record {
                        record.version = version;
                    }
                }
            }
            // After a failure too what is kept may be doubtful.
            _ => noted.iter_mut().for_each(|write| write.record = None),
        }
        if !noted.is_empty() {
            self.note(&noted);
        }
        outcome
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }

    fn is_writable(&self) -> bool {
        self.store.is_writable()
    }
}
