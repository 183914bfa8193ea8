//! What the log is told of a server that keeps what it acknowledges, and could do better: once at the start of a
//! daemon, and of old snapshots as long as there is one.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::changes::LEASE;
use super::link::Link;
use super::server::Server;
use crate::base::clock::{Clock, SystemClock};
use crate::store::Result;

/// Whether commits wait for a standby, whether a server that crashed starts again by itself, and whether pages
/// have checksums.
const SETTINGS_QUERY: &str = "
SELECT current_setting('synchronous_standby_names') <> '',
    current_setting('restart_after_crash')::bool, current_setting('data_checksums') = 'on'";
/// The oldest transaction that somebody's snapshot, a prepared transaction or a replication slot keeps from
/// being forgotten, that of a standby's queries among them. Those of other databases do not matter.
const OLDEST: &str = include_str!("oldest.sql");
/// How often it is looked for old snapshots.
const EVERY: Duration = Duration::from_mins(1);
/// How often the way to the database is measured.
const WAYS: u32 = 5;
/// A snapshot is old after so many milliseconds.
const OLD_MS: i64 = 10 * 60 * 1000;
/// So many milliseconds later it is told again.
const AGAIN_MS: i64 = 60 * 60 * 1000;

/// Tells what the way to the server and its settings leave to chance, then looks for old snapshots, without end.
pub(super) async fn advise(server: &Server, link: &Link) {
    if server.is_in_the_clear() {
        tracing::warn!(
            "connections to the database on another machine are not encrypted, as sslmode=disable says"
        );
    }
    if let Some(way) = way_to_it(link).await.ok().filter(|way| *way >= LEASE) {
        tracing::warn!(
            ms = u64::try_from(way.as_millis()).unwrap_or(u64::MAX),
            "the database is far away: the way there and back takes longer than what memory has of it counts as new \
             (20 ms), so that each request waits for it several times"
        );
    }
    if let Err(error) = tell_settings(link).await {
        tracing::warn!(%error, "the settings of the database cannot be read");
    }
    let mut oldest = Oldest::default();
    loop {
        match link.read(OLDEST, &[]).await {
            Ok(rows) => {
                let kept = rows.first().and_then(|row| row.try_get(0).ok());
                if let Some(minutes) = oldest.note(kept, SystemClock.uptime_ms()) {
                    tracing::warn!(
                        minutes,
                        "a snapshot of the database is old: until it ends the server keeps all versions of \
                         the rows that are written, and reads become slower; look into pg_stat_activity, \
                         pg_prepared_xacts and pg_replication_slots for who holds it"
                    );
                }
            }
            Err(error) => tracing::warn!(%error, "snapshots of the database cannot be read"),
        }
        sleep(EVERY).await;
    }
}

/// How long the way there and back takes, the shortest of some.
async fn way_to_it(link: &Link) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..WAYS {
        let began = Instant::now();
        link.read("SELECT 1", &[]).await?;
        shortest = shortest.min(began.elapsed());
    }
    Ok(shortest)
}

async fn tell_settings(link: &Link) -> Result<()> {
    let rows = link.read(SETTINGS_QUERY, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(());
    };
    let (waits, restarts, has_checksums) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    for advice in advice(waits, restarts, has_checksums) {
        tracing::warn!("{advice}");
    }
    Ok(())
}

/// A sentence for each thing that is left to chance.
fn advice(waits: bool, restarts: bool, has_checksums: bool) -> impl Iterator<Item = &'static str> {
    let of_loss = "the database waits for no standby at its commits: if its disk is lost, so is what was \
                   acknowledged since the last backup (synchronous_standby_names)";
    let of_restart = "a primary that crashes starts again by itself, and may show what its standby does not \
                      have yet: have the standby take its place instead (restart_after_crash = off)";
    let of_damage = "the pages of the database have no checksums: what its disk changes in a record may not \
                     be found (pg_checksums --enable)";
    [
        (!waits).then_some(of_loss),
        (waits && restarts).then_some(of_restart),
        (!has_checksums).then_some(of_damage),
    ]
    .into_iter()
    .flatten()
}

/// Since when the same transaction has been the oldest that is kept. Each second one is written, so that it is
/// never the same for long unless somebody holds it.
#[derive(Debug, Default)]
struct Oldest {
    kept: Option<String>,
    since_ms: i64,
    told_ms: Option<i64>,
}

impl Oldest {
    /// Takes what is kept at this moment, by a clock of milliseconds. Gives for how many minutes, for each that is old
    /// once, and each hour as long as it is kept.
    fn note(&mut self, kept: Option<String>, now_ms: i64) -> Option<i64> {
        if kept != self.kept || kept.is_none() {
            *self = Self {
                kept,
                since_ms: now_ms,
                told_ms: None,
            };
            return None;
        }
        let for_ms = now_ms - self.since_ms;
        let is_told = self.told_ms.is_some_and(|told| now_ms - told < AGAIN_MS);
        if is_told || for_ms < OLD_MS {
            return None;
        }
        self.told_ms = Some(now_ms);
        Some(for_ms / 60_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_old_snapshot_is_told_once_an_hour() {
        let mut oldest = Oldest::default();
        let minute = 60_000;
        for (at, kept, told) in [
            (0, Some("7"), None),
            (9, Some("7"), None),
            (10, Some("7"), Some(10)),
            (11, Some("7"), None),
            (12, Some("9"), None),
            (21, Some("9"), None),
            (22, None, None),
            (40, None, None),
            (41, Some("9"), None),
            (52, Some("9"), Some(11)),
            (111, Some("9"), None),
            (112, Some("9"), Some(71)),
            (113, Some("9"), None),
            (172, Some("9"), Some(131)),
            (173, Some("7"), None),
            (183, Some("7"), Some(10)),
        ] {
            let noted = oldest.note(kept.map(str::to_owned), at * minute);
            assert_eq!(noted, told, "minute {at}");
        }
    }

    #[test]
    fn nothing_is_said_of_a_server_that_leaves_nothing_to_chance() {
        let about = |waits, restarts, has_checksums| {
            advice(waits, restarts, has_checksums)
                .map(|said| said.rsplit_once('(').map_or("", |(_, setting)| setting))
                .collect::<Vec<_>>()
        };
        assert!(about(true, false, true).is_empty());
        assert_eq!(about(true, true, true), ["restart_after_crash = off)"]);
        assert_eq!(
            about(false, true, false),
            ["synchronous_standby_names)", "pg_checksums --enable)"]
        );
    }
}
