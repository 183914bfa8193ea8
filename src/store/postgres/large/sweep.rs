//! Rids the bucket of what no row names: uploads whose commit was refused, or never came, what collections have
//! put into the trash, and uploads that were never ended.

use std::collections::HashSet;

use crate::base::limits::PLACES_SWEPT_AT_ONCE;
use crate::store::Result;
use crate::store::bucket::Bucket;
use crate::store::postgres::link::Link;

/// True for one daemon a day.
const CLAIM: &str = "SELECT siteconf.claim_sweep_v1()";
/// The first day that is left alone, by the same clock as the places.
const OLDEST: &str = "SELECT to_char((now() - interval '2 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
/// Also what is in the trash: it has its own time.
pub(in crate::store::postgres) const NAMED: &str =
    "SELECT place FROM siteconf.object WHERE place = ANY ($1)
    UNION ALL SELECT place FROM siteconf.trash WHERE place = ANY ($1)";
/// What was in the trash for so many days, and whether a row names it all the same.
const OVER: &str = "SELECT t.place, EXISTS (SELECT FROM siteconf.object o WHERE o.place = t.place)
    FROM siteconf.trash t WHERE t.since < now() - make_interval(days => $1) AND t.place > $2
    ORDER BY t.place LIMIT $3";
const FORGET: &str = "SELECT siteconf.forget_trash_v1($1)";

/// What was removed from the bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swept {
    /// Places that no row has ever named.
    orphans: u64,
    /// Places that were in the trash for as long as they must.
    trashed: u64,
    /// Uploads that were given up.
    unfinished: u64,
}

impl Swept {
    /// All of it.
    pub(super) fn total(self) -> u64 {
        self.orphans + self.trashed + self.unfinished
    }
}

/// Sweeps unless that was done in the last day.
pub(super) async fn sweep_daily(link: &Link, bucket: &Bucket) -> Result<()> {
    let claimed = link.read(CLAIM, &[]).await?;
    if !claimed.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(());
    }
    let swept = sweep(link, bucket).await?;
    if swept.total() > 0 {
        let Swept {
            orphans,
            trashed,
            unfinished,
        } = swept;
        tracing::info!(
            orphans,
            trashed,
            unfinished,
            "removed from the bucket: uploads that nobody committed, files that no row has named for long, and \
             uploads that were never ended"
        );
    }
    Ok(())
}

/// Removes what is older than from the day before yesterday and nobody needs.
pub(super) async fn sweep(link: &Link, bucket: &Bucket) -> Result<Swept> {
    let rows = link.read(OLDEST, &[]).await?;
    let oldest = rows.first().map(|row| row.try_get(0)).transpose()?;
    let oldest: String = oldest.unwrap_or_default();
    Ok(Swept {
        orphans: remove_orphans(link, bucket, &oldest).await?,
        trashed: empty_trash(link, bucket).await?,
        unfinished: bucket.give_up_before(&oldest).await?,
    })
}

/// Removes from the bucket what was in the trash for as long as it must, unless a row names it again. Gives how
/// many places these were.
async fn empty_trash(link: &Link, bucket: &Bucket) -> Result<u64> {
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

/// Removes the places of days before this one that no row names. Gives how many these were.
async fn remove_orphans(link: &Link, bucket: &Bucket, oldest: &str) -> Result<u64> {
    let mut removed = 0;
    for day in bucket.days_before(oldest).await? {
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
