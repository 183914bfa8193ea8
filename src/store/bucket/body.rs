//! A large blob in the bucket, read by ranges.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Bucket;
use crate::base::digest::byte_count;
use crate::base::id::{Kind, ObjectId};
use crate::base::limits::BUCKET_READS_MAX;
use crate::store::error::damaged;
use crate::store::{LargeBody, Result, StoreError};

/// Before what was not there is asked for again.
const PAUSE: Duration = Duration::from_millis(50);

/// The bytes at a place.
#[derive(Debug)]
pub(in crate::store) struct BucketBody {
    bucket: Arc<Bucket>,
    place: String,
    id: ObjectId,
}

impl BucketBody {
    /// Those of this object.
    pub(in crate::store) fn new(bucket: &Arc<Bucket>, place: String, id: ObjectId) -> Self {
        Self {
            bucket: Arc::clone(bucket),
            place,
            id,
        }
    }
}

impl LargeBody for BucketBody {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.read_at(offset, buffer.len())?;
        buffer.copy_from_slice(&bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        self.bucket.require_answers().map_err(io::Error::other)?;
        let found = bytes_at(&self.bucket, &self.place, offset, length);
        let found = found.map_err(io::Error::other)?;
        found.ok_or_else(|| {
            let end = offset + length as u64;
            let reason = format!("its bucket has not all of its bytes from {offset} to {end}");
            io::Error::other(damaged(Kind::Blob, self.id, &reason))
        })
    }

    fn reads_max(&self) -> usize {
        BUCKET_READS_MAX
    }
}

/// Some bytes of what lies at a place, `None` where the bucket has said again and again that they are not all there.
fn bytes_at(
    bucket: &Arc<Bucket>,
    place: &str,
    offset: u64,
    length: usize,
) -> Result<Option<Bytes>> {
    let (asked, place) = (Arc::clone(bucket), place.to_owned());
    bucket.wait(async move {
        for _ in 1..BUCKET_READS_MAX {
            if let Some(bytes) = asked.bytes(&place, offset, length).await? {
                return Ok(Some(bytes));
            }
            tokio::time::sleep(PAUSE).await;
        }
        asked.bytes(&place, offset, length).await
    })
}

/// Looks whether the bucket has lost so many bytes at a place, or their end.
///
/// # Errors
/// [`StoreError::BucketAway`] where it does not say.
pub(in crate::store) fn is_lost(bucket: &Arc<Bucket>, place: &str, size: u64) -> Result<bool> {
    let last = bytes_at(bucket, place, size.saturating_sub(1), 1)?;
    Ok(last.is_none())
}

/// Reads an upload back from its start.
#[derive(Debug)]
pub(super) struct ReadBack {
    pub(super) bucket: Arc<Bucket>,
    pub(super) place: String,
    /// Bytes that are not read from the bucket yet, and where they begin.
    pub(super) left: u64,
    pub(super) offset: u64,
    /// What was read and not taken.
    pub(super) chunk: Bytes,
    pub(super) chunk_bytes_max: usize,
}

impl io::Read for ReadBack {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() && self.left > 0 {
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            let length = left.min(self.chunk_bytes_max);
            let (bucket, place, from) = (Arc::clone(&self.bucket), self.place.clone(), self.offset);
            let read = async move { bucket.bytes(&place, from, length).await };
            let found = self.bucket.wait(read).map_err(io::Error::other)?;
            // It was written a moment ago: whoever has it now does not keep what it took.
            self.chunk = found.ok_or_else(|| io::Error::other(StoreError::BucketAway))?;
            self.offset += byte_count(&self.chunk);
            self.left -= byte_count(&self.chunk);
        }
        let taken = self.chunk.split_to(buffer.len().min(self.chunk.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
