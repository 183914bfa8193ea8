//! What a database tells of its store at a glance.

use super::PostgresStore;
use crate::base::clock::Timestamp;
use crate::store::collection::Collectable as _;
use crate::store::inspection::{
    DaemonSeen, ObjectsHeld, Overview, Refusal, SchemaSteps, Service, Standby,
};
use crate::store::postgres::group::unsigned;
use crate::store::{Result, StoreError};

const SCHEMA: &str = "SELECT schema, writer_min FROM siteconf.format";
/// Each beats once a second.
const DAEMONS: &str = "
SELECT host, version, to_char(began AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')
FROM siteconf.daemon WHERE at > now() - interval '10 seconds' ORDER BY host, began, id";
/// Whether commits wait for a standby, how many others copy the log, and how many of them are known to be waited for.
/// Who may not see that sees no state at all.
const STANDBY: &str = "
SELECT current_setting('synchronous_standby_names') <> '', count(*) FILTER (WHERE sync_state IS NULL),
    count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))
FROM pg_stat_replication";
const BYTES: &str = "
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'siteconf'::regnamespace AND relkind = 'r'";
const CHECKSUMS: &str = "SELECT current_setting('data_checksums') = 'on'";
const OBJECTS: &str = "
SELECT id, size, place IS NOT NULL FROM siteconf.object WHERE id > $1 ORDER BY id LIMIT 1000";

impl PostgresStore {
    pub(super) fn glance(&self) -> Overview {
        let standby = self.standby();
        let lacks_standby = matches!(
            standby,
            Ok(Standby {
                asked: true,
                following: Some(0)
            })
        );
        let refusal = || {
            Refusal {
            until: "a synchronous standby follows",
            why: "the server waits for one at each commit, as its setting synchronous_standby_names says, \
                  and none is there"
                .to_owned(),
        }
        };
        Overview {
            format: None,
            advice: None,
            schema: self.schema().map(Some),
            service: self.daemons().map(Service::Daemons),
            // A connection to a server that takes no writes is not made at all.
            writes_refused: Ok(lacks_standby.then(refusal)),
            standby: standby.map(Some),
            database_bytes: self.number(BYTES),
            unused_bytes: Ok(None),
            page_checksums: self.page_checksums().map(Some),
            log_bytes: None,
            objects: self.objects_held(),
            large_files: self.bucket_in_use().map(drop),
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

    fn daemons(&self) -> Result<Vec<DaemonSeen>> {
        let mut seen = Vec::new();
        for row in self.read(DAEMONS, [])? {
            let began = Timestamp::parse(row.try_get(2)?);
            seen.push(DaemonSeen {
                host: row.try_get(0)?,
                version: row.try_get(1)?,
                began: began.ok_or_else(|| {
                    StoreError::Engine("the row of a daemon holds no time".into())
                })?,
            });
        }
        Ok(seen)
    }

    fn standby(&self) -> Result<Standby> {
        let rows = self.read(STANDBY, [])?;
        let row = rows.first().ok_or(StoreError::Unavailable)?;
        let (hidden, following): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok(Standby {
            asked: row.try_get(0)?,
            following: (hidden == 0).then(|| unsigned(following)),
        })
    }

    fn page_checksums(&self) -> Result<bool> {
        let rows = self.read(CHECKSUMS, [])?;
        Ok(rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?)
    }

    fn objects_held(&self) -> Result<ObjectsHeld> {
        let mut held = ObjectsHeld::default();
        let mut after: Vec<u8> = Vec::new();
        loop {
            let rows = self.read(OBJECTS, [Box::new(after)])?;
            let Some(last) = rows.last() else {
                return Ok(held);
            };
            after = last.try_get(0)?;
            for row in &rows {
                let bytes = unsigned(row.try_get(1)?);
                held.objects += 1;
                held.bytes = held.bytes.saturating_add(bytes);
                if row.try_get(2)? {
                    held.large_bytes = held.large_bytes.saturating_add(bytes);
                }
            }
        }
    }
}
