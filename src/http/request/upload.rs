//! The body of a file on its way in.

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::body::RequestBody;
use super::context::RequestContext;
use crate::base::limits::{BLOCK_BYTES, INLINE_BYTES_MAX};
use crate::http::blocking;
use crate::http::error::Error;
use crate::repo::Block;
use crate::repo::{NewFile, Upload};

/// Memory of an upload at most, beside what the store holds of it: a block that is filled and one that is written.
const UPLOAD_BYTES_HELD: u64 = 2 * BLOCK_BYTES as u64;

/// Takes a body as a file that a save can name. A small one is collected, a larger one or one of
/// unknown length goes to the disk in blocks while it comes, so memory does not grow with it. No thread
/// waits for the client: each block is a short visit to the blocking pool, while the next one is filled.
///
/// # Errors
/// A body that ends early, makes no progress, or exceeds the limit stores nothing.
pub(in crate::http) async fn receive(
    context: &RequestContext,
    body: &mut RequestBody,
) -> Result<NewFile, Error> {
    let limit_bytes = context.settings().file_bytes_max;
    body.refuse_above(limit_bytes)?;
    let uploads = context.gate().uploads();
    let announced = body.announced();
    if announced.is_some_and(|bytes| bytes <= INLINE_BYTES_MAX as u64) {
        let bytes = body.collect(INLINE_BYTES_MAX as u64).await?;
        // Digesting so few takes less than the way to the pool and back.
        return Ok(uploads.new_file(bytes)?);
    }
    // Where less is allowed in memory, one at a time may take all of it.
    let allowed = context.settings().limits.bodies_bytes_held_max();
    let held_max = allowed.min(UPLOAD_BYTES_HELD + uploads.bytes_held());
    let held = announced.map_or(held_max, |bytes| bytes.min(held_max));
    body.check_room(held)?;
    // Nothing is taken for who sends nothing.
    let first_bytes = body.next().await?;
    body.hold(held)?;
    let mut upload = Box::new(uploads.upload(announced));
    let (first, second) = (upload.block(), upload.block());
    let mut upload = Writing::Done(upload, second);
    let received = fill(&mut upload, first, first_bytes, body, limit_bytes).await;
    let ended = upload.finished().await;
    // Of an upload that is given up nothing is left when the client is told.
    let upload = blocking::run(move || received.and(ended).map(|(upload, _)| upload)).await?;
    blocking::run(move || Ok(upload.finish()?)).await
}

/// Brings a body that begins with these bytes to its end.
async fn fill(
    upload: &mut Writing,
    mut block: Block,
    mut bytes: Option<Bytes>,
    body: &mut RequestBody,
    limit_bytes: u64,
) -> Result<(), Error> {
    let mut received = 0;
    while let Some(piece) = bytes {
        received += piece.len() as u64;
        if received > limit_bytes {
            return Err(Error::TooLarge { limit_bytes });
        }
        let mut rest = block.fill(&piece);
        while block.is_full() {
            block = upload.write(block).await?;
            rest = block.fill(rest);
        }
        bytes = body.next().await?;
    }
    upload.write(block).await.map(drop)
}

/// An upload that is ready for its next block, and an empty one.
type Written = (Box<Upload>, Block);

/// An upload whose last block is being written while the next one is filled.
enum Writing {
    /// Nothing is being written; the block is the next to be filled.
    Done(Box<Upload>, Block),
    Block(JoinHandle<Result<Written, Error>>),
    /// A block could not be written, and its error was given.
    Failed,
}

impl Writing {
    /// Begins to write a block as soon as the one before is written, and gives the next.
    async fn write(&mut self, block: Block) -> Result<Block, Error> {
        let (mut upload, empty) = std::mem::replace(self, Self::Failed).finished().await?;
        *self = Self::Block(blocking::start(move || {
            upload.write_block(block)?;
            let next = upload.block();
            Ok((upload, next))
        }));
        Ok(empty)
    }

    async fn finished(self) -> Result<Written, Error> {
        match self {
            Self::Done(upload, block) => Ok((upload, block)),
            Self::Block(written) => written.await.unwrap_or(Err(Error::Crashed)),
            Self::Failed => Err(Error::Crashed),
        }
    }
}
