//! Objects and batches as the checks write them.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use walkdir::WalkDir;

use siteconf::base::digest::{byte_count, object_id, sha256};
use siteconf::base::id::{BlobId, Kind, ObjectId};
use siteconf::base::outboard::PieceHasher;
use siteconf::store::{
    Batch, Body, Expect, NewBody, NewObject, RecordWrite, Scan, Store, StoredObject,
};

/// A new object of these bytes, under the id that is theirs.
pub(crate) fn object(kind: Kind, bytes: &[u8]) -> NewObject {
    NewObject {
        id: object_id(kind, bytes),
        kind,
        size: byte_count(bytes),
        sha256: (kind == Kind::Blob).then(|| sha256(bytes)),
        body: NewBody::Inline(Bytes::copy_from_slice(bytes)),
    }
}

/// A new blob of this text.
pub(crate) fn blob(text: &str) -> NewObject {
    object(Kind::Blob, text.as_bytes())
}

/// The blob whose bytes were published, with the hashes of its pieces.
pub(crate) fn published(bytes: &[u8]) -> NewObject {
    let mut hasher = PieceHasher::default();
    hasher.update(bytes);
    NewObject {
        body: NewBody::Published(hasher.finish().1.encode().into()),
        ..object(Kind::Blob, bytes)
    }
}

/// The id of the blob of these bytes.
pub(crate) fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::from_bytes(*object_id(Kind::Blob, bytes).as_bytes())
}

/// Bytes that look random and are the same in every run.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// A batch of objects alone.
pub(crate) fn of_objects(objects: Vec<NewObject>) -> Batch {
    Batch {
        objects,
        ..Batch::default()
    }
}

/// A batch of one write; `None` deletes.
pub(crate) fn of_write(key: &str, expect: Expect, value: Option<&str>) -> Batch {
    let mut batch = Batch::default();
    push(&mut batch, key, expect, value);
    batch
}

/// Adds a write of a value as it stands; `None` deletes.
pub(crate) fn push(batch: &mut Batch, key: &str, expect: Expect, value: Option<&str>) {
    batch.writes.push(RecordWrite {
        key: key.to_owned(),
        expect,
        value: value.map(|text| Bytes::copy_from_slice(text.as_bytes())),
    });
}

/// The record's value as text.
pub(crate) fn value(store: &dyn Store, key: &str) -> Option<String> {
    let record = store.record(key).unwrap()?;
    assert_eq!(record.key, key);
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// True if the object is there.
pub(crate) fn contains(store: &dyn Store, id: ObjectId) -> bool {
    store.object(id).unwrap().is_some()
}

/// Publishes these bytes and commits the blob.
pub(crate) fn put_large(store: &dyn Store, bytes: &[u8]) -> ObjectId {
    let mut staging = store.stage().unwrap();
    staging.write(bytes).unwrap();
    staging.publish(blob_id(bytes)).unwrap();
    let new = published(bytes);
    let id = new.id;
    store.commit(of_objects(vec![new])).unwrap();
    staging.committed();
    id
}

/// The object's bytes, wherever they lie.
pub(crate) fn bytes_of(stored: &StoredObject) -> Vec<u8> {
    match &stored.body {
        Body::Inline(bytes) => bytes.to_vec(),
        Body::Large(large) => {
            let mut bytes = vec![0; usize::try_from(stored.size).unwrap()];
            large.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        }
    }
}

/// Everything a store holds, to compare before and after: versions, records, objects.
pub(crate) fn contents(store: &dyn Store) -> (u64, Vec<String>, Vec<String>) {
    let records = store.scan(Scan::prefix("")).unwrap();
    let ids = store.ids_with_prefix(&[], usize::MAX).unwrap();
    (
        store.last_version().unwrap(),
        records.iter().map(|record| format!("{record:?}")).collect(),
        ids.iter()
            .map(|id| {
                let stored = store.object(*id).unwrap().unwrap();
                let (kind, size, bytes) = (stored.kind, stored.size, bytes_of(&stored));
                format!("{id} {kind} {size} {:?}", blake3::hash(&bytes))
            })
            .collect(),
    )
}

/// Copies a data folder as a kill at this moment leaves it.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else if entry.file_name() != "store.db-shm" {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
