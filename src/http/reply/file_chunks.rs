//! A large file on its way out: read in pieces on the blocking pool, one ahead of the client.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::base::limits::READ_CHUNK_BYTES;
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
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    /// Bytes not yet handed over.
    left: u64,
}

impl FileChunks {
    /// Reads this many bytes from this offset on.
    pub(in crate::http) fn new(body: Arc<dyn LargeBody>, from: u64, length: u64) -> Self {
        Self {
            body,
            offset: from,
            end: from + length,
            reading: None,
            left: length,
        }
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
        if self.reading.is_none() {
            self.read_ahead();
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

    fn read_ahead(&mut self) {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let length = left.min(READ_CHUNK_BYTES);
        if length == 0 {
            return;
        }
        let (body, offset) = (Arc::clone(&self.body), self.offset);
        self.offset += length as u64;
        self.reading = Some(blocking::start(move || {
            let mut piece = vec![0; length];
            body.read_exact_at(&mut piece, offset)?;
            Ok(piece.into())
        }));
    }
}
