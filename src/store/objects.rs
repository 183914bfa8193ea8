//! Objects as the layers above see them: compared with their ids, small ones kept in memory.

use std::sync::Arc;

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::error::damaged;
use super::{Body, Result, Store, StoreError, StoredObject};
use crate::base::digest::{byte_count, object_id};
use crate::base::id::{BlobId, Kind, ObjectId, Sha256};
use crate::base::limits::{BLOB_CACHE_BYTES, INLINE_BYTES_MAX, READ_CHUNK_BYTES, SOUND_BLOBS_KEPT};
use crate::base::may_block;

/// A blob whose bytes were compared with its id.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of the bytes.
    pub sha256: Sha256,
    /// The bytes.
    pub body: Body,
}

/// Reads objects of a store and refuses what is not what its id says.
#[derive(Debug)]
pub struct Objects {
    store: Arc<dyn Store>,
    blobs: Cache<BlobId, Blob, ByBytes>,
    /// Large blobs that were read whole and found right since the start, the most recent ones.
    verified: Cache<BlobId, ()>,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl quick_cache::Weighter<BlobId, Blob> for ByBytes {
    fn weight(&self, _: &BlobId, blob: &Blob) -> u64 {
        // A row of the cache costs about as much as two ids beside the bytes.
        128 + if matches!(blob.body, Body::Inline(_)) {
            blob.size
        } else {
            0
        }
    }
}

impl Objects {
    /// Reads through to this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let items = usize::try_from(BLOB_CACHE_BYTES / 4096).unwrap_or(1024);
        Self {
            store,
            blobs: Cache::with_weighter(items, BLOB_CACHE_BYTES, ByBytes),
            verified: Cache::new(SOUND_BLOBS_KEPT),
        }
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The blob if it is in memory.
    pub fn cached_blob(&self, id: BlobId) -> Option<Blob> {
        self.blobs.get(&id)
    }

    /// The blob with this id.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`]; never wrong bytes.
    pub fn blob(&self, id: BlobId) -> Result<Blob> {
        if let Some(blob) = self.cached_blob(id) {
            return Ok(blob);
        }
        let stored = self.load(Kind::Blob, id.into())?;
        match &stored.body {
            Body::Inline(bytes) => check(Kind::Blob, id.into(), stored.size, bytes)?,
            Body::Large(_) => self.check_large(id, &stored)?,
        }
        let damaged = || damaged(Kind::Blob, id.into(), "its row has no SHA-256");
        let sha256 = stored.sha256.ok_or_else(damaged)?;
        let blob = Blob {
            size: stored.size,
            sha256,
            body: stored.body,
        };
        if matches!(blob.body, Body::Inline(_)) {
            self.blobs.insert(id, blob.clone());
        }
        Ok(blob)
    }

    /// The bytes of a node or a manifest.
    ///
    /// # Errors
    /// As [`Objects::blob`].
    pub fn structure(&self, kind: Kind, id: ObjectId) -> Result<Bytes> {
        let stored = self.load(kind, id)?;
        match stored.body {
            Body::Inline(bytes) => {
                check(kind, id, stored.size, &bytes)?;
                Ok(bytes)
            }
            Body::Large(_) => Err(damaged(kind, id, "it lies in a file")),
        }
    }

    /// Keeps a small blob that was just committed in memory.
    pub fn remember_blob(&self, id: BlobId, sha256: Sha256, bytes: &Bytes) {
        if bytes.len() <= INLINE_BYTES_MAX {
            // A copy, because a body may be a small part of the memory that its request came in.
            let body = Body::Inline(Bytes::copy_from_slice(bytes));
            self.blobs.insert(
                id,
                Blob {
                    size: byte_count(bytes),
                    sha256,
                    body,
                },
            );
        }
    }

    fn load(&self, kind: Kind, id: ObjectId) -> Result<StoredObject> {
        let stored = self.store.object(id)?.ok_or(StoreError::Missing { id })?;
        if stored.kind != kind {
            return Err(damaged(kind, id, "its row says another kind"));
        }
        Ok(stored)
    }

    /// Reads a large blob whole and compares it with its id, unless that was done since the start and
    /// not forgotten. Its file is never written in place: what was right stays right unless the disk
    /// fails.
    fn check_large(&self, id: BlobId, stored: &StoredObject) -> Result<()> {
        if self.verified.get(&id).is_some() {
            return Ok(());
        }
        if may_block(|| large_body_id(stored))
            .map_err(|_| damaged(Kind::Blob, id.into(), "its file cannot be read whole"))?
            != id
        {
            return Err(damaged(Kind::Blob, id.into(), "its file holds other bytes"));
        }
        self.verified.insert(id, ());
        Ok(())
    }
}

/// The id that the bytes of a stored body of any size have.
pub fn large_body_id(stored: &StoredObject) -> std::io::Result<BlobId> {
    let mut hasher = blake3::Hasher::new();
    match &stored.body {
        Body::Inline(bytes) => {
            hasher.update(bytes);
        }
        Body::Large(large) => {
            let mut chunk = vec![0; READ_CHUNK_BYTES];
            let mut offset = 0;
            while offset < stored.size {
                let left = stored.size - offset;
                let take = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
                large.read_exact_at(&mut chunk[..take], offset)?;
                hasher.update(&chunk[..take]);
                offset += byte_count(&chunk[..take]);
            }
        }
    }
    Ok(BlobId::from_bytes(*hasher.finalize().as_bytes()))
}

fn check(kind: Kind, id: ObjectId, size: u64, bytes: &[u8]) -> Result<()> {
    if byte_count(bytes) != size {
        return Err(damaged(kind, id, "its row says another size"));
    }
    if object_id(kind, bytes) != id {
        return Err(damaged(kind, id, "its row holds other bytes"));
    }
    Ok(())
}
