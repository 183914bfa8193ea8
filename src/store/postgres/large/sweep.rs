//! Rids the bucket of what no row names: uploads whose commit was refused, or never came, and what collections have
//! put into the trash, both after their time there, and of uploads that were never ended.

use super::common_settings;
use crate::base::clock::{Clock, Timestamp, ahead_ms, told_of_skew};
use crate::base::limits::PLACES_SWEPT_AT_ONCE;
use crate::store::bucket::Bucket;
use crate::store::inspection::CommonSettings;
use crate::store::postgres::common_settings::differing_settings;
use crate::store::postgres::link::Link;
use crate::store::{Result, StoreError};

/// The clock by which the rest is done, in milliseconds.
const NOW_MS: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/// True for one daemon a day.
const CLAIM: &str = "SELECT siteconf.claim_sweep_v2()";
/// The first day that is left alone, by the same clock as the places.
const OLDEST: &str = "SELECT to_char((now() - interval '2 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
/// Puts those that no row names into the trash.
const TRASH: &str = "SELECT siteconf.trash_v1($1)";
/// Also what is in the trash: it has its own time.
pub(in crate::store::postgres) const NAMED: &str =
    "SELECT place FROM siteconf.object WHERE place = ANY ($1)
    UNION ALL SELECT place FROM siteconf.trash WHERE place = ANY ($1)";
/// What was in the trash for so many days, and whether a row names it all the same.
const OVER: &str = "SELECT t.place, EXISTS (SELECT FROM siteconf.object o WHERE o.place = t.place)
    FROM siteconf.trash t WHERE t.since < now() - make_interval(days => $1) AND t.place > $2
    ORDER BY t.place LIMIT $3";
const FORGET: &str = "SELECT siteconf.forget_trash_v1($1)";
/// Files that the bucket does not let go, of which each is told: after so many more would be the same.
const REFUSALS_MAX: u32 = 100;

/// How often a day a sweep is tried that fails: what lasts longer is for the next day.
const TRIES_MAX: u32 = 4;

/// What was done to the bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swept {
    /// Places that no row names, which are now in the trash.
    orphans: u64,
    /// Places that were in the trash for as long as they must, and are removed.
    trashed: u64,
    /// Uploads that were given up.
    unfinished: u64,
}

impl Swept {
    /// All that was removed.
    pub(super) fn removed(self) -> u64 {
        self.trashed + self.unfinished
    }
}

/// Sweeps unless that was done in the last day, or other daemons have another bucket, or keep for another time what is
/// in it. The day is this daemon's then, and no other one tries: a sweep that fails has so many tries left.
///
/// # Errors
/// As [`sweep`].
pub(super) async fn sweep_daily(
    link: &Link,
    bucket: &Bucket,
    clock: &dyn Clock,
    tries_left: &mut u32,
) -> Result<()> {
    require_time(link, clock).await?;
    let own = common_settings(Some(bucket));
    if differing_settings(link, &own).await?.is_some() {
        return Ok(());
    }
    let claimed = link.read(CLAIM, &[]).await?;
    if claimed.first().map_or(Ok(false), |row| row.try_get(0))? {
        *tries_left = TRIES_MAX;
    }
    if *tries_left == 0 {
        return Ok(());
    }
    *tries_left -= 1;
    let swept = sweep(link, bucket, clock, Some(&own)).await?;
    *tries_left = 0;
    if swept.orphans > 0 {
        tracing::info!(
            files = swept.orphans,
            days = bucket.trash_days(),
            "found in the bucket, and removed after these days: files that the database does not name, of saves that \
             were never committed, or made after the backup from which it was restored"
        );
    }
    if swept.removed() > 0 {
        tracing::info!(
            files = swept.trashed,
            unfinished = swept.unfinished,
            "removed from the bucket: files that the database has not named for long, and uploads that were never ended"
        );
    }
    Ok(())
}

/// Removes what was in the trash for its time, and uploads that are older than from the day before yesterday, and puts
/// into the trash what is as old and no row names. What goes wrong with one of these keeps none of the others: what
/// needs no list comes first. Where settings are given, it ends when a daemon comes that has others.
///
/// # Errors
/// [`StoreError::Unfit`] while the database's clock, which decides what is old, differs from this one, and where it
/// ended because other daemons have other settings.
pub(super) async fn sweep(
    link: &Link,
    bucket: &Bucket,
    clock: &dyn Clock,
    common: Option<&CommonSettings>,
) -> Result<Swept> {
    require_time(link, clock).await?;
    let rows = link.read(OLDEST, &[]).await?;
    let oldest = rows.first().map(|row| row.try_get(0)).transpose()?;
    let oldest: String = oldest.unwrap_or_default();
    let trashed = empty_trash(link, bucket, common).await;
    let unfinished = match require_common_settings(link, common).await {
        Ok(()) => bucket.give_up_before(&oldest).await,
        Err(refused) => Err(refused),
    };
    let orphans = trash_orphans(link, bucket, &oldest, common).await;
    Ok(Swept {
        orphans: orphans?,
        trashed: trashed?,
        unfinished: unfinished?,
    })
}

/// Refuses to go by a clock that is doubted now: what is removed a year too early is gone. What came into the trash by
/// a clock that was behind then is not known by that.
async fn require_time(link: &Link, clock: &dyn Clock) -> Result<()> {
    let before = clock.now();
    let rows = link.read(NOW_MS, &[]).await?;
    let told_ms: i64 = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
    let ahead_ms = ahead_ms(before, Timestamp::from_ms(told_ms), clock.now());
    if told_of_skew(ahead_ms).is_none() {
        return Ok(());
    }
    let way = if ahead_ms > 0 { "ahead" } else { "behind" };
    Err(StoreError::Unfit {
        reason: format!(
            "nothing is removed from the bucket by its clock while that of this machine is {way}; set both by NTP"
        ),
    })
}

/// Refuses to go on where a daemon that is there has other settings than these.
async fn require_common_settings(link: &Link, common: Option<&CommonSettings>) -> Result<()> {
    let Some(own) = common else {
        return Ok(());
    };
    match differing_settings(link, own).await? {
        None => Ok(()),
        Some(how) => Err(StoreError::Unfit {
            reason: format!(
                "nothing more is removed from the bucket until the daemons agree: {how}"
            ),
        }),
    }
}

/// Removes from the bucket what was in the trash for as long as it must, unless a row names it again. Gives how
/// many places these were. What the bucket does not let go, a file that is locked there for one, stays in the trash.
async fn empty_trash(link: &Link, bucket: &Bucket, common: Option<&CommonSettings>) -> Result<u64> {
    let mut removed = 0;
    let (mut refusals, mut refused) = (0, None);
    let mut after = String::new();
    let most = i64::try_from(PLACES_SWEPT_AT_ONCE).unwrap_or(i64::MAX);
    let days = bucket.trash_days();
    loop {
        require_common_settings(link, common).await?;
        let rows = link.read(OVER, &[&days, &after, &most]).await?;
        let mut over: Vec<String> = Vec::new();
        for row in &rows {
            after = row.try_get(0)?;
            if !row.try_get::<_, bool>(1)? {
                if let Err(error) = bucket.remove(&after).await {
                    bucket.require_answers()?;
                    refusals += 1;
                    if refusals == REFUSALS_MAX {
                        return Err(error);
                    }
                    refused = Some(error);
                    continue;
                }
                removed += 1;
            }
            over.push(after.clone());
        }
        if rows.is_empty() {
            return refused.map_or(Ok(removed), Err);
        }
        // Afterwards: what is still in the bucket must be known.
        link.read(FORGET, &[&over]).await?;
    }
}

/// Puts the places of days before this one that no row names into the trash. Gives how many are new there.
async fn trash_orphans(
    link: &Link,
    bucket: &Bucket,
    oldest: &str,
    common: Option<&CommonSettings>,
) -> Result<u64> {
    let mut found = 0;
    for day in bucket.days_before(oldest).await? {
        let mut places = bucket.places_of_day(&day);
        while let Some(some) = places.next(PLACES_SWEPT_AT_ONCE).await? {
            require_common_settings(link, common).await?;
            let some: Vec<_> = some.into_iter().map(|(place, _)| place).collect();
            for row in link.read(TRASH, &[&some]).await? {
                found += row.try_get::<_, i64>(0)?.unsigned_abs();
            }
        }
    }
    Ok(found)
}
