//! Rids the bucket of what no row names: uploads whose commit was refused, or never came.

use std::collections::HashSet;

use super::link::Link;
use crate::base::limits::PLACES_SWEPT_AT_ONCE;
use crate::store::Result;
use crate::store::bucket::Bucket;

/// True for one daemon a day.
const CLAIM: &str = "SELECT siteconf.claim_sweep_v1()";
/// The first day that is left alone, by the same clock as the places.
const OLDEST: &str = "SELECT to_char((now() - interval '2 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
const NAMED: &str = "SELECT place FROM siteconf.object WHERE place = ANY ($1)";

/// Sweeps unless that was done in the last day.
pub(super) async fn sweep_daily(link: &Link, bucket: &Bucket) -> Result<()> {
    let claimed = link.read(CLAIM, &[]).await?;
    if !claimed.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(());
    }
    let removed = sweep(link, bucket).await?;
    if removed > 0 {
        tracing::info!(
            removed,
            "uploads that nobody committed were removed from the bucket"
        );
    }
    Ok(())
}

/// Sweeps. Gives how many places were removed.
pub(super) async fn sweep(link: &Link, bucket: &Bucket) -> Result<u64> {
    let rows = link.read(OLDEST, &[]).await?;
    let oldest = rows.first().map(|row| row.try_get(0)).transpose()?;
    let oldest: String = oldest.unwrap_or_default();
    let mut removed = 0;
    for day in bucket.days_before(&oldest).await? {
        let mut places = bucket.places_of_day(&day);
        while let Some(some) = places.next(PLACES_SWEPT_AT_ONCE).await? {
            let mut named = HashSet::new();
            for row in link.read(NAMED, &[&some]).await? {
                named.insert(row.try_get::<_, String>(0)?);
            }
            for place in some.iter().filter(|place| !named.contains(*place)) {
                bucket.remove(place).await?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}
