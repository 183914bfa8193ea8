//! The body of a file on its way in.

use tokio::task::JoinHandle;

use super::blocking;
use super::body::RequestBody;
use super::call::Call;
use super::error::Error;
use crate::base::limits::{INLINE_BYTES_MAX, READ_CHUNK_BYTES};
use crate::repo::{NewFile, Upload};

/// Takes a body as a file that a save can name. A small one is collected, a larger one or one of
/// unknown length goes to the disk in pieces while it comes, so memory does not grow with it. No
/// thread waits for the client: each piece is a short visit to the blocking pool, while the next one
/// comes.
///
/// # Errors
/// A body that ends early, makes no progress, or exceeds the limit stores nothing.
pub(super) async fn receive(call: &Call, body: &mut RequestBody) -> Result<NewFile, Error> {
    let limit_bytes = call.settings().file_bytes_max;
    body.refuse_above(limit_bytes)?;
    let uploads = call.gate().uploads();
    let announced = body.announced();
    if announced.is_some_and(|bytes| bytes <= INLINE_BYTES_MAX as u64) {
        let bytes = body.collect(INLINE_BYTES_MAX).await?;
        return blocking::run(move || Ok(uploads.new_file(bytes)?)).await;
    }
    let mut upload = Writing::Done(Box::new(uploads.upload(announced)), Vec::new());
    let received = fill(&mut upload, body, limit_bytes).await;
    let ended = upload.finished().await;
    // Of an upload that is given up nothing is left when the client is told.
    let upload = blocking::run(move || received.and(ended).map(|(upload, _)| upload)).await?;
    blocking::run(move || Ok(upload.finish()?)).await
}

/// Brings a body to its end.
async fn fill(upload: &mut Writing, body: &mut RequestBody, limit_bytes: u64) -> Result<(), Error> {
    let mut piece = Vec::with_capacity(READ_CHUNK_BYTES);
    let mut received = 0;
    while let Some(bytes) = body.next().await? {
        received += bytes.len() as u64;
        if received > limit_bytes {
            return Err(Error::TooLarge { limit_bytes });
        }
        piece.extend_from_slice(&bytes);
        if piece.len() >= READ_CHUNK_BYTES {
            piece = upload.write(piece).await?;
        }
    }
    upload.write(piece).await.map(drop)
}

/// An upload that is ready for its next piece, and memory for one.
type Written = (Box<Upload>, Vec<u8>);

/// An upload whose last piece is being written while the next one comes.
enum Writing {
    /// Nothing is being written; the memory is for the next piece.
    Done(Box<Upload>, Vec<u8>),
    Piece(JoinHandle<Result<Written, Error>>),
    /// A piece could not be written, and its error was given.
    Failed,
}

impl Writing {
    /// Begins to write a piece as soon as the one before is written, and gives memory for the next.
    async fn write(&mut self, mut piece: Vec<u8>) -> Result<Vec<u8>, Error> {
        let (mut upload, empty) = std::mem::replace(self, Self::Failed).finished().await?;
        *self = Self::Piece(blocking::start(move || {
            upload.write(&piece)?;
            piece.clear();
            Ok((upload, piece))
        }));
        Ok(empty)
    }

    async fn finished(self) -> Result<Written, Error> {
        match self {
            Self::Done(upload, piece) => Ok((upload, piece)),
            Self::Piece(written) => written.await.unwrap_or(Err(Error::Crashed)),
            Self::Failed => Err(Error::Crashed),
        }
    }
}
