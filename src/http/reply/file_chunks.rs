//! A large file on its way out: read in pieces on the blocking pool, one ahead of the client.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::base::may_block;
use crate::base::outboard::PIECE_BYTES;
use crate::http::blocking;
use crate::repo::LargeBody;

/// Reads a part of a large body. No thread waits for the client: the next piece is read when the one
/// before it is taken, and memory stays at two pieces.
#[derive(Debug)]
pub(in crate::http) struct FileChunks {
    body: Arc<dyn LargeBody>,
    /// Where the next read begins.
    offset: u64,
    /// Where the last one ends.
    end: u64,
    /// What was read of it to begin with.
    first: Option<Bytes>,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    /// Bytes not yet handed over.
    left: u64,
}

impl FileChunks {
    /// Reads this many bytes from this offset on. The first piece is read at once, so that what cannot
    /// be read is refused while there is still an answer to be chosen.
    ///
    /// # Errors
    /// As [`LargeBody::read_at`].
    pub(in crate::http) fn begin(
        body: Arc<dyn LargeBody>,
        from: u64,
        length: u64,
    ) -> io::Result<Self> {
        let mut chunks = Self {
            body,
            offset: from,
            end: from + length,
            first: None,
            reading: None,
            left: length,
        };
        if let Some((offset, length)) = chunks.next_read() {
            chunks.first = Some(may_block(|| chunks.body.read_at(offset, length))?);
        }
        Ok(chunks)
    }

    /// The first piece.
    pub(in crate::http) fn first(&self) -> &[u8] {
        self.first.as_deref().unwrap_or_default()
    }

    /// How many bytes are still to come.
    pub(in crate::http) fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, `None` at the end.
    pub(in crate::http) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(first) = self.first.take() {
            self.left = self.left.saturating_sub(first.len() as u64);
            self.read_ahead();
            return Poll::Ready(Some(Ok(first)));
        }
        let Some(reading) = &mut self.reading else {
            return Poll::Ready(None);
        };
        let piece = ready!(std::pin::Pin::new(reading).poll(cx))
            .unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        self.reading = None;
        match &piece {
            Ok(bytes) => {
                self.left = self.left.saturating_sub(bytes.len() as u64);
                self.read_ahead();
            }
            // The client sees the answer cut short, which its length tells.
            Err(error) => tracing::error!(%error, "a large file cannot be read"),
        }
        Poll::Ready(Some(piece))
    }

    /// Where the next read begins and how long it is; `None` at the end.
    fn next_read(&mut self) -> Option<(u64, usize)> {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        // To the end of a piece, because a piece is hashed whole whatever is read of it.
        let into = usize::try_from(self.offset % PIECE_BYTES as u64).unwrap_or(0);
        let length = left.min(PIECE_BYTES - into);
        let offset = self.offset;
        self.offset += length as u64;
        (length > 0).then_some((offset, length))
    }

    fn read_ahead(&mut self) {
        let Some((offset, length)) = self.next_read() else {
            return;
        };
        let body = Arc::clone(&self.body);
        self.reading = Some(blocking::start(move || body.read_at(offset, length)));
    }
}
