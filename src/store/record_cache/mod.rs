//! Records kept in memory over any store: those that were read, until they are written.

mod cached_records;
mod own_writes;
mod shared;
mod weighed_folder;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;

use super::records::Folder;
use super::watchers::{Changed, Watch};
use super::{
    Batch, CatchUp, ExternalSigns, Lane, LargeBodies, Pin, Record, Result, Scan, Staging, Store,
    StoredObject, Version, Writes,
};
use crate::base::cache::CacheUse;
use crate::base::id::{BlobId, ObjectId};
use crate::base::limits::EXTERNAL_KEYS_MAX;
use crate::base::may_block;
use crate::base::reads::Reads;
use cached_records::CachedRecords;
use own_writes::OwnWrites;
use shared::Part;

/// So often a record or a folder is read while others write; the last time they wait until it is kept.
const READS_MAX: u32 = 16;

/// Keeps what was read of a store's records: single ones, also their absence, and whole folders, but for those that are
/// larger than there is room for: such a one is told as it was read, at some moment of the call. What
/// this process commits is renewed or dropped before the commit is answered; what another process
/// writes is dropped within the bound of [`Store::external_writes`]. Who reads from the store what is
/// newer than what is kept renews that first, and drops what other processes wrote with it
/// ([`Store::external_writes_seen`]): nobody who has seen a write later reads from memory as before it.
#[derive(Debug)]
pub struct RecordCache<S: ?Sized> {
    store: Arc<S>,
    kept: Arc<CachedRecords>,
    /// The version up to which the external writes were observed.
    external: AtomicU64,
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
        Self {
            store,
            kept: Arc::default(),
            external: AtomicU64::new(0),
        }
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Drops what other processes were found to have written, and tells who watches it.
    fn observe_external(&self) -> Result<()> {
        let found = self.store.external_writes()?;
        if self.is_news(found) {
            // It asks the store for the keys.
            may_block(|| self.drop_external(found, None));
        }
        Ok(())
    }

    /// What memory keeps; else what the store has, once it is kept. `keep` says whether nobody has written it since
    /// `state`, and keeps it then, or whether nobody keeps anything older any more.
    fn read_through<T>(
        &self,
        get: impl Fn() -> Option<T>,
        state: impl Fn() -> u64,
        read: impl Fn() -> Result<T>,
        keep: impl Fn(Option<MutexGuard<'_, ()>>, &T, u64) -> bool,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            if let Some(kept) = get() {
                return Ok(kept);
            }
            attempts += 1;
            let state_before = state();
            let gate = self.gate_of(attempts);
            let (found, may_be_old) = self.read(gate.as_ref(), &read)?;
            if may_be_old && gate.is_some() {
                // Nobody has kept an older one since, and nobody will.
                return Ok(found);
            }
            // What is told and not kept could be followed by something older that another keeps.
            if keep(gate, &found, state_before) {
                return Ok(found);
            }
        }
    }

    /// Reads from the store, and drops what is older than that. Who finds in memory what was read must find nothing
    /// older beside it: it is kept after this. Gives with it whether others may have written it anew since.
    fn read<T>(
        &self,
        gate: Option<&MutexGuard<'_, ()>>,
        read: impl Fn() -> Result<T>,
    ) -> Result<(T, bool)> {
        let found = read()?;
        let may_be_old = self.observe_read(gate)?;
        if may_be_old && gate.is_some() {
            // Who has committed here meanwhile waits for the gate, so that only other processes write on.
            let found = read()?;
            return Ok((found, self.observe_read(gate)?));
        }
        Ok((found, may_be_old))
    }

    /// Drops what is older than what has just been read from the store; true if others may have written it.
    fn observe_read(&self, gate: Option<&MutexGuard<'_, ()>>) -> Result<bool> {
        let found = self.store.external_writes_seen(gate.is_none())?;
        let is_news = self.is_news(found);
        if is_news {
            may_block(|| self.drop_external(found, gate));
        }
        Ok(is_news)
    }

    fn is_news(&self, found: Version) -> bool {
        self.external.load(Ordering::Acquire) < found
    }

    /// Drops what other processes have written up to this version.
    fn drop_external(&self, found: Version, gate: Option<&MutexGuard<'_, ()>>) {
        let own = gate.is_none().then(|| self.kept.lock());
        let observed = self.external.load(Ordering::Acquire);
        if observed >= found {
            // Another was first.
            return;
        }
        let keys = self.store.external_keys(observed, EXTERNAL_KEYS_MAX);
        // Where they cannot be told, whatever is kept may be older.
        let keys = keys.ok().flatten();
        match &keys {
            Some(keys) => keys.iter().for_each(|key| self.kept.forget(key)),
            None => self.kept.forget_all(),
        }
        // Stored only now: who sees it must not find what was kept before.
        self.external.store(found, Ordering::Release);
        drop(own);
        match keys {
            Some(keys) => self.kept.watchers.tell(keys.iter().map(String::as_str)),
            // Who is told without a cause looks, and finds nothing new.
            None => self.kept.watchers.tell_all(),
        }
    }

    /// The gate, for the last of the attempts to read something: then nobody changes what is kept between
    /// the read and the keeping, and what is read is the newest that anybody was told.
    fn gate_of(&self, attempt: u32) -> Option<MutexGuard<'_, ()>> {
        (attempt == READS_MAX).then(|| self.kept.lock())
    }
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
        self.observe_external()?;
        let kept = &self.kept;
        self.read_through(
            || kept.records.get(key),
            || kept.changes_of(key).load(Ordering::Acquire),
            || self.store.record(key),
            |gate, record, before| kept.keep_record(gate, key, record.as_ref(), before),
        )
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let (found, _) = self.read(None, || self.store.scan(scan))?;
        Ok(found)
    }

    fn folder(&self, prefix: &str) -> Result<Folder> {
        self.observe_external()?;
        let kept = &self.kept;
        if let Some(folder) = kept.folder(prefix) {
            return Ok(folder);
        }
        // Many may want it at once, and each would have it in memory.
        let mut reader = None;
        for has_waited in [false, true] {
            match kept.shared.read(prefix) {
                Part::Reads(reads) => reader = Some(reads),
                Part::Waited(held) => match kept.peek_folder(prefix) {
                    Some(folder) => return Ok(folder),
                    // Somebody has changed it since: after this one asked for it.
                    None if has_waited => return Ok(held),
                    // Or before.
                    None => continue,
                },
                Part::WaitedInVain => {}
            }
            break;
        }
        let found = self.read_through(
            || kept.peek_folder(prefix),
            || kept.state(prefix),
            || self.store.folder(prefix),
            |gate, folder, state| kept.keep_folder(gate, prefix, folder, state),
        )?;
        // Another may have read the same.
        let same = kept.peek_folder(prefix).filter(|kept| *kept == found);
        let found = same.unwrap_or(found);
        if let Some(reader) = reader {
            reader.end(&found);
        }
        Ok(found)
    }

    fn folder_state(&self, prefix: &str) -> Result<u64> {
        self.observe_external()?;
        Ok(self.kept.state(prefix))
    }

    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }

    fn external_writes(&self) -> Result<Version> {
        self.observe_external()?;
        self.store.external_writes()
    }

    fn catch_up(&self, reads: Reads) -> Option<CatchUp> {
        self.store.catch_up(reads)
    }

    fn external_keys(&self, after: Version, most: usize) -> Result<Option<Vec<String>>> {
        self.store.external_keys(after, most)
    }

    fn external_signs(&self) -> Option<ExternalSigns> {
        self.store.external_signs()
    }

    fn watch(&self, keys: Vec<String>, changed: &Changed) -> Watch {
        self.kept.watchers.watch(keys, changed)
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        let own = OwnWrites::of(&batch, &self.kept);
        let kept = Arc::clone(&self.kept);
        let observe = Box::new(move |outcome: &Result<Version>| own.observe(outcome, &kept));
        self.store.commit_observed(batch, observe)
    }

    fn settle(&self) {
        self.store.settle();
    }

    fn lane(&self, key: &str) -> Option<Lane> {
        self.store.lane(key)
    }

    fn lane_if_shared(&self, key: &str) -> Option<Lane> {
        self.store.lane_if_shared(key)
    }

    fn pin(&self) -> Result<Box<dyn Pin>> {
        self.store.pin()
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }

    fn staged_bytes_held(&self) -> u64 {
        self.store.staged_bytes_held()
    }

    fn writes(&self) -> Writes {
        self.store.writes()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.store.free_bytes()
    }

    fn has_writer(&self) -> bool {
        self.store.has_writer()
    }

    fn large_bodies(&self) -> LargeBodies {
        self.store.large_bodies()
    }

    fn body_bytes_max(&self) -> u64 {
        self.store.body_bytes_max()
    }

    fn clock_ahead_ms(&self) -> Option<i64> {
        self.store.clock_ahead_ms()
    }

    fn cache_uses(&self) -> Vec<CacheUse> {
        vec![
            CacheUse::weighed("records", &self.kept.records),
            CacheUse::weighed("record_folders", &self.kept.folders),
            CacheUse::counted("folder_states", &self.kept.states),
        ]
    }
}
