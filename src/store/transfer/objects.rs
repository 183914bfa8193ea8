//! Objects from one store into another: those that it lacks, each held against its id.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use super::{Result, Step, Tell, TransferError};
use crate::base::digest::{ContentHasher, StreamHasher, byte_count, object_id, sha256};
use crate::base::id::{BlobId, Kind, ObjectId};
use crate::base::outboard::PIECE_BYTES;
use crate::store::error::damaged;
use crate::store::objects::{Objects, each_object};
use crate::store::{
    Batch, Body, LargeBody, NewBody, NewObject, StagedBody, Store, StoreError, StoredObject,
};

/// Ids that are asked for at once.
const IDS_AT_ONCE: usize = 4096;
/// Objects that are read and put at once: of 64 KiB at most, or a large one alone.
const OBJECTS_AT_ONCE: usize = 64;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectsCopied {
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The ids below a prefix, on both sides.
struct Leaf {
    source: Vec<ObjectId>,
    target: HashSet<ObjectId>,
}

/// Calls `visit` with the ids of both stores, some at a time.
fn walk(
    source: &dyn Store,
    target: &dyn Store,
    visit: &mut dyn FnMut(Leaf) -> Result<()>,
) -> Result<()> {
    let mut prefixes = vec![Vec::new()];
    while let Some(prefix) = prefixes.pop() {
        let most = IDS_AT_ONCE + 1;
        let ours = source.ids_with_prefix(&prefix, most);
        let ours = ours.map_err(TransferError::Source)?;
        let theirs = target.ids_with_prefix(&prefix, most);
        let theirs = theirs.map_err(TransferError::Target)?;
        let is_leaf = ours.len().max(theirs.len()) <= IDS_AT_ONCE;
        if is_leaf {
            visit(Leaf {
                source: ours,
                target: theirs.into_iter().collect(),
            })?;
        } else {
            let longer = |byte| [&prefix[..], &[byte]].concat();
            prefixes.extend((0..=u8::MAX).rev().map(longer));
        }
    }
    Ok(())
}

/// Copies what the target lacks.
pub(super) fn copy(
    source: &Objects,
    target: &dyn Store,
    tell: &mut Tell<'_>,
) -> Result<ObjectsCopied> {
    let mut copied = ObjectsCopied::default();
    let mut faults = 0;
    walk(source.store().as_ref(), target, &mut |leaf| {
        let lacks = |id: &ObjectId| !leaf.target.contains(id);
        let missing: Vec<_> = leaf.source.into_iter().filter(lacks).collect();
        for ids in missing.chunks(OBJECTS_AT_ONCE) {
            let mut batch = Batch::default();
            for found in read(source.store().as_ref(), ids)? {
                let (id, stored) = match found {
                    Ok(found) => found,
                    Err(error) if !error.is_damage() => return Err(TransferError::Source(error)),
                    Err(damage) => {
                        faults += 1;
                        flow(tell(Step::Damaged(&damage.to_string())))?;
                        continue;
                    }
                };
                let size = stored.size;
                match new_object(source, target, id, stored, copied, tell) {
                    Ok(None) => continue,
                    Ok(Some(new)) if matches!(new.body, NewBody::Inline(_)) => {
                        batch.objects.push(new);
                    }
                    Ok(Some(new)) => put(target, vec![new])?,
                    Err(TransferError::Source(damage)) if damage.is_damage() => {
                        faults += 1;
                        flow(tell(Step::Damaged(&damage.to_string())))?;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                copied.objects += 1;
                copied.bytes += size;
            }
            put(target, batch.objects)?;
            flow(tell(Step::Objects(copied)))?;
        }
        Ok(())
    })?;
    if faults > 0 {
        return Err(TransferError::Damaged { objects: faults });
    }
    Ok(copied)
}

/// How many objects the source has, and how many more the target.
///
/// # Errors
/// [`TransferError::Changed`] where the target lacks some, which came after it had all.
pub(super) fn compare(
    source: &dyn Store,
    target: &dyn Store,
    tell: &mut Tell<'_>,
) -> Result<(u64, u64)> {
    let (mut of_both, mut of_target, mut lacks) = (0, 0, 0);
    walk(source, target, &mut |leaf| {
        let (there, missing): (Vec<_>, Vec<_>) =
            (leaf.source.into_iter()).partition(|id| leaf.target.contains(id));
        of_both += there.len() as u64;
        lacks += missing.len() as u64;
        of_target += leaf.target.len() as u64;
        flow(tell(Step::Compared(of_both)))
    })?;
    if lacks > 0 {
        return Err(TransferError::Changed);
    }
    Ok((of_both, of_target - of_both))
}

/// Those of these objects that are there, or why they cannot be read. One that was collected meanwhile is left out.
fn read(
    source: &dyn Store,
    ids: &[ObjectId],
) -> Result<Vec<std::result::Result<(ObjectId, StoredObject), StoreError>>> {
    let found = each_object(source, ids).map_err(TransferError::Source)?;
    let with_ids = ids.iter().zip(found);
    let there = with_ids.filter_map(|(id, found)| Some(found.transpose()?.map(|it| (*id, it))));
    Ok(there.collect())
}

/// The object for the target, once its bytes were held against its id and its SHA-256. A large one is sent; `None` if
/// it was collected while those before it were.
fn new_object(
    source: &Objects,
    target: &dyn Store,
    id: ObjectId,
    stored: StoredObject,
    copied: ObjectsCopied,
    tell: &mut Tell<'_>,
) -> Result<Option<NewObject>> {
    let StoredObject {
        kind, size, body, ..
    } = stored;
    let other = |what: &str| TransferError::Source(damaged(kind, id, what));
    let body = match body {
        Body::Inline(bytes) => {
            if byte_count(&bytes) != size {
                return Err(other("its row says another size"));
            }
            if object_id(kind, &bytes) != id {
                return Err(other("its row holds other bytes"));
            }
            if kind == Kind::Blob && stored.sha256 != Some(sha256(&bytes)) {
                return Err(other("its row says another SHA-256"));
            }
            NewBody::Inline(bytes)
        }
        Body::Large(_) if kind != Kind::Blob => return Err(other("it lies in a file")),
        Body::Large(_) => {
            let blob = BlobId::from_bytes(*id.as_bytes());
            // Piece by piece held against the id, and read again where a network brings other bytes.
            let found = match source.blob(blob) {
                Err(StoreError::Missing { .. }) => return Ok(None),
                found => found.map_err(TransferError::Source)?,
            };
            let Body::Large(large) = found.body else {
                return Err(other("it lies in a row and in a file"));
            };
            let (staged, sum) = send(large.as_ref(), blob, size, target, copied, tell)?;
            if found.sha256 != sum {
                return Err(other("its row says another SHA-256"));
            }
            NewBody::Staged(Arc::new(staged))
        }
    };
    Ok(Some(NewObject {
        id,
        kind,
        size,
        sha256: stored.sha256,
        body,
    }))
}

/// Sends a large body into the target.
fn send(
    large: &dyn LargeBody,
    id: BlobId,
    size: u64,
    target: &dyn Store,
    mut copied: ObjectsCopied,
    tell: &mut Tell<'_>,
) -> Result<(StagedBody, crate::base::id::Sha256)> {
    let unreadable = |error: io::Error| {
        let error = StoreError::io("reading a large file", error);
        match error {
            StoreError::Io { ref source, .. }
                if source.kind() == io::ErrorKind::InvalidData
                    || source.kind() == io::ErrorKind::UnexpectedEof =>
            {
                let reason = "its file holds other bytes";
                TransferError::Source(damaged(Kind::Blob, id.into(), reason))
            }
            error => TransferError::Source(error),
        }
    };
    let mut staging = target.stage().map_err(TransferError::Target)?;
    staging.announce(size);
    let mut hasher = ContentHasher::default();
    let mut offset = 0;
    while offset < size {
        let left = usize::try_from(size - offset).unwrap_or(usize::MAX);
        let piece = large.read_at(offset, left.min(PIECE_BYTES));
        let piece = piece.map_err(unreadable)?;
        hasher.update(&piece);
        staging.write(&piece).map_err(TransferError::Target)?;
        offset += byte_count(&piece);
        copied.bytes += byte_count(&piece);
        flow(tell(Step::Objects(copied)))?;
    }
    let (found, outboard, sum) = hasher.finish();
    if found != id {
        let reason = "its file holds other bytes";
        return Err(TransferError::Source(damaged(
            Kind::Blob,
            id.into(),
            reason,
        )));
    }
    staging.sync().map_err(TransferError::Target)?;
    Ok((StagedBody::new(staging, outboard.encode().into()), sum))
}

fn put(target: &dyn Store, objects: Vec<NewObject>) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let batch = Batch {
        objects,
        ..Batch::default()
    };
    target.commit(batch).map_err(TransferError::Target)?;
    Ok(())
}

pub(super) fn flow(flow: std::ops::ControlFlow<()>) -> Result<()> {
    match flow {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(()) => Err(TransferError::Interrupted),
    }
}
