//! What lies in the bucket, held against the rows that name it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Row;

use super::PostgresStore;
use crate::base::id::ObjectId;
use crate::base::limits::PLACES_SWEPT_AT_ONCE;
use crate::store::Result;
use crate::store::bucket::Bucket;
use crate::store::inspection::{LargeFile, Readable};
use crate::store::postgres::large::sweep::NAMED;
use crate::store::postgres::large::without_bucket;
use crate::store::postgres::row::{id_of, unsigned};

/// Later than every day of which the bucket has names.
const AFTER_ALL_DAYS: &str = "9999-99-99";
const PLACES: &str = "SELECT place, id, size FROM siteconf.object
    WHERE place IS NOT NULL AND place > $1 ORDER BY place LIMIT 1000";

impl PostgresStore {
    /// Calls `visit` with what is in the bucket and what of it is missing. A list of names has all of it: nothing is
    /// read.
    ///
    /// # Errors
    /// [`crate::store::StoreError::UnfitBucket`], [`crate::store::StoreError::BucketAway`].
    ///
    /// # Limits
    /// Memory of up to 150 bytes for each large file.
    pub(super) fn survey_bucket(&self, visit: &mut dyn FnMut(Readable<LargeFile>)) -> Result<()> {
        let Some(bucket) = self.bucket_in_use()? else {
            return Ok(());
        };
        let mut listed = list(&bucket)?;
        let mut after = String::new();
        let mut before: Option<String> = None;
        loop {
            let rows = self.read(PLACES, [Box::new(after)])?;
            let Some(last) = rows.last() else { break };
            after = last.try_get(0)?;
            for row in &rows {
                let place: String = row.try_get(0)?;
                let Ok((id, size)) = named(row) else {
                    visit(Err(format!("a row of the file {place} cannot be read")));
                    continue;
                };
                if before.as_deref() == Some(place.as_str()) {
                    visit(Err(format!("several rows name the file {place}")));
                    continue;
                }
                before = Some(place.clone());
                let there = match listed.remove(&place) {
                    Some(bytes) => Some(bytes),
                    // It may have come since.
                    None if has_all(&bucket, place, size)? => Some(size),
                    None => None,
                };
                visit(Ok(held_against(id, size, there)));
            }
        }
        let mut unnamed: Vec<String> = listed.into_keys().collect();
        unnamed.sort();
        for some in unnamed.chunks(PLACES_SWEPT_AT_ONCE) {
            let mut known = Vec::new();
            for row in self.read(NAMED, [Box::new(some.to_vec())])? {
                known.push(row.try_get::<_, String>(0)?);
            }
            for place in some.iter().filter(|place| !known.contains(place)) {
                visit(Ok(LargeFile::Unnamed(place.clone())));
            }
        }
        Ok(())
    }

    /// The bucket, once it was found to be this store's; `None` where no row names a place.
    ///
    /// # Errors
    /// As [`PostgresStore::survey_bucket`].
    pub(super) fn bucket_in_use(&self) -> Result<Option<Arc<Bucket>>> {
        // Else the mark would be made.
        if !self.has_places()? {
            return Ok(None);
        }
        let bucket = self.bucket.as_ref().ok_or_else(without_bucket)?;
        bucket.require(self.server.store_id()?, true)?;
        Ok(Some(Arc::clone(bucket)))
    }
}

/// The object that a row of [`PLACES`] names, and its size.
fn named(row: &Row) -> Result<(ObjectId, u64)> {
    Ok((id_of(row.try_get(1)?)?, unsigned(row.try_get(2)?)))
}

fn held_against(id: ObjectId, size: u64, there: Option<u64>) -> LargeFile {
    let reason = match there {
        Some(bytes) if bytes == size => return LargeFile::Of(id),
        Some(bytes) => format!("its file in the bucket has {bytes} bytes, and not {size}"),
        None => "its file is not in the bucket".to_owned(),
    };
    LargeFile::Damaged { id, reason }
}

/// The names in the bucket, each with its bytes.
fn list(bucket: &Arc<Bucket>) -> Result<HashMap<String, u64>> {
    let asked = Arc::clone(bucket);
    bucket.wait(async move {
        let mut listed = HashMap::new();
        for day in asked.days_before(AFTER_ALL_DAYS).await? {
            let mut places = asked.places_of_day(&day);
            while let Some(some) = places.next(PLACES_SWEPT_AT_ONCE).await? {
                listed.extend(some);
            }
        }
        Ok(listed)
    })
}

/// Whether the last byte of what lies at a place is there.
fn has_all(bucket: &Arc<Bucket>, place: String, size: u64) -> Result<bool> {
    let asked = Arc::clone(bucket);
    bucket.wait(async move {
        let last = asked.bytes(&place, size.saturating_sub(1), 1).await?;
        Ok(last.is_some())
    })
}
