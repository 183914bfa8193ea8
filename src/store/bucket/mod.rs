//! Large blobs in a bucket of S3. Each lies under a name of its own that is used once, so nobody ever writes
//! over anything, and only PUT, multipart, ranged GET, DELETE and LIST are asked of a server, and the list of
//! unfinished uploads where it has one.

mod body;
mod client;
mod keys;
mod refusal;
mod refused_uploads;
mod role_keys;
mod unfinished;
mod upload;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, Fuse};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    BackoffConfig, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bucket_access::{BucketAccess, BucketKeys};
use super::remote::repeated::Repeated;
use super::remote::{start_runtime, wait};
use super::{LargeBodies, Result, StoreError};
use crate::base::limits::UPLOAD_PARTS_BYTES_MAX;
pub(super) use body::BucketBody;
use client::{Client, is_refusal, is_silence, silence};
use keys::with_keys;
use refusal::{lacks_room, no_such_bucket};
pub(super) use refused_uploads::RefusedUploads;
use role_keys::RoleKeys;
pub(super) use upload::BucketUpload;

/// Threads that carry and sign what goes to the bucket: others than the database's, whose looks must not wait.
const THREADS: usize = 2;
/// Names in the bucket beside those of blobs. It holds the id of the store whose bucket it is.
const MARK: &str = "siteconf-store";
/// How long a request may take with all its repetitions.
const CALL_MAX: Duration = Duration::from_secs(20);
/// A request that fails is repeated so often, for so long.
const REPEATS_MAX: usize = 3;
const REPEATED_FOR: Duration = Duration::from_secs(8);
/// After a request that the bucket did not answer, one at a time is tried so often.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest id of a store that a bucket is marked with, in bytes.
const MARK_BYTES_MAX: u64 = 64;

/// A bucket. Dropped, what is under way to it ends.
#[derive(Debug)]
pub(super) struct Bucket {
    store: AmazonS3,
    /// What `store` sends its requests with, for those it has not.
    client: Client,
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
    began: Instant,
    /// Until when nobody asks it, in milliseconds since `began`; 0 while it answers.
    away_until: AtomicU64,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

/// The places of a day, as they are listed.
pub(super) struct Places<'a> {
    bucket: &'a Bucket,
    day: &'a str,
    listed: Fuse<BoxStream<'static, object_store::Result<ObjectMeta>>>,
}

impl Places<'_> {
    /// The next ones, so many at most, each with its bytes; `None` at the end.
    pub(super) async fn next(&mut self, most: usize) -> Result<Option<Vec<(String, u64)>>> {
        let mut places = Vec::new();
        while places.len() < most {
            // It asks once for a page of places, and has the others from it.
            let next = async { self.listed.next().await.transpose() };
            let object = self.bucket.asked(next).await;
            let failed = |error| self.bucket.failed("listing the bucket", &error);
            let Some(object) = object.map_err(failed)? else {
                break;
            };
            if let Some(name) = object.location.filename() {
                places.push((format!("{}/{name}", self.day), object.size));
            }
        }
        Ok((!places.is_empty()).then_some(places))
    }
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
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(url.bucket())
            .with_region(url.region())
            .with_allow_http(!url.is_encrypted())
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(50),
                    max_backoff: Duration::from_secs(1),
                    base: 2.0,
                },
                max_retries: REPEATS_MAX,
                retry_timeout: REPEATED_FOR,
            })
            .with_http_connector(client.clone());
        builder = with_keys(builder, &access.keys);
        builder = match url.endpoint() {
            Some(endpoint) => builder.with_endpoint(endpoint),
            // A certificate covers no name with more dots.
            None => builder.with_virtual_hosted_style_request(!url.bucket().contains('.')),
        };
        let build = |builder: AmazonS3Builder| builder.build().map_err(|e| unfit(e.to_string()));
        let store = match &access.keys {
            BucketKeys::Fixed { .. } => build(builder)?,
            BucketKeys::OfRole(_) => {
                let source = Arc::clone(build(builder.clone())?.credentials());
                build(builder.with_credentials(Arc::new(RoleKeys::new(source))))?
            }
        };
        Ok(Self {
            store,
            client,
            prefix: url.prefix().to_owned(),
            trash_days: access.trash_days,
            parts: Arc::new(Semaphore::new(UPLOAD_PARTS_BYTES_MAX)),
            is_checked: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            in_vain: Repeated::default(),
            refused_uploads: Arc::default(),
            began: Instant::now(),
            away_until: AtomicU64::new(0),
            runtime: Some(start_runtime(THREADS, "store-bucket")?),
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
        let (bucket, store_id) = (Arc::clone(self), store_id.to_owned());
        self.wait(async move { bucket.check(&store_id, has_blobs).await })
    }

    /// True once it was found to be this store's.
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::Acquire)
    }

    /// As [`Bucket::require`], whatever was found before, and on the runtime.
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
        let read = async {
            let found = self.store.get_opts(&mark, options).await?;
            found.bytes().await
        };
        let found = match self.asked(read).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { source, .. }) => {
                if source.to_string().contains("NoSuchBucket") {
                    return Err(no_such_bucket());
                }
                if has_blobs {
                    return Err(unfit(
                        "the large files of the store do not lie there; see that blobs is as before",
                    ));
                }
                let text = Bytes::copy_from_slice(store_id.as_bytes());
                let made = self.asked(self.store.put(&mark, text.clone().into())).await;
                made.map_err(|error| {
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
        if found != store_id.as_bytes() {
            // What is put there from now on would be swept by the other.
            self.is_checked.store(false, Ordering::Release);
            return Err(unfit(if has_blobs {
                "the large files of another store lie there; see that blobs is as before"
            } else {
                "the large files of another store lie there; give a prefix of its own, as in \
                 s3://bucket/prefix"
            }));
        }
        self.is_checked.store(true, Ordering::Release);
        Ok(())
    }

    /// How it is now: it counts as away while it does not answer, refuses, or is not known to be this store's.
    pub(super) fn state(&self) -> LargeBodies {
        let is_away = self.away_until.load(Ordering::Acquire) > 0
            || self.refuses.load(Ordering::Acquire)
            || !self.is_checked();
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

    /// How many days what no row names any more stays.
    pub(super) fn trash_days(&self) -> i32 {
        self.trash_days
    }

    /// The days that have names, older than this one.
    pub(super) async fn days_before(&self, oldest: &str) -> Result<Vec<String>> {
        let root = (!self.prefix.is_empty()).then(|| Path::from(self.prefix.as_str()));
        let listed = self
            .asked(self.store.list_with_delimiter(root.as_ref()))
            .await;
        let listed = listed.map_err(|error| self.failed("listing the bucket", &error))?;
        let names = listed.common_prefixes.iter().filter_map(Path::filename);
        let days = names.filter(|name| is_day(name) && *name < oldest);
        Ok(days.map(str::to_owned).collect())
    }

    /// The places of a day.
    pub(super) fn places_of_day<'a>(&'a self, day: &'a str) -> Places<'a> {
        Places {
            bucket: self,
            day,
            listed: self.store.list(Some(&self.path(day))).fuse(),
        }
    }

    /// Removes what lies at a place.
    pub(super) async fn remove(&self, place: &str) -> Result<()> {
        self.removed(place).await.map_err(|error| {
            // Of each file: it stays there.
            if !is_silence(&error) {
                tracing::error!(%error, "removing from the bucket failed");
            }
            StoreError::BucketAway
        })
    }

    async fn removed(&self, place: &str) -> object_store::Result<()> {
        match self.asked(self.store.delete(&self.path(place))).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            removed => removed,
        }
    }

    /// Some bytes of what lies at a place, `None` where they are not all there.
    pub(super) async fn bytes(
        &self,
        place: &str,
        from: u64,
        length: usize,
    ) -> Result<Option<Bytes>> {
        let range = from..from + length as u64;
        let path = self.path(place);
        match self.asked(self.store.get_range(&path, range)).await {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| bytes.len() == length)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) if is_silence(&error) || is_refusal(&error) => {
                Err(self.failed("reading from the bucket", &error))
            }
            // It has answered with fewer bytes, or with others than it was asked for.
            Err(_) => Ok(None),
        }
    }

    /// Asks the bucket unless it is known to be away, and notes whether it answers.
    async fn asked<T>(
        &self,
        asking: impl Future<Output = object_store::Result<T>>,
    ) -> object_store::Result<T> {
        if !self.may_ask() {
            return Err(silence("it did not answer a moment ago"));
        }
        let answer = timeout(CALL_MAX, asking).await;
        let answer = answer.unwrap_or_else(|_| Err(silence("it takes too long")));
        match &answer {
            Err(error) if is_silence(error) => {
                let until = self.now() + millis(PAUSE);
                if self.away_until.swap(until, Ordering::AcqRel) == 0 {
                    tracing::warn!(%error, "the bucket of large files does not answer");
                }
            }
            _ => {
                if self.away_until.load(Ordering::Acquire) > 0
                    && self.away_until.swap(0, Ordering::AcqRel) > 0
                {
                    tracing::info!("the bucket of large files answers again");
                }
            }
        }
        answer
    }

    /// True while it answers, and now and then for one who tries whether it does again.
    fn may_ask(&self) -> bool {
        let until = self.away_until.load(Ordering::Acquire);
        if until == 0 {
            return true;
        }
        let now = self.now();
        let next = now + millis(CALL_MAX);
        now >= until
            && (self.away_until)
                .compare_exchange(until, next, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }

    /// Refuses at once what would be asked in vain.
    ///
    /// # Errors
    /// [`StoreError::BucketAway`] while it does not answer and it is not yet time to try again.
    pub(super) fn require_answers(&self) -> Result<()> {
        let until = self.away_until.load(Ordering::Acquire);
        if until > 0 && self.now() < until {
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

    fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// Has a task do this, and waits for it.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        wait(self.runtime.as_ref().ok_or(StoreError::Stopped)?, work)
    }

    /// A task that does this.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        let runtime = self.runtime.as_ref().ok_or(StoreError::Stopped)?;
        Ok(runtime.spawn(work))
    }

    /// Has a task do this, and does not wait.
    pub(super) fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(work));
        }
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn unfit(reason: impl Into<String>) -> StoreError {
    StoreError::UnfitBucket {
        reason: reason.into(),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
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
            let keys = BucketKeys::Fixed {
                id: "key".to_owned(),
                secret: "Hidden".to_owned(),
                token: Some("Hidden".to_owned()),
            };
            let url = BucketUrl::parse(url).unwrap();
            let roots = Vec::new();
            let access = BucketAccess {
                url,
                keys,
                roots,
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
