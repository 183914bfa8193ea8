//! A large body on its way into the bucket: in parts while it comes, or at once where it is a small one.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::{MultipartId, ObjectStoreExt, PutPayload};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::Bucket;
use super::body::ReadBack;
use super::patience::Patience;
use super::refusal::is_no_upload;
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, Kind, ObjectId};
use crate::base::limits::{UPLOAD_PART_BYTES, UPLOAD_PARTS_OF_ONE_MAX};
use crate::base::outboard::PieceHasher;
use crate::store::error::damaged;
use crate::store::{LargeBodies, Result, Staging, StoreError};

/// How long an upload that is given up waits for its parts that are under way.
const PARTS_END_MAX: Duration = Duration::from_secs(30);
/// How long is waited for memory for a part.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(30);
/// Bytes of an upload that are read back at once.
const READ_BACK_BYTES: usize = UPLOAD_PART_BYTES / 8;
/// Most parts that a bucket takes of one body.
const PARTS_MAX: usize = 10_000;

/// Dropped before [`Staging::publish`], it leaves nothing as far as the bucket answers; the rest is swept.
#[derive(Debug)]
pub(in crate::store) struct BucketUpload {
    bucket: Arc<Bucket>,
    place: String,
    part: Part,
    /// Of an upload in parts, which the first of them begins.
    id: Option<MultipartId>,
    /// How many parts it has, those that are under way, each with its memory, and those before that the bucket has.
    parts: usize,
    sending: VecDeque<JoinHandle<object_store::Result<PartId>>>,
    sent: Vec<PartId>,
    /// Bytes of all of it, where they are known.
    announced: Option<u64>,
    size: u64,
    stage: Stage,
    /// True where a row names the place: nothing is removed there.
    is_named: bool,
}

/// What is gathered for the next part, in memory that was given for it.
#[derive(Debug, Default)]
struct Part {
    chunks: Vec<Bytes>,
    bytes: usize,
    memory: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Bytes are coming.
    Open,
    /// The bucket has all of them.
    Complete,
    /// A commit may name the place.
    Published,
}

impl BucketUpload {
    /// An empty body for a place that nobody has used.
    pub(in crate::store) fn new(bucket: &Arc<Bucket>, place: String) -> Self {
        Self {
            bucket: Arc::clone(bucket),
            place,
            part: Part::default(),
            id: None,
            parts: 0,
            sending: VecDeque::new(),
            sent: Vec::new(),
            announced: None,
            size: 0,
            stage: Stage::Open,
            is_named: false,
        }
    }

    /// Puts a large blob of so many bytes that lies at one place at another too, which its row names and where the
    /// bucket has lost it.
    ///
    /// # Errors
    /// [`StoreError::BucketAway`], [`StoreError::BucketFull`], [`StoreError::Busy`]; [`StoreError::Damaged`] where the
    /// bucket gives other bytes than it was given. What lies at the other place is no worse then.
    pub(in crate::store) fn put_back(
        bucket: &Arc<Bucket>,
        (id, size): (ObjectId, u64),
        from: &str,
        lost: &str,
    ) -> Result<()> {
        let mut hasher = PieceHasher::default();
        let mut again = Self::new(bucket, lost.to_owned());
        again.is_named = true;
        again.announce(size);
        while again.size < size {
            let (source, from, offset) = (Arc::clone(bucket), from.to_owned(), again.size);
            let left = usize::try_from(size - offset).unwrap_or(usize::MAX);
            let length = left.min(READ_BACK_BYTES);
            let read = async move { source.bytes(&from, offset, length).await };
            let piece = bucket.wait(read)?.ok_or(StoreError::BucketAway)?;
            hasher.update(&piece);
            again.write(&piece)?;
        }
        if ObjectId::from(hasher.finish().0) != id {
            let reason = "the bucket gives other bytes than it was given";
            return Err(damaged(Kind::Blob, id, reason));
        }
        again.complete()?;
        again.stage = Stage::Published;
        Ok(())
    }

    /// Waits for memory for the next part: until one of this body's is sent where it has all that one may
    /// have, and until anybody's is.
    fn begin_part(&mut self) -> Result<()> {
        while self.sending.len() >= UPLOAD_PARTS_OF_ONE_MAX {
            self.finish_oldest()?;
        }
        // A body of which little comes slowly leaves others their memory.
        let sent = self.parts as u64 * UPLOAD_PART_BYTES as u64;
        let left = self
            .announced
            .map_or(u64::MAX, |bytes| bytes.saturating_sub(sent));
        let bytes = u32::try_from(left.min(UPLOAD_PART_BYTES as u64)).unwrap_or(u32::MAX);
        let memory = Arc::clone(&self.bucket.parts);
        let given = self.bucket.wait(async move {
            let given = timeout(MEMORY_WAIT_MAX, memory.acquire_many_owned(bytes)).await;
            // It is never closed.
            given
                .map_err(|_| StoreError::Busy)?
                .map_err(|_| StoreError::Stopped)
        });
        self.part.memory = Some(given?);
        Ok(())
    }

    /// Sends what was gathered as a part, the first of which begins the upload.
    fn send_part(&mut self) -> Result<()> {
        if self.parts == PARTS_MAX {
            return Err(StoreError::TooLarge {
                bytes_max: PARTS_MAX * UPLOAD_PART_BYTES,
            });
        }
        let id = self.begun()?;
        let part = std::mem::take(&mut self.part);
        let payload: PutPayload = part.chunks.into_iter().collect();
        let (bucket, path) = (Arc::clone(&self.bucket), self.bucket.path(&self.place));
        let (number, memory) = (self.parts, part.memory);
        self.parts += 1;
        let sending = self.bucket.runtime.spawn(async move {
            let send = || bucket.store.put_part(&path, &id, number, payload.clone());
            let sent = Patience::OF_PART.ask(send).await;
            drop((payload, memory));
            sent
        });
        self.sending.push_back(sending);
        Ok(())
    }

    /// The id of the upload in parts, which is begun if it is not yet.
    fn begun(&mut self) -> Result<MultipartId> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        let (bucket, path) = (Arc::clone(&self.bucket), self.bucket.path(&self.place));
        let id = self.bucket.wait(async move {
            let begin = || bucket.store.create_multipart(&path);
            let begun = bucket.asked(None, begin).await;
            begun.map_err(|error| bucket.upload_failed("beginning an upload", &error))
        })?;
        Ok(self.id.insert(id).clone())
    }

    fn finish_oldest(&mut self) -> Result<()> {
        let Some(oldest) = self.sending.pop_front() else {
            return Ok(());
        };
        let bucket = Arc::clone(&self.bucket);
        let part = self.bucket.wait(async move {
            let sent = oldest.await.map_err(|_| StoreError::Stopped)?;
            sent.map_err(|error| bucket.upload_failed("sending a part", &error))
        })?;
        self.sent.push(part);
        Ok(())
    }

    /// Sends what is left and waits until the bucket has all.
    fn complete(&mut self) -> Result<()> {
        if self.stage != Stage::Open {
            return Ok(());
        }
        if self.id.is_none() {
            self.put()?;
        } else {
            if self.part.bytes > 0 {
                self.send_part()?;
            }
            while !self.sending.is_empty() {
                self.finish_oldest()?;
            }
            self.put_together()?;
        }
        self.bucket.refused_uploads.note(LargeBodies::Well);
        self.stage = Stage::Complete;
        Ok(())
    }

    /// Sends all of it at once.
    fn put(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.part);
        let payload: PutPayload = part.chunks.into_iter().collect();
        let (bucket, path) = (Arc::clone(&self.bucket), self.bucket.path(&self.place));
        let memory = part.memory;
        self.bucket.wait(async move {
            let put = || bucket.store.put(&path, payload.clone());
            let put = Patience::OF_FILE.ask(put).await;
            drop((payload, memory));
            match put {
                Ok(_) => Ok(()),
                Err(error) => Err(bucket.upload_failed("sending a file", &error)),
            }
        })
    }

    /// Has the bucket put the parts together.
    fn put_together(&mut self) -> Result<()> {
        let id = self.begun()?;
        // One that failed was told of.
        if self.sent.len() < self.parts {
            return Err(StoreError::BucketAway);
        }
        let (bucket, path) = (Arc::clone(&self.bucket), self.bucket.path(&self.place));
        let (place, last) = (self.place.clone(), self.size - 1);
        let sent = std::mem::take(&mut self.sent);
        self.bucket.wait(async move {
            let end = || bucket.store.complete_multipart(&path, &id, sent.clone());
            match Patience::OF_PART.ask(end).await {
                Ok(_) => Ok(()),
                // The answer to an attempt before was lost if all is there: nobody else writes other bytes to this
                // place.
                Err(error) if is_no_upload(&error) => match bucket.bytes(&place, last, 1).await {
                    Ok(Some(_)) => Ok(()),
                    _ => Err(bucket.upload_failed("ending an upload", &error)),
                },
                Err(error) => Err(bucket.upload_failed("ending an upload", &error)),
            }
        })
    }
}

impl Staging for BucketUpload {
    fn announce(&mut self, bytes: u64) {
        self.announced = Some(bytes);
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.size += byte_count(bytes);
        while !bytes.is_empty() {
            if self.part.bytes == UPLOAD_PART_BYTES {
                self.send_part()?;
            }
            if self.part.memory.is_none() {
                self.begin_part()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(UPLOAD_PART_BYTES - self.part.bytes));
            self.part.chunks.push(Bytes::copy_from_slice(now));
            self.part.bytes += now.len();
            bytes = later;
        }
        Ok(())
    }

    fn reread(&mut self) -> Result<Box<dyn io::Read + '_>> {
        self.complete()?;
        Ok(Box::new(ReadBack {
            bucket: Arc::clone(&self.bucket),
            place: self.place.clone(),
            left: self.size,
            offset: 0,
            chunk: Bytes::new(),
            chunk_bytes_max: READ_BACK_BYTES,
        }))
    }

    fn sync(&mut self) -> Result<()> {
        self.complete()
    }

    fn publish(&mut self, _: BlobId) -> Result<()> {
        self.complete()?;
        self.stage = Stage::Published;
        Ok(())
    }

    fn committed(&mut self) {}

    fn place(&self) -> Option<&str> {
        Some(&self.place)
    }
}

impl Drop for BucketUpload {
    fn drop(&mut self) {
        let sending = std::mem::take(&mut self.sending);
        if self.stage == Stage::Published {
            return;
        }
        let (bucket, place) = (Arc::clone(&self.bucket), self.place.clone());
        let id = self.id.take().filter(|_| self.stage == Stage::Open);
        let is_named = self.is_named;
        if id.is_none() && self.size == 0 {
            return;
        }
        self.bucket.start(async move {
            // One that comes to the bucket behind the end of its upload stays there.
            end_all(sending).await;
            let given_up = match id {
                Some(id) => {
                    let path = bucket.path(&place);
                    let abort = || bucket.store.abort_multipart(&path, &id);
                    bucket.asked(None, abort).await
                }
                None if is_named => Ok(()),
                None => bucket.removed(&place).await,
            };
            if let Err(error) = given_up {
                bucket.failed("giving an upload up", &error);
                // A bucket that refuses one refuses all.
                if bucket.in_vain.is_due("left") {
                    tracing::warn!(
                        place,
                        "an upload that was given up stays in the bucket until it is swept"
                    );
                }
            }
        });
    }
}

/// Waits until these parts have come to the bucket or have failed, and gives up those that take too long.
async fn end_all(sending: VecDeque<JoinHandle<object_store::Result<PartId>>>) {
    let over = Instant::now() + PARTS_END_MAX;
    for mut part in sending {
        if timeout_at(over, &mut part).await.is_err() {
            part.abort();
        }
    }
}
