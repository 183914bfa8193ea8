//! The in-memory engine: complete, and stricter than the others.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use super::watchers::{Changed, Watch, Watchers};
use super::{
    Batch, Body, NewBody, NewObject, Record, Result, Scan, Staging, Store, StoreError,
    StoredObject, Values, Version, Writes,
};
use crate::base::digest::{byte_count, object_id};
use crate::base::id::{BlobId, Kind, ObjectId};

/// A store that lives as long as the process. Beyond what every store promises, it checks that the
/// bytes of each object put have the id they are put under.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    watchers: Watchers,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<ObjectId, StoredObject>,
    published: HashMap<BlobId, Bytes>,
    records: BTreeMap<String, (Version, Bytes)>,
    version: Version,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }
}

impl Store for MemoryStore {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        Ok(self.state().objects.get(&id).cloned())
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        let state = self.state();
        let ids = state
            .objects
            .keys()
            .filter(|id| id.as_bytes().starts_with(prefix));
        Ok(ids.take(limit).copied().collect())
    }

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        Ok(self.state().records.get_key_value(key).map(to_record))
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let state = self.state();
        let from = scan.prefix.to_owned();
        let told = |found| match to_record(found) {
            record if scan.values == Values::Unread => Arc::new(Record::new(
                record.key.clone(),
                record.version,
                Bytes::new(),
            )),
            record => record,
        };
        let under = state
            .records
            .range(from..)
            .take_while(|(key, _)| key.starts_with(scan.prefix));
        if scan.descending {
            let mut all: Vec<_> = under
                .filter(|(key, _)| scan.after.is_none_or(|after| key.as_str() < after))
                .collect();
            all.reverse();
            return Ok(all.into_iter().take(scan.limit).map(told).collect());
        }
        let beyond = under.filter(|(key, _)| scan.after.is_none_or(|after| key.as_str() > after));
        Ok(beyond.take(scan.limit).map(told).collect())
    }

    fn last_version(&self) -> Result<Version> {
        Ok(self.state().version)
    }

    fn external_writes(&self) -> Result<u64> {
        Ok(0)
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        batch.objects.iter().try_for_each(NewObject::publish)?;
        let mut state = self.state();
        for (key, expect) in batch.expectations() {
            let found = state.records.get(key).map(|(version, _)| *version);
            if !expect.holds(found) {
                return Err(StoreError::Conflict {
                    key: key.to_owned(),
                });
            }
        }
        let mut objects = Vec::new();
        for new in batch.objects {
            let bytes = match new.body {
                NewBody::Inline(bytes) => bytes,
                NewBody::Staged(_) | NewBody::Published(_) => {
                    let id = BlobId::from_bytes(*new.id.as_bytes());
                    state
                        .published
                        .get(&id)
                        .cloned()
                        .ok_or(StoreError::Missing { id: new.id })?
                }
            };
            if object_id(new.kind, &bytes) != new.id || byte_count(&bytes) != new.size {
                let reason = "it was put under an id that is not its own".to_owned();
                return Err(StoreError::Damaged {
                    kind: new.kind,
                    id: new.id,
                    reason,
                });
            }
            let body = Body::Inline(bytes);
            objects.push((
                new.id,
                StoredObject {
                    kind: new.kind,
                    size: new.size,
                    sha256: new.sha256,
                    body,
                },
            ));
        }
        if let Some(id) = batch.required.iter().find(|id| {
            !state.objects.contains_key(*id) && !objects.iter().any(|(new, _)| new == *id)
        }) {
            return Err(StoreError::Missing { id: *id });
        }
        for (id, object) in objects {
            state.objects.entry(id).or_insert(object);
        }
        let mut written = Vec::new();
        for write in batch.writes {
            written.push(write.key.clone());
            let version = state.version + 1;
            let changed = match write.value {
                Some(value) => {
                    state.records.insert(write.key, (version, value));
                    true
                }
                None => state.records.remove(&write.key).is_some(),
            };
            if changed {
                state.version = version;
            }
        }
        for append in batch.appends {
            state.version += 1;
            let version = state.version;
            let key = append.key(version);
            written.push(key.clone());
            state.records.insert(key, (version, append.value));
        }
        let version = state.version;
        drop(state);
        self.watchers.tell(written.iter().map(String::as_str));
        Ok(version)
    }

    fn watch(&self, keys: Vec<String>, changed: &Changed) -> Watch {
        self.watchers.watch(keys, changed)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        let state = Arc::clone(&self.state);
        Ok(Box::new(MemoryStaging {
            state,
            bytes: Vec::new(),
        }))
    }

    fn writes(&self) -> Writes {
        Writes::Taken
    }
}

fn to_record((key, (version, value)): (&String, &(Version, Bytes))) -> Arc<Record> {
    Arc::new(Record::new(key.clone(), *version, value.clone()))
}

#[derive(Debug)]
struct MemoryStaging {
    state: Arc<Mutex<State>>,
    bytes: Vec<u8>,
}

impl Staging for MemoryStaging {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn reread(&mut self) -> Result<Box<dyn io::Read + '_>> {
        Ok(Box::new(self.bytes.as_slice()))
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn publish(&mut self, id: BlobId) -> Result<()> {
        if object_id(Kind::Blob, &self.bytes) != id.into() {
            let reason = "it was published under an id that is not its own".to_owned();
            return Err(StoreError::Damaged {
                kind: Kind::Blob,
                id: id.into(),
                reason,
            });
        }
        let mut state = self.state.lock().expect("no panic while held");
        state.published.insert(id, self.bytes.clone().into());
        Ok(())
    }
}
