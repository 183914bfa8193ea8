//! Large blobs of a store in PostgreSQL: in a bucket, at the places that the rows name.

mod keeper;
pub(super) mod sweep;

use std::collections::HashMap;
use std::sync::Arc;

use self::keeper::Keeper;
use self::sweep::sweep;
use super::link::Link;
use super::{PostgresStore, READER_SETTINGS};
use crate::base::clock::Clock;
use crate::store::bucket::{Bucket, BucketUpload, is_lost};
use crate::store::bucket_access::BucketAccess;
use crate::store::inspection::CommonSettings;
use crate::store::{Batch, Result, StoreError};

/// By the database's clock, the only one that all daemons have in common.
const NEW_PLACE: &str =
    "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') || '/' || gen_random_uuid()";
/// Where objects lie that are there.
const PLACES: &str =
    "SELECT id, place FROM siteconf.object WHERE id = ANY ($1) AND place IS NOT NULL";
const HAS_PLACES: &str = "SELECT EXISTS (SELECT FROM siteconf.object WHERE place IS NOT NULL)";

impl PostgresStore {
    /// The same with a bucket for large blobs, of which nothing is asked before it is needed.
    ///
    /// # Errors
    /// [`StoreError::UnfitBucket`].
    pub fn with_bucket(mut self, access: &BucketAccess) -> Result<Self> {
        self.bucket = Some(Arc::new(Bucket::new(access)?));
        Ok(self)
    }

    /// Looks whether large blobs can be had, and marks a bucket that is nobody's as this store's. That the
    /// bucket does not answer is no error: it may do so later.
    ///
    /// # Errors
    /// [`StoreError::UnfitBucket`].
    pub fn require_large(&self) -> Result<()> {
        let has_places = self.has_places()?;
        let Some(bucket) = &self.bucket else {
            return if has_places {
                Err(without_bucket())
            } else {
                Ok(())
            };
        };
        match bucket.require(self.server.store_id()?, has_places) {
            // It has told the log.
            Err(StoreError::BucketAway | StoreError::BucketFull) => Ok(()),
            checked => checked,
        }
    }

    /// Looks now and then whether the bucket answers, and rids it once a day of what no row names, as long as
    /// the store is open.
    pub fn keep_bucket(&self) {
        if let Some(bucket) = &self.bucket {
            let keeper = Keeper::new(bucket, &self.server);
            bucket.start(Arc::clone(&keeper).keep_looking());
            bucket.start(keeper.keep_swept());
        }
    }

    /// Rids the bucket of what was in the trash for its time, and of uploads that were never ended, older than from the
    /// day before yesterday; what is as old and no row names goes into the trash. Gives how many were removed.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] while this clock and the database's differ.
    pub fn sweep_bucket(&self, clock: impl Clock + 'static) -> Result<u64> {
        let Some(bucket) = &self.bucket else {
            return Ok(0);
        };
        bucket.require(self.server.store_id()?, self.has_places()?)?;
        let link = Link::new(&self.server, READER_SETTINGS);
        let swept = Arc::clone(bucket);
        bucket.wait(async move { Ok(sweep(&link, &swept, &clock, None).await?.removed()) })
    }

    /// A large body on its way into the bucket.
    pub(super) fn begin_upload(&self, bucket: &Arc<Bucket>) -> Result<BucketUpload> {
        if self.writer.is_none() {
            return Err(StoreError::ReadOnly);
        }
        bucket.require_answers()?;
        if !bucket.is_checked() {
            bucket.require(self.server.store_id()?, self.has_places()?)?;
        }
        let rows = self.read(NEW_PLACE, [])?;
        let place = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        Ok(BucketUpload::new(bucket, place))
    }

    /// Puts what a batch brings back where it lay, if it was there before and the bucket has lost it or its end: a row
    /// keeps its place, which backups of the database name as well. Else it would be acknowledged, and gone.
    ///
    /// # Errors
    /// As [`BucketUpload::put_back`].
    pub(super) fn put_back_lost(&self, batch: &Batch) -> Result<()> {
        let brought = batch.objects.iter();
        let brought: HashMap<&[u8], _> = brought
            .filter_map(|new| Some((&new.id.as_bytes()[..], (new.place()?, new))))
            .collect();
        let Some(bucket) = self.bucket.as_ref().filter(|_| !brought.is_empty()) else {
            return Ok(());
        };
        let ids: Vec<_> = brought.keys().map(|id| id.to_vec()).collect();
        for row in self.read(PLACES, [Box::new(ids)])? {
            let (id, place): (&[u8], &str) = (row.try_get(0)?, row.try_get(1)?);
            let Some((own, new)) = brought.get(id) else {
                continue;
            };
            // A commit that is sent again finds its own.
            if place != *own && is_lost(bucket, place, new.size)? {
                tracing::warn!(id = %new.id, place, "the bucket has lost a file that comes again; it is put back");
                BucketUpload::put_back(bucket, (new.id, new.size), own, place)?;
            }
        }
        Ok(())
    }

    pub(super) fn has_places(&self) -> Result<bool> {
        let rows = self.read(HAS_PLACES, [])?;
        Ok(rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?)
    }
}

/// What all daemons must have alike of the bucket.
pub(super) fn common_settings(bucket: Option<&Bucket>) -> CommonSettings {
    let settings = CommonSettings::default();
    match bucket {
        None => settings.with("blobs", "none".to_owned()),
        Some(bucket) => settings
            .with("blobs", bucket.address().to_owned())
            .with("blobs_keep_days", bucket.trash_days().to_string()),
    }
}

/// The refusal of a store whose large blobs lie nobody knows where.
pub(super) fn without_bucket() -> StoreError {
    StoreError::UnfitBucket {
        reason: "large files of the store lie in one, and blobs names none; set it as before"
            .to_owned(),
    }
}
