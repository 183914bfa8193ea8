//! Digests and commit ids of states that are gone.

use std::sync::Arc;

use crate::base::id::{ManifestId, ObjectId};
use crate::object::key;
use crate::object::record::CommitRecord;
use crate::store::collection::{Collectable, Collection};
use crate::store::{Batch, Expect, Record, Result, Scan, Store, StoreError, Values};

/// Records read at once.
const READ_AT_ONCE: usize = 256;

/// Removes them; gives how many. A state that comes again gets both again, when somebody asks for them.
pub(super) fn remove_gone<S: Collectable>(
    over: &dyn Store,
    store: &S,
    collection: &S::Collection<'_>,
) -> Result<u64> {
    let as_store: &dyn Store = store;
    let mut removed = 0;
    for prefix in [key::DIGESTS, key::COMMITS] {
        for records in as_store.pages(Scan {
            limit: READ_AT_ONCE,
            values: Values::Sound,
            ..Scan::prefix(prefix)
        }) {
            removed += remove(over, store, collection, &records?)?;
        }
    }
    Ok(removed)
}

fn remove<S: Collectable>(
    over: &dyn Store,
    store: &S,
    collection: &S::Collection<'_>,
    records: &[Arc<Record>],
) -> Result<u64> {
    let mut batch = Batch::with_reserve();
    let named = records.iter();
    let named = named.filter_map(|record| Some((record, manifest_of(record)?)));
    let (named, manifests): (Vec<_>, Vec<_>) = named.unzip();
    for (record, is_there) in named.into_iter().zip(store.are_there(&manifests)?) {
        if !is_there {
            batch.delete(record.key.clone(), Expect::Version(record.version));
        }
    }
    let count = batch.writes.len() as u64;
    if count == 0 {
        return Ok(0);
    }
    match collection.commit(over, batch) {
        Ok(()) => Ok(count),
        // One of them was written anew; the next collection looks again.
        Err(StoreError::Conflict { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The manifest that a record is about, `None` where that cannot be read.
fn manifest_of(record: &Record) -> Option<ObjectId> {
    let manifest = match record.key.strip_prefix(key::DIGESTS) {
        Some(id) => id.parse::<ManifestId>().ok()?,
        None => record.decode::<CommitRecord>().ok()?.value.manifest,
    };
    Some(manifest.into())
}
