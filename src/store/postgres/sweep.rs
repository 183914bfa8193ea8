//! Rids the bucket of what no row names: uploads whose commit was refused, or never came, and what collections
//! have put into the trash.

use std::collections::HashSet;

use super::link::Link;
use crate::base::limits::PLACES_SWEPT_AT_ONCE;
use crate::store::Result;
use crate::store::bucket::Bucket;

/// True for one daemon a day.
const CLAIM: &str = "SELECT siteconf.claim_sweep_v1()";
/// The first day that is left alone, by the same clock as the places.
const OLDEST: &str = "SELECT to_char((now() - interval '2 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
/// Also what is in the trash: it has its own time.
pub(super) const NAMED: &str = "SELECT place FROM siteconf.object WHERE place = ANY ($1)
    UNION ALL SELECT place FROM siteconf.trash WHERE place = ANY ($1)";
/// What was in the trash for so many days, and whether a row names it all the same.
const OVER: &str = "SELECT t.place, EXISTS (SELECT FROM siteconf.object o WHERE o.place = t.place)
    FROM siteconf.trash t WHERE t.since < now() - make_interval(days => $1) AND t.place > $2
    ORDER BY t.place LIMIT $3";
const FORGET: &str = "SELECT siteconf.forget_trash_v1($1)";

/// Sweeps unless that was done in the last day, and empties the trash of what was there for so many days.
pub(super) async fn sweep_daily(link: &Link, bucket: &Bucket) -> Result<()> {
    let claimed = link.read(CLAIM, &[]).await?;
    if !claimed.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(());
    }
    let orphans = sweep(link, bucket).await?;
    let trashed = empty_trash(link, bucket).await?;
    if orphans + trashed > 0 {
        tracing::info!(
            orphans,
            trashed,
            "removed from the bucket: uploads that nobody committed, and files that no row has named for \
             long"
        );
    }
    Ok(())
}

/// Removes from the bucket what was in the trash for as long as it must, unless a row names it again. Gives how
/// many places these were.
pub(super) async fn empty_trash(link: &Link, bucket: &Bucket) -> Result<u64> {
    let mut removed = 0;
    let mut after = String::new();
    let most = i64::try_from(PLACES_SWEPT_AT_ONCE).unwrap_or(i64::MAX);
    let days = bucket.trash_days();
    loop {
        let rows = link.read(OVER, &[&days, &after, &most]).await?;
        let mut some: Vec<String> = Vec::new();
        for row in &rows {
            let place: String = row.try_get(0)?;
            if !row.try_get::<_, bool>(1)? {
                bucket.remove(&place).await?;
                removed += 1;
            }
            some.push(place);
        }
        let Some(last) = some.last() else {
            return Ok(removed);
        };
        after.clone_from(last);
        // Afterwards: what is still in the bucket must be known.
        link.read(FORGET, &[&some]).await?;
    }
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
            let some: Vec<_> = some.into_iter().map(|(place, _)| place).collect();
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
