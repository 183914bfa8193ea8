//! Objects as the layers above see them: compared with their ids, small ones kept in memory.

mod verified_body;

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use self::verified_body::{VerifiedBody, VerifiedPieces};
use super::error::damaged;
use super::{Body, Result, Store, StoreError, StoredObject};
use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::digest::{byte_count, object_id};
use crate::base::id::{BlobId, Kind, ObjectId, Sha256};
use crate::base::limits::{BLOB_CACHE_BYTES, INLINE_BYTES_MAX, OUTBOARD_CACHE_BYTES};
use crate::base::may_block;
use crate::base::outboard::{Outboard, PIECE_BYTES, PieceHasher};

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

/// Each of these objects as [`Store::object`] gives it, asked for at once; where something cannot be read one by
/// one, so that it hides nothing else.
///
/// # Errors
/// Those that say nothing of a single object ([`StoreError::is_outage`]).
pub fn each_object(
    store: &dyn Store,
    ids: &[ObjectId],
) -> Result<Vec<Result<Option<StoredObject>>>> {
    let read = match store.objects(ids) {
        Ok(found) => return Ok(found.into_iter().map(Ok).collect()),
        Err(outage) if outage.is_outage() => return Err(outage),
        Err(_) => ids.iter().map(|id| store.object(*id)),
    };
    read.map(|found| match found {
        Err(outage) if outage.is_outage() => Err(outage),
        found => Ok(found),
    })
    .collect()
}

/// Reads objects of a store and refuses what is not what its id says.
#[derive(Debug)]
pub struct Objects {
    store: Arc<dyn Store>,
    blobs: ByteCache<BlobId, Blob>,
    /// The hashes of the pieces of large blobs, each held against the blob's id.
    outboards: ByteCache<BlobId, Arc<Outboard>>,
    pieces: Arc<VerifiedPieces>,
}

/// A row of a cache costs about as much as two ids beside the bytes.
const ROW_BYTES: usize = 128;

impl Objects {
    /// Reads through to this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            blobs: byte_cache(
                BLOB_CACHE_BYTES,
                BLOB_CACHE_BYTES / 4096,
                |_, blob| match &blob.body {
                    Body::Inline(bytes) => ROW_BYTES + bytes.len(),
                    Body::Large(_) => ROW_BYTES,
                },
            ),
            // For few entries, so that it is divided in few parts: each keeps the hashes of a file of 32 GiB.
            outboards: byte_cache(OUTBOARD_CACHE_BYTES, 64, |_, outboard| {
                ROW_BYTES + outboard.memory()
            }),
            pieces: Arc::default(),
        }
    }

    /// What memory keeps of the store and of its objects.
    pub fn cache_uses(&self) -> Vec<CacheUse> {
        let mut uses = self.store.cache_uses();
        uses.extend([
            CacheUse::weighed("blobs", &self.blobs),
            CacheUse::weighed("outboards", &self.outboards),
            self.pieces.cache_use(),
        ]);
        uses
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The blob if it is in memory.
    pub fn cached_blob(&self, id: BlobId) -> Option<Blob> {
        self.blobs.get(&id)
    }

    /// The blob with this id. A large one is held against it piece by piece when it is read.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`]; `InvalidData` of a large body's reads; never
    /// wrong bytes.
    pub fn blob(&self, id: BlobId) -> Result<Blob> {
        if let Some(blob) = self.cached_blob(id) {
            return Ok(blob);
        }
        let stored = self.load(Kind::Blob, id.into())?;
        let body = match &stored.body {
            Body::Inline(bytes) => {
                check(Kind::Blob, id.into(), stored.size, bytes)?;
                stored.body.clone()
            }
            Body::Large(body) => Body::Large(Arc::new(VerifiedBody::new(
                id,
                stored.size,
                self.outboard(id, &stored)?,
                Arc::clone(body),
                Arc::clone(&self.pieces),
            ))),
        };
        let damaged = || damaged(Kind::Blob, id.into(), "its row has no SHA-256");
        let sha256 = stored.sha256.ok_or_else(damaged)?;
        let blob = Blob {
            size: stored.size,
            sha256,
            body,
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

    /// The bytes of those of these nodes or manifests that are there and sound, with their ids, read at
    /// once.
    pub fn sound_structures(&self, kind: Kind, ids: &[ObjectId]) -> Result<Vec<(ObjectId, Bytes)>> {
        let mut sound = Vec::with_capacity(ids.len());
        for (id, stored) in ids.iter().zip(self.store.objects(ids)?) {
            let of_kind = stored.filter(|stored| stored.kind == kind);
            if let Some((size, Body::Inline(bytes))) = of_kind.map(|it| (it.size, it.body))
                && check(kind, *id, size, &bytes).is_ok()
            {
                sound.push((*id, bytes));
            }
        }
        Ok(sound)
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

    /// The hashes of a large blob's pieces: those that were stored with it, or, where it has none of its
    /// own, computed from the whole of it, once while they are not forgotten.
    fn outboard(&self, id: BlobId, stored: &StoredObject) -> Result<Arc<Outboard>> {
        if stored.size <= PIECE_BYTES as u64 {
            return Ok(Arc::default());
        }
        if let Some(known) = self.outboards.get(&id) {
            return Ok(known);
        }
        let kept = self.store.outboard(id)?;
        let own = kept
            .as_ref()
            .and_then(|bytes| Outboard::decode(bytes, id, stored.size));
        if kept.is_some() && own.is_none() {
            tracing::warn!(blob = %id, "its outboard is damaged; it is computed again");
        }
        let outboard = if let Some(own) = own {
            own
        } else {
            let unreadable = |error: io::Error| match error.downcast() {
                Ok(own) => own,
                Err(_) => damaged(Kind::Blob, id.into(), "its file cannot be read whole"),
            };
            let (found, outboard) = may_block(|| large_body_id(stored)).map_err(unreadable)?;
            if found != id {
                return Err(damaged(Kind::Blob, id.into(), "its file holds other bytes"));
            }
            outboard
        };
        let outboard = Arc::new(outboard);
        self.outboards.insert(id, Arc::clone(&outboard));
        Ok(outboard)
    }
}

/// The id that the bytes of a stored body of any size have, and the hashes of its pieces.
fn large_body_id(stored: &StoredObject) -> io::Result<(BlobId, Outboard)> {
    let mut hasher = PieceHasher::default();
    let as_it_is = |error| error;
    stored.body.each_piece(stored.size, as_it_is, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finish())
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
