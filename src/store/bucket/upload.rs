//! A large body on its way into the bucket: in parts while it comes, or at once where it is a small one.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::Bucket;
use super::body::ReadBack;
use crate::base::digest::byte_count;
use crate::base::id::BlobId;
use crate::base::limits::{UPLOAD_PART_BYTES, UPLOAD_PARTS_OF_ONE_MAX};
use crate::store::{LargeBodies, Result, Staging, StoreError};

/// How long a part may take with its repetitions, and how long the bucket may take to put parts together.
const PART_MAX: Duration = Duration::from_mins(2);
/// How long an upload that is given up waits for its parts that are under way.
const PARTS_END_MAX: Duration = Duration::from_secs(30);
/// How long is waited for memory for a part.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(30);
/// Most parts that a bucket takes of one body.
const PARTS_MAX: usize = 10_000;

/// Dropped before [`Staging::publish`], it leaves nothing as far as the bucket answers; the rest is swept.
#[derive(Debug)]
pub(in crate::store) struct BucketUpload {
    bucket: Arc<Bucket>,
    place: String,
    part: Part,
    /// Begun with the second part.
    multipart: Option<Box<dyn MultipartUpload>>,
    parts: usize,
    /// Bytes of all of it, where they are known.
    announced: Option<u64>,
    /// Parts under way, each with its memory.
    sending: VecDeque<JoinHandle<object_store::Result<()>>>,
    size: u64,
    stage: Stage,
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
            multipart: None,
            parts: 0,
            announced: None,
            sending: VecDeque::new(),
            size: 0,
            stage: Stage::Open,
        }
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
        let part = std::mem::take(&mut self.part);
        if self.multipart.is_none() {
            let (bucket, path) = (Arc::clone(&self.bucket), self.bucket.path(&self.place));
            let begun = self.bucket.wait(async move {
                let begun = bucket.asked(bucket.store.put_multipart(&path)).await;
                begun.map_err(|error| bucket.upload_failed("beginning an upload", &error))
            });
            self.multipart = Some(begun?);
        }
        let Some(multipart) = &mut self.multipart else {
            return Err(StoreError::Stopped);
        };
        let sent = multipart.put_part(part.chunks.into_iter().collect());
        let memory = part.memory;
        self.parts += 1;
        self.sending.push_back(self.bucket.spawn(async move {
            let sent = sent.await;
            drop(memory);
            sent
        })?);
        Ok(())
    }

    fn finish_oldest(&mut self) -> Result<()> {
        let Some(oldest) = self.sending.pop_front() else {
            return Ok(());
        };
        let abort = oldest.abort_handle();
        let bucket = Arc::clone(&self.bucket);
        self.bucket.wait(async move {
            match timeout(PART_MAX, oldest).await {
                Ok(Ok(Ok(()))) => Ok(()),
                Ok(Ok(Err(error))) => Err(bucket.upload_failed("sending a part", &error)),
                Ok(Err(_)) => Err(StoreError::Stopped),
                Err(_) => {
                    abort.abort();
                    Err(StoreError::BucketAway)
                }
            }
        })
    }

    /// Sends what is left and waits until the bucket has all.
    fn complete(&mut self) -> Result<()> {
        if self.stage != Stage::Open {
            return Ok(());
        }
        let bucket = Arc::clone(&self.bucket);
        if self.multipart.is_none() {
            let part = std::mem::take(&mut self.part);
            let payload: PutPayload = part.chunks.into_iter().collect();
            let path = self.bucket.path(&self.place);
            let memory = part.memory;
            self.bucket.wait(async move {
                let put = timeout(PART_MAX, bucket.store.put(&path, payload)).await;
                drop(memory);
                match put {
                    Ok(Ok(_)) => Ok(()),
                    Ok(Err(error)) => Err(bucket.upload_failed("sending a file", &error)),
                    Err(_) => Err(StoreError::BucketAway),
                }
            })?;
        } else {
            if self.part.bytes > 0 {
                self.send_part()?;
            }
            while !self.sending.is_empty() {
                self.finish_oldest()?;
            }
            if let Some(mut multipart) = self.multipart.take() {
                let (multipart, completed) = self.bucket.wait(async move {
                    let completed = match timeout(PART_MAX, multipart.complete()).await {
                        Ok(Ok(_)) => Ok(()),
                        Ok(Err(error)) => Err(bucket.upload_failed("ending an upload", &error)),
                        Err(_) => Err(StoreError::BucketAway),
                    };
                    Ok((multipart, completed))
                })?;
                // To be given up where it failed.
                self.multipart = Some(multipart);
                completed?;
            }
        }
        self.bucket.refused_uploads.note(LargeBodies::Well);
        self.stage = Stage::Complete;
        Ok(())
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
            chunk_bytes_max: UPLOAD_PART_BYTES / 8,
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
        let multipart = self.multipart.take().filter(|_| self.stage == Stage::Open);
        if multipart.is_none() && self.size == 0 {
            return;
        }
        self.bucket.start(async move {
            // One that comes to the bucket behind the end of its upload stays there.
            end_all(sending).await;
            let given_up = match multipart {
                Some(mut multipart) => bucket.asked(multipart.abort()).await,
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
async fn end_all(sending: VecDeque<JoinHandle<object_store::Result<()>>>) {
    let over = Instant::now() + PARTS_END_MAX;
    for mut part in sending {
        if timeout_at(over, &mut part).await.is_err() {
            part.abort();
        }
    }
}
