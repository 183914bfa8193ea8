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
    let mut piece = Vec::with_capacity(READ_CHUNK_BYTES);
    let mut received = 0;
    while let Some(bytes) = body.next().await? {
        received += bytes.len() as u64;
        if received > limit_bytes {
            return Err(Error::TooLarge { limit_bytes });
        }
        piece.extend_from_slice(&bytes);
        if piece.len() >= READ_CHUNK_BYTES {
            let (rest, empty) = upload.finished().await?;
            upload = Writing::start(rest, std::mem::replace(&mut piece, empty));
        }
    }
    let (rest, _) = upload.finished().await?;
    let (upload, _) = Writing::start(rest, piece).finished().await?;
    blocking::run(move || Ok(upload.finish()?)).await
}

/// An upload that is ready for its next piece, and memory for one.
type Written = (Box<Upload>, Vec<u8>);

/// An upload whose last piece is being written while the next one comes.
enum Writing {
    /// Nothing is being written; the memory is for the next piece.
    Done(Box<Upload>, Vec<u8>),
    Piece(JoinHandle<Result<Written, Error>>),
}

impl Writing {
    fn start(mut upload: Box<Upload>, mut piece: Vec<u8>) -> Self {
        Self::Piece(blocking::start(move || {
            upload.write(&piece)?;
            piece.clear();
            Ok((upload, piece))
        }))
    }

    async fn finished(self) -> Result<Written, Error> {
        match self {
            Self::Done(upload, piece) => Ok((upload, piece)),
            Self::Piece(written) => written.await.unwrap_or(Err(Error::Crashed)),
        }
    }
}
