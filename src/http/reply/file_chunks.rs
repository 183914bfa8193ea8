//! A large file on its way out, as it is or as JSON: read in pieces, one ahead of the client.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::base64_object::Base64Object;
use super::bucket_wait::BucketWait;
use crate::base::limits::{INLINE_BYTES_MAX, UNSHARED_PIECE_BYTES};
use crate::base::outboard::PIECE_BYTES;
use crate::http::admission::credential::CredentialShare;
use crate::http::admission::pieces::PieceShares;
use crate::http::blocking::Wanted;
use crate::http::request::context::RequestContext;
use crate::http::wire::connection_state::ConnectionState;
use crate::repo::LargeBody;

/// Reads a part of a large body. No thread waits for the client, nor for a turn to read, nor for a bucket that does not
/// answer.
///
/// # Limits
/// While who asks has a share of the memory for pieces, whole ones are read, one ahead of the client: two are
/// in memory. Without a share it is [`UNSHARED_PIECE_BYTES`], read when all before them have been written and
/// the system takes more for the client: one that takes nothing holds none.
#[derive(Debug)]
pub(in crate::http) struct FileChunks {
    body: Arc<dyn LargeBody>,
    /// Bytes of all of it.
    size: u64,
    shares: PieceShares,
    connection: Arc<ConnectionState>,
    /// Where the next read begins.
    offset: u64,
    /// Where the last one ends.
    end: u64,
    /// What is sent in place of the bytes themselves, as it stands after the last piece that was handed over.
    object: Option<Base64Object>,
    /// What was read of it to begin with.
    first: Option<Piece>,
    reading: Option<Reading>,
    bucket: BucketWait,
    /// Bytes to be sent that are not yet handed over.
    left: u64,
    unwritten: Arc<Unwritten>,
}

/// A read that is under way.
#[derive(Debug)]
struct Reading {
    offset: u64,
    piece: Wanted<io::Result<Piece>>,
}

/// What is sent of what was read at once, and the memory that it takes.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// What makes the next one.
    object: Option<Base64Object>,
    share: Option<CredentialShare>,
}

/// A piece that was handed over, until it is written.
struct Handed {
    piece: Piece,
    unwritten: Arc<Unwritten>,
}

/// How many pieces are handed over and not written, and who wants to know of the last.
#[derive(Debug, Default)]
struct Unwritten {
    pieces: AtomicUsize,
    reader: AtomicWaker,
}

/// A read that is to be made.
struct Read {
    offset: u64,
    length: usize,
    is_last: bool,
    object: Option<Base64Object>,
    share: Option<CredentialShare>,
}

impl FileChunks {
    /// What will read this many bytes from this offset on, of a body of this size, for the answer to this request.
    pub(in crate::http) fn new(
        body: Arc<dyn LargeBody>,
        size: u64,
        context: &RequestContext,
        from: u64,
        length: u64,
    ) -> Self {
        Self {
            body,
            size,
            shares: context.piece_shares(),
            connection: Arc::clone(&context.connection),
            offset: from,
            end: from + length,
            object: None,
            first: None,
            reading: None,
            bucket: BucketWait::default(),
            left: length,
            unwritten: Arc::default(),
        }
    }

    /// What will read all of a body of this size, and send this object with it.
    pub(in crate::http) fn in_object(
        body: Arc<dyn LargeBody>,
        size: u64,
        context: &RequestContext,
        object: Base64Object,
    ) -> Self {
        Self {
            left: object.bytes(size),
            object: Some(object),
            ..Self::new(body, size, context, 0, size)
        }
    }

    /// Reads the first piece, so that what cannot be read is refused while there is still an answer to be chosen.
    /// Gives the size of the whole body and its beginning, of [`INLINE_BYTES_MAX`] bytes at most; `None` where an
    /// object is sent, of which both say nothing.
    ///
    /// # Errors
    /// As [`LargeBody::read_at`].
    pub(in crate::http) async fn begin(&mut self) -> io::Result<Option<(u64, Bytes)>> {
        let (size, from) = (self.size, self.offset);
        let head = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .min(INLINE_BYTES_MAX);
        let is_plain = self.object.is_none();
        let read = (self.left > 0).then(|| self.next_read());
        let body = Arc::clone(&self.body);
        let begun = self.shares.start(move || -> io::Result<_> {
            let first = read.map(|read| read.run(body.as_ref())).transpose()?;
            let beginning = match &first {
                _ if !is_plain => None,
                Some(first) if from == 0 && first.bytes.len() >= head => {
                    Some(first.bytes.slice(..head))
                }
                _ => Some(body.read_at(0, head)?),
            };
            Ok((first, beginning))
        });
        let begun = begun.await.unwrap_or_else(|error| Err(error.into()));
        let (first, beginning) = begun?;
        self.first = first;
        Ok(beginning.map(|beginning| (size, beginning)))
    }

    /// How many bytes are still to be sent.
    pub(in crate::http) fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, `None` at the end.
    pub(in crate::http) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(self.hand_over(first))));
        }
        loop {
            if self.reading.is_none() {
                ready!(self.poll_start(cx));
            }
            let Some(reading) = &mut self.reading else {
                return Poll::Ready(None);
            };
            let read = ready!(Pin::new(&mut reading.piece).poll(cx));
            let from = reading.offset;
            self.reading = None;
            match read.unwrap_or_else(|error| Err(error.into())) {
                Ok(piece) => {
                    self.bucket.end();
                    return Poll::Ready(Some(Ok(self.hand_over(piece))));
                }
                Err(error) if self.bucket.goes_on(&error, Instant::now()) => self.offset = from,
                Err(error) => {
                    // The client sees the answer cut short, which its length tells.
                    tracing::error!(%error, "a large file cannot be read");
                    self.offset = self.end;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    /// Starts the read after the last one, if there is one, when it is time.
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.bucket.poll_pause(cx));
        if self.is_read() {
            return Poll::Ready(());
        }
        self.unwritten.reader.register(cx.waker());
        if self.unwritten.pieces.load(Ordering::Acquire) > 0 {
            return Poll::Pending;
        }
        ready!(self.connection.poll_writable());
        let read = self.next_read();
        self.start(read);
        Poll::Ready(())
    }

    fn is_read(&self) -> bool {
        self.offset == self.end
    }

    /// Gives a piece to the connection, and reads the next one ahead if there is memory for it.
    fn hand_over(&mut self, mut piece: Piece) -> Bytes {
        self.left = self.left.saturating_sub(piece.bytes.len() as u64);
        self.object = piece.object.take();
        let length = self.rest_of_piece();
        if length > 0
            && let Some(share) = self.share(length)
        {
            let read = self.read(length, Some(share));
            self.start(read);
        }
        Handed::of(piece, &self.unwritten)
    }

    /// The read after the last one.
    fn next_read(&mut self) -> Read {
        let whole = self.rest_of_piece();
        match self.share(whole) {
            Some(share) => self.read(whole, Some(share)),
            None => self.read(whole.min(UNSHARED_PIECE_BYTES), None),
        }
    }

    /// The memory for what is sent of so many bytes, `None` where there is not that much left.
    fn share(&self, length: usize) -> Option<CredentialShare> {
        let sent = match &self.object {
            Some(object) => object.piece_bytes_max(length),
            None => length,
        };
        self.shares.take(sent)
    }

    /// Bytes to the end of a piece, because a piece is hashed whole whatever is read of it.
    fn rest_of_piece(&self) -> usize {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let into = usize::try_from(self.offset % PIECE_BYTES as u64).unwrap_or(0);
        left.min(PIECE_BYTES - into)
    }

    fn read(&mut self, length: usize, share: Option<CredentialShare>) -> Read {
        let offset = self.offset;
        self.offset += length as u64;
        Read {
            offset,
            length,
            is_last: self.is_read(),
            object: self.object.clone(),
            share,
        }
    }

    fn start(&mut self, read: Read) {
        let (body, offset) = (Arc::clone(&self.body), read.offset);
        let piece = self.shares.start(move || read.run(body.as_ref()));
        self.reading = Some(Reading { offset, piece });
    }
}

impl Read {
    fn run(self, body: &dyn LargeBody) -> io::Result<Piece> {
        let read = body.read_at(self.offset, self.length)?;
        let (bytes, object) = match self.object {
            Some(object) => {
                let (made, next) = object.made_of(&read, self.is_last);
                (made, Some(next))
            }
            // It may be a part of a whole piece, which it would keep in memory.
            None if self.length < PIECE_BYTES => (Bytes::copy_from_slice(&read), None),
            None => (read, None),
        };
        let share = self.share;
        Ok(Piece {
            bytes,
            object,
            share,
        })
    }
}

impl Handed {
    fn of(piece: Piece, unwritten: &Arc<Unwritten>) -> Bytes {
        unwritten.pieces.fetch_add(1, Ordering::AcqRel);
        let unwritten = Arc::clone(unwritten);
        Bytes::from_owner(Self { piece, unwritten })
    }
}

impl AsRef<[u8]> for Handed {
    fn as_ref(&self) -> &[u8] {
        &self.piece.bytes
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        // First, so that it is free for the read that this lets begin.
        self.piece.share = None;
        self.unwritten.pieces.fetch_sub(1, Ordering::AcqRel);
        self.unwritten.reader.wake();
    }
}
