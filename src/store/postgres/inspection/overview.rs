//! What a database tells of its store at a glance.

use super::PostgresStore;
use crate::base::clock::Timestamp;
use crate::store::collection::Collectable as _;
use crate::store::inspection::{
    CommonSettings, DaemonSeen, Inspectable as _, Overview, Refusal, SchemaSteps, Standby,
};
use crate::store::postgres::row::unsigned;
use crate::store::{Result, StoreError};

const SCHEMA: &str = "SELECT schema, writer_min FROM siteconf.format";
/// Each writes its row every five seconds; what lies ahead was written by a clock that was wrong. Settings are those of
/// who was heard of since the last of them began.
const DAEMONS: &str = "
SELECT host, version, to_char(began AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), refuses,
    CASE WHEN at >= max(began) OVER () THEN settings END
FROM siteconf.daemon WHERE at > now() - interval '10 seconds' AND at < now() + interval '1 minute'
ORDER BY host, began, id";
/// For how many standbys commits wait, how many others copy the log, and how many of them are known to be waited
/// for. Who may not see that sees no state at all. A list of names without a number waits for one of them.
const STANDBY: &str = "
SELECT CASE WHEN names = '' THEN 0
        ELSE coalesce((regexp_match(names, '^\\s*(?:first\\M|any\\M)?\\s*(\\d+)\\s*\\(', 'i'))[1]::bigint, 1) END,
    count(pid) FILTER (WHERE sync_state IS NULL), count(pid) FILTER (WHERE sync_state IN ('sync', 'quorum'))
FROM (SELECT current_setting('synchronous_standby_names') AS names) asked
LEFT JOIN pg_stat_replication ON true GROUP BY names";
/// Whether the server is set to take no changes. `reset_val`, because a connection that only reads has set the value to
/// `on` for itself.
const READ_ONLY: &str =
    "SELECT reset_val = 'on' FROM pg_settings WHERE name = 'default_transaction_read_only'";
const BYTES: &str = "
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'siteconf'::regnamespace AND relkind = 'r'";
const CHECKSUMS: &str = "SELECT current_setting('data_checksums') = 'on'";

impl PostgresStore {
    pub(super) fn glance(&self) -> Overview {
        let standby = self.standby();
        let refusal = match &standby {
            Ok(standby) => refusal(*standby),
            Err(_) => None,
        };
        Overview {
            format: None,
            advice: None,
            schema: self.schema().map(Some),
            service: self.service(),
            build: None,
            kept_free: None,
            writes_refused: self
                .is(READ_ONLY)
                .map(|is_so| is_so.then(read_only).or(refusal)),
            standby: standby.map(Some),
            database_bytes: self.number(BYTES),
            unused_bytes: Ok(None),
            page_checksums: self.is(CHECKSUMS).map(Some),
            log_bytes: None,
            last_backup: Ok(None),
            last_collection: self.last_collection(),
        }
    }

    fn schema(&self) -> Result<SchemaSteps> {
        let rows = self.read(SCHEMA, [])?;
        let row = rows.first().ok_or(StoreError::Unavailable)?;
        Ok(SchemaSteps {
            step: row.try_get(0)?,
            writer_min: row.try_get(1)?,
        })
    }

    /// Those that gave a sign of life in the last ten seconds.
    pub(super) fn daemons(&self) -> Result<Vec<DaemonSeen>> {
        let mut seen = Vec::new();
        for row in self.read(DAEMONS, [])? {
            let began = Timestamp::parse(row.try_get(2)?);
            let settings: Option<&str> = row.try_get(4)?;
            seen.push(DaemonSeen {
                host: row.try_get(0)?,
                version: row.try_get(1)?,
                began: began.ok_or_else(|| {
                    StoreError::Engine("the row of a daemon holds no time".into())
                })?,
                refuses: row.try_get(3)?,
                settings: settings.map(CommonSettings::decode).unwrap_or_default(),
            });
        }
        Ok(seen)
    }

    fn standby(&self) -> Result<Standby> {
        let rows = self.read(STANDBY, [])?;
        let row = rows.first().ok_or(StoreError::Unavailable)?;
        let [wanted, hidden, following]: [i64; 3] =
            [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
        Ok(Standby {
            wanted: unsigned(wanted),
            following: (hidden == 0).then(|| unsigned(following)),
        })
    }

    /// The one truth value that a statement gives.
    fn is(&self, sql: &'static str) -> Result<bool> {
        let rows = self.read(sql, [])?;
        Ok(rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?)
    }
}

/// Why a server takes no changes that is set to take none.
fn read_only() -> Refusal {
    Refusal {
        until: "default_transaction_read_only is off",
        why: "the database takes none, as its setting default_transaction_read_only says"
            .to_owned(),
    }
}

/// Why a server takes no changes that waits for standbys which do not follow, as far as that may be seen.
fn refusal(standby: Standby) -> Option<Refusal> {
    let (wanted, following) = (standby.wanted, standby.following?);
    (following < wanted).then(|| Refusal {
        until: "enough synchronous standbys follow",
        why: format!(
            "at each commit the server waits for {wanted}, as its setting synchronous_standby_names says, and \
             {following} follow"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_refused_while_fewer_follow_than_commits_wait_for() {
        for (wanted, following, is_refused) in [
            (0, Some(0), false),
            (0, None, false),
            (1, Some(0), true),
            (1, Some(1), false),
            (1, None, false),
            (2, Some(1), true),
            (2, Some(3), false),
        ] {
            let standby = Standby { wanted, following };
            assert_eq!(refusal(standby).is_some(), is_refused, "{standby:?}");
        }
    }
}
