//! The other daemons over a database, and whether settings that must be the same are so: each daemon removes by its own
//! what is kept for a time, and reads large files from where it puts its own.

use std::iter::once;
use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::Row;

use super::PostgresStore;
use super::link::Link;
use crate::store::Result;
use crate::store::inspection::CommonSettings;

/// For how many seconds one that was heard of counts as there.
const COUNTS_FOR_S: i32 = 15;
/// How often others are looked for. By the first look a process that this one has replaced no longer counts.
const EVERY: Duration = Duration::from_secs(15);
/// Those that are there beside one, and tell their settings. What lies ahead was written by a clock that was wrong.
const BESIDE: &str = "
SELECT host, settings FROM siteconf.daemon
WHERE id <> $1 AND settings IS NOT NULL
    AND at > now() - make_interval(secs => $2::int4) AND at < now() + interval '1 minute'
ORDER BY host, began, id";
/// What the connection is told, beside what all are told that read: a look is not worth waiting for a lock.
pub(super) const SETTINGS: &str = "SET lock_timeout = '1s';";
/// Removes rows of daemons that have ended.
const FORGET: &str = "SELECT siteconf.forget_daemons_v1()";

impl PostgresStore {
    /// In what daemons that are there differ from these settings, in the words of [`CommonSettings::differences`].
    /// `None` where in nothing, as far as they tell.
    pub fn differing_settings(&self, own: &CommonSettings) -> Result<Option<String>> {
        // No daemon has the empty id: all rows are read, also a daemon's own, which agrees with it.
        let nobody = Vec::<u8>::new();
        let rows = self.read(BESIDE, [Box::new(nobody), Box::new(COUNTS_FOR_S)])?;
        differences(&rows, own)
    }
}

/// As [`PostgresStore::differing_settings`].
pub(super) async fn differing_settings(
    link: &Link,
    own: &CommonSettings,
) -> Result<Option<String>> {
    let nobody: &[u8] = &[];
    let rows = link.read(BESIDE, &[&nobody, &COUNTS_FOR_S]).await?;
    differences(&rows, own)
}

/// Tells the log when others begin to differ from the daemon of this row, which has these settings, when they do so in
/// another way, and when they no longer do. Has the rows of those removed that have ended. It
/// never returns.
pub(super) async fn watch(link: Link, id: [u8; 16], own: CommonSettings) {
    let id = id.as_slice();
    let mut told = None;
    loop {
        sleep(EVERY).await;
        let found = link.read(BESIDE, &[&id, &COUNTS_FOR_S]).await;
        // That the database is away is told elsewhere.
        let Ok(differ) = found.and_then(|rows| differences(&rows, &own)) else {
            continue;
        };
        match &differ {
            Some(how) if differ != told => tracing::error!(
                settings = %how,
                "daemons of this store differ in settings that must be the same; until they agree, no daemon removes \
                 anything by them"
            ),
            None if told.is_some() => {
                tracing::info!("the daemons of this store have the same settings again");
            }
            _ => {}
        }
        told = differ;
        if let Err(error) = link.read(FORGET, &[]).await {
            tracing::debug!(%error, "rows of daemons that have ended were not removed");
        }
    }
}

/// In what the daemons of these rows differ from settings.
fn differences(rows: &[Row], own: &CommonSettings) -> Result<Option<String>> {
    let mut others = Vec::with_capacity(rows.len());
    for row in rows {
        let (host, settings): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let settings = CommonSettings::decode(settings).known_to(own);
        others.push((format!("on {host}"), settings));
    }
    let others = others
        .iter()
        .map(|(place, settings)| (place.as_str(), settings));
    let all = once(("here", own)).chain(others);
    Ok(CommonSettings::differences(all))
}
