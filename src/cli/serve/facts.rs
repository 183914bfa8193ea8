//! What the service tells of its store to those who may ask over the Admin API.

use std::sync::Arc;

use super::samples::{Counted, Samples};
use crate::access::Census;
use crate::base::clock::Timestamp;
use crate::cli::settings::Settings;
use crate::http::{Facts, LastCollection, ObjectCount, StoreBytes, StoreFacts};
use crate::store::collection::KeptByCollection;
use crate::store::sqlite::{Format, ObjectCensus, SqliteStore};

/// The store, and what was last counted in it.
#[derive(Debug)]
pub(super) struct FactsOfStore {
    /// `None` where it lies in a database of PostgreSQL.
    store: Option<Arc<SqliteStore>>,
    /// True where large files lie in a bucket.
    has_bucket: bool,
    samples: Arc<Samples>,
}

impl FactsOfStore {
    /// Of the store in a folder, if it lies in one.
    pub(super) fn new(
        store: Option<&Arc<SqliteStore>>,
        settings: &Settings,
        samples: &Arc<Samples>,
    ) -> Self {
        Self {
            store: store.cloned(),
            has_bucket: settings.blobs.is_some(),
            samples: Arc::clone(samples),
        }
    }
}

impl Facts for FactsOfStore {
    fn census(&self) -> Option<Census> {
        self.samples.last().census
    }

    fn store(&self) -> StoreFacts {
        let Counted {
            objects: counted,
            database_bytes,
            last_collection,
            ..
        } = self.samples.last();
        let Some(store) = &self.store else {
            return StoreFacts {
                format: "PostgreSQL".to_owned(),
                bytes: StoreBytes {
                    database: database_bytes,
                    log: 0,
                    // A bucket does not tell.
                    files: (!self.has_bucket).then_some(0),
                },
                objects: Vec::new(),
                last_backup: None,
                last_collection: last_collection.map(told),
            };
        };
        let folder = store.data_folder();
        let mut files = counted.is_some().then_some(0);
        let mut objects = Vec::new();
        for (kind, [row, file]) in counted.iter().flat_map(ObjectCensus::counts) {
            objects.push(ObjectCount {
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
            bytes: StoreBytes {
                database: Some(store.database_bytes()),
                log: store.log_bytes(),
                files,
            },
            objects,
            last_backup: last_backup.map(|at| Timestamp::to_string(&at)),
            last_collection: last_collection.map(told),
        }
    }
}

fn told(kept: KeptByCollection) -> LastCollection {
    LastCollection {
        at: kept.at.to_string(),
        live_bytes: kept.live_bytes,
        old_bytes: kept.old_bytes,
    }
}
