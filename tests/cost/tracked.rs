//! Bytes that are counted for as long as anybody keeps them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use siteconf::base::id::ObjectId;
use siteconf::store::{Batch, Record, Result, Scan, Staging, Store, StoredObject, Version, Writes};

/// How many bytes are alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alive(Arc<AtomicU64>);

struct Counted {
    bytes: Bytes,
    alive: Alive,
}

impl Alive {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// The same bytes, counted from now on.
    pub(crate) fn count(&self, bytes: Bytes) -> Bytes {
        let length = u64::try_from(bytes.len()).unwrap();
        self.0.fetch_add(length, Ordering::SeqCst);
        Bytes::from_owner(Counted {
            bytes,
            alive: self.clone(),
        })
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let length = u64::try_from(self.bytes.len()).unwrap();
        self.alive.0.fetch_sub(length, Ordering::SeqCst);
    }
}

/// A store of which the values of records are counted.
#[derive(Debug)]
pub(crate) struct Tracked<S> {
    pub(crate) store: S,
    pub(crate) alive: Alive,
}

impl<S: Store> Tracked<S> {
    fn track(&self, record: &Record) -> Arc<Record> {
        let value = self.alive.count(record.value.clone());
        Arc::new(Record::new(record.key.clone(), record.version, value))
    }
}

impl<S: Store> Store for Tracked<S> {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        self.store.object(id)
    }
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }
    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        let found = self.store.record(key)?;
        Ok(found.map(|record| self.track(&record)))
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let found = self.store.scan(scan)?;
        Ok(found
            .into_iter()
            .map(|record| self.track(&record))
            .collect())
    }
    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }
    fn external_writes(&self) -> Result<u64> {
        self.store.external_writes()
    }
    fn external_writes_seen(&self, waits: bool) -> Result<u64> {
        self.store.external_writes_seen(waits)
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
    fn writes(&self) -> Writes {
        self.store.writes()
    }
}
