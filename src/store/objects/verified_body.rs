//! Large blobs of whose bytes none is given that was not held against the blob's id.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::digest::byte_count;
use crate::base::id::BlobId;
use crate::base::limits::{PIECE_BUFFERS_KEPT, PIECE_CACHE_BYTES, PIECES_READ_AT_ONCE_MAX};
use crate::base::outboard::{Outboard, PIECE_BYTES};
use crate::base::threads::buffers::Buffers;
use crate::store::LargeBody;

/// Pieces that were held against their blobs' ids, in memory: those that were asked for last and more
/// than once.
#[derive(Debug)]
pub(super) struct VerifiedPieces {
    by_place: ByteCache<(BlobId, u64), Bytes>,
    buffers: Arc<Buffers>,
}

impl VerifiedPieces {
    /// What memory keeps of them.
    pub(super) fn cache_use(&self) -> CacheUse {
        CacheUse::weighed("pieces", &self.by_place)
    }
}

impl Default for VerifiedPieces {
    fn default() -> Self {
        let pieces = PIECE_CACHE_BYTES / PIECE_BYTES as u64;
        Self {
            by_place: byte_cache(PIECE_CACHE_BYTES, pieces, |_, piece| 128 + piece.len()),
            buffers: Buffers::new(PIECE_BYTES, PIECES_READ_AT_ONCE_MAX, PIECE_BUFFERS_KEPT),
        }
    }
}

/// A large blob that is read and verified piece by piece.
#[derive(Debug)]
pub(super) struct VerifiedBody {
    id: BlobId,
    size: u64,
    outboard: Arc<Outboard>,
    body: Arc<dyn LargeBody>,
    pieces: Arc<VerifiedPieces>,
}

impl VerifiedBody {
    /// The blob of this id and size whose bytes the body should have.
    pub(super) fn new(
        id: BlobId,
        size: u64,
        outboard: Arc<Outboard>,
        body: Arc<dyn LargeBody>,
        pieces: Arc<VerifiedPieces>,
    ) -> Self {
        Self {
            id,
            size,
            outboard,
            body,
            pieces,
        }
    }

    /// The bytes from this offset to the end of its piece.
    ///
    /// # Errors
    /// `UnexpectedEof` at the end of the blob, `InvalidData` for other bytes than the blob's.
    fn rest_of_piece(&self, offset: u64) -> io::Result<Bytes> {
        let place = offset / PIECE_BYTES as u64;
        let begin = place * PIECE_BYTES as u64;
        let left = self.size.saturating_sub(begin);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let into = usize::try_from(offset - begin).unwrap_or(usize::MAX);
        if into >= length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let known = self.pieces.by_place.get(&(self.id, place));
        let piece = match known {
            Some(piece) => piece,
            None => self.read_piece(place, begin, length)?,
        };
        Ok(piece.slice(into..))
    }

    fn read_piece(&self, place: u64, begin: u64, length: usize) -> io::Result<Bytes> {
        let read = |buffer: &mut [u8]| self.read_sound(place, begin, buffer);
        let piece = self.pieces.buffers.fill(length, read)?;
        self.pieces
            .by_place
            .insert((self.id, place), Bytes::clone(&piece));
        Ok(piece)
    }

    fn read_sound(&self, place: u64, begin: u64, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..self.body.reads_max() {
            self.body.read_exact_at(buffer, begin)?;
            if self.outboard.has_piece(self.id, place, buffer) {
                return Ok(());
            }
        }
        let end = begin + byte_count(buffer);
        let reason = format!(
            "blob {} is damaged: its file holds other bytes from {begin} to {end}",
            self.id
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

impl LargeBody for VerifiedBody {
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            let rest = self.rest_of_piece(offset)?;
            let (now, later) = buffer.split_at_mut(buffer.len().min(rest.len()));
            now.copy_from_slice(&rest[..now.len()]);
            offset += byte_count(now);
            buffer = later;
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        if length > 0 {
            let rest = self.rest_of_piece(offset)?;
            if rest.len() >= length {
                return Ok(rest.slice(..length));
            }
        }
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.into())
    }
}
