//! A store that counts.

use std::sync::Arc;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use siteconf::base::id::{Kind, ObjectId};
use siteconf::store::{
    Batch, NewBody, Record, Result, Scan, Staging, Store, StoredObject, Version, Writes,
};

/// What passed since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub commits: u64,
    /// Objects committed, those that were there already too.
    pub objects: u64,
    /// Bytes committed: of objects in rows, and of records with their keys.
    pub bytes: u64,
    /// The most objects of one commit, and of the last.
    pub objects_at_most: u64,
    pub objects_at_last: u64,
    pub blob_reads: u64,
    pub node_reads: u64,
    pub manifest_reads: u64,
    /// Records read and scans.
    pub record_reads: u64,
    /// Records that they gave.
    pub records: u64,
    /// The most records of one scan.
    pub records_at_most: u64,
}

/// A store that counts what passes.
#[derive(Debug)]
pub struct Counting<S> {
    store: S,
    passed: Mutex<Passed>,
}

impl<S: Store> Counting<S> {
    pub fn new(store: S) -> Self {
        Self {
            store,
            passed: Mutex::default(),
        }
    }

    pub fn store(&self) -> &S {
        &self.store
    }

    /// The counts since the last call.
    pub fn take(&self) -> Passed {
        std::mem::take(&mut *self.passed())
    }

    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.passed.lock().unwrap()
    }
}

impl<S: Store> Store for Counting<S> {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        let found = self.store.object(id)?;
        if let Some(object) = &found {
            let mut passed = self.passed();
            let counter = match object.kind {
                Kind::Blob => &mut passed.blob_reads,
                Kind::Node => &mut passed.node_reads,
                Kind::Manifest => &mut passed.manifest_reads,
            };
            *counter += 1;
        }
        Ok(found)
    }
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }
    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        let found = self.store.record(key)?;
        let mut passed = self.passed();
        passed.record_reads += 1;
        passed.records += u64::from(found.is_some());
        Ok(found)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let found = self.store.scan(scan)?;
        let mut passed = self.passed();
        passed.record_reads += 1;
        let records = u64::try_from(found.len()).unwrap();
        passed.records += records;
        passed.records_at_most = passed.records_at_most.max(records);
        Ok(found)
    }
    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }
    fn external_writes(&self) -> Result<u64> {
        self.store.external_writes()
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        let inline = batch.objects.iter().map(|object| match &object.body {
            NewBody::Inline(bytes) => bytes.len(),
            NewBody::Staged(_) | NewBody::Published(_) => 0,
        });
        let records = batch
            .writes
            .iter()
            .map(|w| w.key.len() + w.value.as_ref().map_or(0, Bytes::len));
        let bytes: usize = inline.sum::<usize>() + records.sum::<usize>();
        {
            let mut passed = self.passed();
            passed.commits += 1;
            let objects = u64::try_from(batch.objects.len()).unwrap();
            passed.objects += objects;
            passed.objects_at_most = passed.objects_at_most.max(objects);
            passed.objects_at_last = objects;
            passed.bytes += u64::try_from(bytes).unwrap();
        }
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
    fn writes(&self) -> Writes {
        self.store.writes()
    }
}
