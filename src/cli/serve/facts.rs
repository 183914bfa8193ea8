//! What the service tells of its store to those who may ask over the Admin API.

use std::sync::Arc;

use super::samples::Samples;
use crate::access::Census;
use crate::base::clock::Timestamp;
use crate::http::{Bytes, Collection, Facts, Objects, StoreFacts};
use crate::store::record_cache::RecordCache;
use crate::store::sqlite::{Format, ObjectCensus, SqliteStore};

/// The store, and what was last counted in it.
#[derive(Debug)]
pub(super) struct FactsOfStore {
    pub(super) store: Arc<RecordCache<SqliteStore>>,
    pub(super) samples: Arc<Samples>,
}

impl Facts for FactsOfStore {
    fn census(&self) -> Option<Census> {
        self.samples.last().0
    }

    fn store(&self) -> StoreFacts {
        let store = self.store.inner();
        let folder = store.data_folder();
        let (_, counted) = self.samples.last();
        let mut files = counted.is_some().then_some(0);
        let mut objects = Vec::new();
        for (kind, [row, file]) in counted.iter().flat_map(ObjectCensus::counts) {
            objects.push(Objects {
                kind: kind.name().to_owned(),
                objects: row.objects + file.objects,
                bytes: row.bytes + file.bytes,
            });
            files = files.map(|bytes| bytes + file.bytes);
        }
        // A file that cannot be read is told by `status`; the rest is worth telling without it.
        let last_backup = folder.last_backup().ok().flatten();
        let last_collection = folder.last_collection().ok().flatten();
        StoreFacts {
            format: Format::CURRENT.to_string(),
            bytes: Bytes {
                database: store.database_bytes(),
                log: store.log_bytes(),
                files,
            },
            objects,
            last_backup: last_backup.map(|at| Timestamp::to_string(&at)),
            last_collection: last_collection.map(|kept| Collection {
                at: kept.at.to_string(),
                live_bytes: kept.live_bytes,
                old_bytes: kept.old_bytes,
            }),
        }
    }
}
