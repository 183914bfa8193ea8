//! Large blobs in a bucket of S3. Each lies under a name of its own that is used once, so nobody ever writes
//! over anything but what was lost there, and only PUT, multipart, ranged GET, DELETE and LIST are asked of a server,
//! and the list of unfinished uploads where it has one.

mod body;
mod client;
mod file_keys;
mod gate;
mod keys;
mod lists;
mod patience;
mod refusal;
mod refused_uploads;
mod role_keys;
mod unfinished;
mod upload;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use tokio::sync::Semaphore;

use super::bucket_access::{BucketAccess, BucketKeys};
use super::remote::OwnRuntime;
use super::remote::repeated::Repeated;
use super::{LargeBodies, Result, StoreError};
use crate::base::limits::UPLOAD_PARTS_BYTES_MAX;
pub(super) use body::{BucketBody, is_lost};
use client::{Client, is_silence, silence};
use gate::{Gate, Pass};
use keys::signed;
use patience::Patience;
use refusal::{is_beyond_end, is_not_there, is_passing, lacks_room};
pub(super) use refused_uploads::RefusedUploads;
pub(super) use upload::BucketUpload;

/// Threads that carry and sign what goes to the bucket: others than the database's, whose looks must not wait.
const THREADS: usize = 2;
/// Names in the bucket beside those of blobs. It holds the id of the store whose bucket it is.
const MARK: &str = "siteconf-store";
/// Longest id of a store that a bucket is marked with, in bytes.
const MARK_BYTES_MAX: u64 = 64;
/// What is told of a request that is not made.
const SILENT_BEFORE: &str = "it did not answer a moment ago";

/// A bucket. Dropped, what is under way to it ends.
#[derive(Debug)]
pub(super) struct Bucket {
    /// The first that is dropped.
    runtime: OwnRuntime,
    store: AmazonS3,
    /// What `store` sends its requests with, for those it has not.
    client: Client,
    /// As [`BucketUrl::address`](super::bucket_url::BucketUrl::address).
    address: String,
    prefix: String,
    /// How many days what no row names any more stays.
    trash_days: i32,
    /// Memory for parts of uploads.
    parts: Arc<Semaphore>,
    /// True once it was found to be this store's.
    is_checked: AtomicBool,
    /// True where the last look found that it refuses, or cannot be used.
    refuses: AtomicBool,
    /// What it was asked in vain.
    in_vain: Repeated,
    refused_uploads: Arc<RefusedUploads>,
    gate: Gate,
}

impl Bucket {
    /// A bucket that nothing was asked of yet.
    ///
    /// # Errors
    /// [`StoreError::UnfitBucket`].
    pub(super) fn new(access: &BucketAccess) -> Result<Self> {
        let url = &access.url;
        // A role may be asked for over TLS, whatever the bucket is.
        let is_encrypted = url.is_encrypted() || matches!(access.keys, BucketKeys::OfRole(_));
        let client = Client::new(&access.roots, is_encrypted)?;
        let builder = AmazonS3Builder::new()
            .with_bucket_name(url.bucket())
            .with_region(url.region())
            .with_allow_http(!url.is_encrypted())
            .with_http_connector(client.clone());
        let builder = match url.endpoint() {
            Some(endpoint) => builder.with_endpoint(endpoint),
            // A certificate covers no name with more dots.
            None => builder.with_virtual_hosted_style_request(!url.bucket().contains('.')),
        };
        let builder = if url.wants_checksums() {
            // The signature has it in any case.
            builder.with_checksum_algorithm(Checksum::SHA256)
        } else {
            builder
        };
        // What is asked of the bucket is repeated by our own rules.
        let store = signed(builder, &access.keys)?;
        Ok(Self {
            runtime: OwnRuntime::start(THREADS, "store-bucket")?,
            store,
            client,
            address: url.address(),
            prefix: url.prefix().to_owned(),
            trash_days: access.trash_days,
            parts: Arc::new(Semaphore::new(UPLOAD_PARTS_BYTES_MAX)),
            is_checked: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            in_vain: Repeated::default(),
            refused_uploads: Arc::default(),
            gate: Gate::default(),
        })
    }

    /// Looks whether it can be used, and is this store's; one that is nobody's becomes so.
    ///
    /// # Errors
    /// [`StoreError::UnfitBucket`], [`StoreError::BucketAway`].
    pub(super) fn require(self: &Arc<Self>, store_id: &str, has_blobs: bool) -> Result<()> {
        if self.is_checked() {
            return Ok(());
        }
        // One at a time looks at one that is away.
        if self.gate.enter(None).is_none() {
            return Err(StoreError::BucketAway);
        }
        let (bucket, store_id) = (Arc::clone(self), store_id.to_owned());
        self.wait(async move { bucket.check(&store_id, has_blobs).await })
    }

    /// True once it was found to be this store's.
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::Acquire)
    }

    /// As [`Bucket::require`], whatever was found before, also while it is away, and on the runtime.
    pub(super) async fn check(&self, store_id: &str, has_blobs: bool) -> Result<()> {
        let checked = self.look(store_id, has_blobs).await;
        let refused = self.refuses.swap(checked.is_err(), Ordering::AcqRel);
        if refused && checked.is_ok() {
            self.in_vain.end();
        }
        checked
    }

    async fn look(&self, store_id: &str, has_blobs: bool) -> Result<()> {
        let mark = self.path(MARK);
        let options = GetOptions {
            range: Some(GetRange::Bounded(0..MARK_BYTES_MAX)),
            ..GetOptions::default()
        };
        let read = || async {
            let found = self.store.get_opts(&mark, options.clone()).await?;
            found.bytes().await
        };
        let found = match self.noted(&Pass::of_look(), read).await {
            Ok(found) => found,
            Err(error) if is_not_there(&error) => {
                if has_blobs {
                    let reason = format!(
                        "the large files of the store do not lie there; see that blobs is as before. Where they are \
                         lost, or were brought back without it, put a file {mark} there with just this in it: \
                         {store_id}. What is missing is damaged then, and the rest is served"
                    );
                    return Err(unfit(reason));
                }
                let text = Bytes::copy_from_slice(store_id.as_bytes());
                let make = || self.store.put(&mark, text.clone().into());
                self.asked(None, make).await.map_err(|error| {
                    if lacks_room(&error) {
                        self.upload_failed("marking the bucket", &error)
                    } else {
                        self.unfit_or_away(&error)
                    }
                })?;
                text
            }
            Err(error) => return Err(self.unfit_or_away(&error)),
        };
        // It may have been put there by hand, with an end of line.
        if found.trim_ascii() != store_id.as_bytes() {
            // What is put there from now on would be swept by the other.
            self.is_checked.store(false, Ordering::Release);
            return Err(unfit(if has_blobs {
                "the large files of another store lie there; see that blobs is as before"
            } else {
                "the large files of another store lie there; give a prefix of its own, as in \
                 s3://bucket/prefix, or, where they are of a database that was lost, restore that into an empty one"
            }));
        }
        self.is_checked.store(true, Ordering::Release);
        Ok(())
    }

    /// How it is now: it counts as away while it does not answer, refuses, or is not known to be this store's.
    pub(super) fn state(&self) -> LargeBodies {
        let is_away =
            self.gate.is_away() || self.refuses.load(Ordering::Acquire) || !self.is_checked();
        if is_away {
            LargeBodies::Away
        } else {
            self.refused_uploads.lasting()
        }
    }

    /// Whether the last upload was refused.
    pub(super) fn refused_uploads(&self) -> &Arc<RefusedUploads> {
        &self.refused_uploads
    }

    /// Where it is, the same for all who have it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// How many days what no row names any more stays.
    pub(super) fn trash_days(&self) -> i32 {
        self.trash_days
    }

    /// Removes what lies at a place.
    pub(super) async fn remove(&self, place: &str) -> Result<()> {
        self.removed(place).await.map_err(|error| {
            // It stays there.
            self.failed("removing from the bucket", &error)
        })
    }

    async fn removed(&self, place: &str) -> object_store::Result<()> {
        let path = self.path(place);
        match self.asked(Some(place), || self.store.delete(&path)).await {
            Err(error) if is_not_there(&error) => Ok(()),
            removed => removed,
        }
    }

    /// Some bytes of what lies at a place, `None` where the bucket says that they are not all there.
    pub(super) async fn bytes(
        &self,
        place: &str,
        from: u64,
        length: usize,
    ) -> Result<Option<Bytes>> {
        let (path, range) = (self.path(place), from..from + length as u64);
        let read = || self.store.get_range(&path, range.clone());
        match self.asked(Some(place), read).await {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| bytes.len() == length)),
            Err(error) if is_not_there(&error) || is_beyond_end(&error) => Ok(None),
            // It says nothing of the bytes, whatever else was answered, or kept the request from being signed.
            Err(error) => Err(self.failed("reading from the bucket", &error)),
        }
    }

    /// Asks the bucket, for what lies at a place or for something else, unless that is known to be silent.
    async fn asked<T, A>(
        &self,
        place: Option<&str>,
        asking: impl Fn() -> A,
    ) -> object_store::Result<T>
    where
        A: Future<Output = object_store::Result<T>>,
    {
        match self.gate.enter(place) {
            Some(pass) => self.noted(&pass, asking).await,
            None => Err(silence(SILENT_BEFORE)),
        }
    }

    /// Asks the bucket for one who was let in, and notes whether it answers.
    async fn noted<T, A>(&self, pass: &Pass<'_>, asking: impl Fn() -> A) -> object_store::Result<T>
    where
        A: Future<Output = object_store::Result<T>>,
    {
        let attempt = || async {
            let answer = asking().await;
            if answer.as_ref().is_err_and(is_silence) {
                self.gate.note_attempt(pass);
            }
            answer
        };
        let answer = Patience::OF_CALL.ask(attempt).await;
        match &answer {
            // A server that fails, or asks for patience, is spared as one that is silent.
            Err(error) if is_silence(error) || is_passing(error) => {
                self.gate.note_silence(pass, error);
            }
            _ => self.gate.note_answer(pass),
        }
        answer
    }

    /// Refuses at once what would be asked in vain.
    ///
    /// # Errors
    /// [`StoreError::BucketAway`] while it does not answer and it is not yet time to try again.
    pub(super) fn require_answers(&self) -> Result<()> {
        if self.gate.is_shut() {
            return Err(StoreError::BucketAway);
        }
        Ok(())
    }

    fn path(&self, name: &str) -> Path {
        if self.prefix.is_empty() {
            Path::from(name)
        } else {
            Path::from(format!("{}/{name}", self.prefix))
        }
    }

    /// Has a task do this, and waits for it.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.runtime.wait(work)
    }

    /// Has a task do this, and does not wait.
    pub(super) fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }
}

fn unfit(reason: impl Into<String>) -> StoreError {
    StoreError::UnfitBucket {
        reason: reason.into(),
    }
}

/// True for a name such as `2026-11-23`.
fn is_day(name: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    name.len() == 10 && name.bytes().enumerate().all(shape)
}

#[cfg(test)]
mod tests {
    use super::super::bucket_access::BucketKey;
    use super::super::bucket_url::BucketUrl;
    use super::*;

    #[test]
    fn amazon_is_asked_at_the_buckets_name_and_others_at_their_own() {
        for (url, asked) in [
            (
                "s3://shop/a?region=eu-central-1",
                "https://shop.s3.eu-central-1.amazonaws.com",
            ),
            (
                "s3://my.shop?region=eu-central-1",
                "https://s3.eu-central-1.amazonaws.com/my.shop",
            ),
            (
                "s3://shop/a?endpoint=http://127.0.0.1:9000",
                "http://127.0.0.1:9000/shop",
            ),
        ] {
            let key = BucketKey {
                id: "key".to_owned(),
                secret: "Hidden".to_owned(),
                token: Some("Hidden".to_owned()),
            };
            let in_file = BucketKeys::InFile {
                file: "/nowhere/keys".into(),
                first: key.clone(),
            };
            for keys in [BucketKeys::Fixed(key), in_file] {
                let access = BucketAccess {
                    url: BucketUrl::parse(url).unwrap(),
                    keys,
                    roots: Vec::new(),
                    trash_days: 14,
                };
                let bucket = Bucket::new(&access).unwrap();
                let shown = format!("{bucket:?}");
                assert!(
                    shown.contains(&format!("bucket_endpoint: \"{asked}\"")),
                    "{shown}"
                );
                assert!(!shown.contains("Hidden"), "{shown}");
            }
        }
    }
}
