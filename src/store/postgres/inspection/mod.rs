//! Looking into a store in a database, also into a damaged one. Tables are read by their pages, which needs no
//! index: where the server cannot read a page, the others are read. Each statement is its own transaction, so no
//! snapshot is held that keeps the server from removing old rows.

mod catalog;
mod files;
mod overview;

use std::sync::Arc;

use tokio::time::Instant;
use tokio_postgres::Row;

use super::link::{CONNECTION_WAIT_MAX, Link, Session};
use super::row::{id_of, signed, unsigned};
use super::{PostgresStore, collection, record};
use crate::store::error::damaged;
use crate::store::inspection::row::sound_row;
use crate::store::inspection::{
    Inspectable, LargeFile, NoCollection, ObjectsHeld, Overview, Readable, Service,
};
use crate::store::{ObjectRow, Record, Result, StoreError, Values, Version};

/// A table, by what it holds: how many pages it has, and its rows in some of them.
struct Table {
    holds: &'static str,
    pages: &'static str,
    rows: &'static str,
    /// The same rows where what they are held against cannot be read.
    rows_alone: Option<&'static str>,
    /// Pages that are read at once: so much is in memory.
    pages_at_once: i64,
}

const OBJECTS: Table = Table {
    holds: "objects",
    pages: "SELECT pg_relation_size('siteconf.object') / current_setting('block_size')::bigint",
    rows:
        "SELECT id, kind::bigint, size, octet_length(sha256)::bigint, octet_length(bytes)::bigint,
               place IS NOT NULL
           FROM siteconf.object WHERE ctid >= $1::text::tid AND ctid < $2::text::tid",
    rows_alone: None,
    pages_at_once: 128,
};
/// A value may be much longer than its row, which names it. A record of a change that is still known must be the one
/// that the change wrote. What a copy has brought has the versions that it had.
const RECORDS: Table = Table {
    holds: "records",
    pages: "SELECT pg_relation_size('siteconf.record') / current_setting('block_size')::bigint",
    rows: "SELECT r.key, r.version, r.value,
               r.version > known.least AND NOT EXISTS (
                   SELECT FROM siteconf.change c WHERE c.version = r.version AND c.key = r.key)
           FROM siteconf.record r, (SELECT min(version) AS least FROM siteconf.change) known
           WHERE r.ctid >= $1::text::tid AND r.ctid < $2::text::tid",
    rows_alone: Some(
        "SELECT key, version, value, false FROM siteconf.record
         WHERE ctid >= $1::text::tid AND ctid < $2::text::tid",
    ),
    pages_at_once: 8,
};
const CHANGES: &str =
    "SELECT version FROM siteconf.change WHERE version > $1 ORDER BY version LIMIT 10000";
const KEYS: &str = "SELECT key, version FROM siteconf.record WHERE (key, version) > ($1, $2)
    ORDER BY key, version LIMIT 10000";
const COUNT: &str = "SELECT count(*) FROM siteconf.record WHERE key >= $1 AND key < $2";
/// Whoever looks has a share of the lock of collections.
const SHARE_LOCK: &str = "SELECT pg_try_advisory_lock_shared(1936290915, 2)";
/// Most gaps that are told, and most records.
const TOLD_MAX: usize = 100;

/// The connection that has a share of the lock of collections, which ends with it.
#[derive(Debug)]
struct Share {
    _session: Arc<Session>,
}

impl Inspectable for PostgresStore {
    fn survey_objects(&self, visit: &mut dyn FnMut(Readable<ObjectRow>)) -> Result<()> {
        self.survey(&OBJECTS, object_row, visit)
    }

    fn survey_records(&self, visit: &mut dyn FnMut(Readable<Record>)) -> Result<()> {
        self.survey(&RECORDS, record_row, visit)
    }

    fn survey_files(&self, visit: &mut dyn FnMut(Readable<LargeFile>)) -> Result<()> {
        self.survey_bucket(visit)
    }

    fn require_files(&self) -> Result<()> {
        self.bucket_in_use().map(drop)
    }

    /// Changes that are not there, records that are there twice, and tables, indexes and functions that are not
    /// as they were made.
    fn examine(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for part in [self.gaps(), self.twice(), self.altered()] {
            match part {
                Ok(faults) => found.extend(faults),
                Err(outage) if outage.is_outage() => return Err(outage),
                Err(fault) => found.push(fault.to_string()),
            }
        }
        Ok(found
            .into_iter()
            .map(|fault| format!("database: {fault}"))
            .collect())
    }

    /// Nothing that outlives the database knows of them.
    fn lost_commits(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn count_records(&self, prefix: &str) -> Result<u64> {
        // No text holds the byte 0xff: it ends what the prefix covers.
        self.count_between(prefix.as_bytes().to_vec(), 0xff)
    }

    fn hold_off_collections(&self) -> Result<NoCollection> {
        let link = Link::new(&self.server, collection::COLLECTION_SETTINGS);
        let (session, is_ours) = self.runtime.wait(async move {
            let session = link.session(Instant::now() + CONNECTION_WAIT_MAX).await?;
            let rows = session.query(SHARE_LOCK, &[]).await?;
            let is_ours = rows.first().map(|row| row.try_get(0)).transpose()?;
            Ok((session, is_ours.unwrap_or(false)))
        })?;
        if !is_ours {
            return Err(StoreError::Underway {
                what: "a collection",
            });
        }
        Ok(Box::new(Share { _session: session }))
    }

    fn overview(&self) -> Overview {
        self.glance()
    }

    fn objects_held(&self) -> Result<ObjectsHeld> {
        let mut held = ObjectsHeld::default();
        // What cannot be read a check tells.
        self.survey_objects(&mut |row| {
            if let Ok(ObjectRow { size, inline, .. }) = row {
                held.objects += 1;
                held.bytes = held.bytes.saturating_add(size);
                let large = if inline { 0 } else { size };
                held.large_bytes = held.large_bytes.saturating_add(large);
            }
        })?;
        Ok(held)
    }

    fn service(&self) -> Result<Service> {
        self.daemons().map(Service::Daemons)
    }
}

impl PostgresStore {
    fn survey<T>(
        &self,
        table: &Table,
        decode: impl Fn(&Row) -> Result<Readable<T>>,
        visit: &mut dyn FnMut(Readable<T>),
    ) -> Result<()> {
        let rows = self.read(table.pages, [])?;
        let pages: i64 = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        let (mut from, mut some) = (0, table.pages_at_once);
        while from < pages {
            let to = from + some;
            let between = |rows| {
                let [first, beyond] = [from, to].map(|page| format!("({page},0)"));
                self.read(rows, [Box::new(first), Box::new(beyond)])
            };
            let mut found = between(table.rows);
            if let (1, Err(StoreError::DamagedEngine { .. } | StoreError::Engine(_)), Some(alone)) =
                (some, &found, table.rows_alone)
            {
                found = between(alone);
            }
            let holds = table.holds;
            match found {
                Ok(rows) => {
                    for row in &rows {
                        let pages = format!("a row in pages {from} to {}", to - 1);
                        let sound = decode(row);
                        visit(sound.unwrap_or_else(|e| Err(format!("{holds}: {pages}: {e}"))));
                    }
                    from = to;
                    some = table.pages_at_once.min(2 * some);
                }
                // One of these pages, of which each is read by itself then.
                Err(StoreError::DamagedEngine { .. } | StoreError::Engine(_)) if some > 1 => {
                    some = 1;
                }
                Err(error @ (StoreError::DamagedEngine { .. } | StoreError::Engine(_))) => {
                    visit(Err(format!("{holds}: page {from} cannot be read: {error}")));
                    from = to;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Changes that are not there: versions have no gaps, and only the oldest are removed.
    fn gaps(&self) -> Result<Vec<String>> {
        let mut gaps = Vec::new();
        let mut last: Option<Version> = None;
        loop {
            let after = last.map_or(-1, signed);
            let rows = self.read(CHANGES, [Box::new(after)])?;
            if rows.is_empty() {
                return Ok(gaps);
            }
            for row in &rows {
                let version = unsigned(row.try_get(0)?);
                if let Some(last) = last
                    && version > last + 1
                    && gaps.len() < TOLD_MAX
                {
                    let (from, to) = (last + 1, version - 1);
                    gaps.push(format!("changes {from} to {to} are not there"));
                }
                last = Some(version);
            }
        }
    }

    /// Records from a key on, to before that key with one byte more.
    fn count_between(&self, key: Vec<u8>, more: u8) -> Result<u64> {
        let end = [key.as_slice(), &[more]].concat();
        let rows = self.read(COUNT, [Box::new(key), Box::new(end)])?;
        let count = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        Ok(unsigned(count))
    }

    /// Records that are there twice, which no index forbids: whoever writes one removes what was there.
    fn twice(&self) -> Result<Vec<String>> {
        let mut twice = Vec::new();
        let mut last = (Vec::new(), -1_i64);
        loop {
            let (key, version) = last.clone();
            let rows = self.read(KEYS, [Box::new(key), Box::new(version)])?;
            if rows.is_empty() {
                return Ok(twice);
            }
            for row in &rows {
                let found: (Vec<u8>, i64) = (row.try_get(0)?, row.try_get(1)?);
                // Between two pages it may have been written anew.
                if found.0 == last.0
                    && twice.len() < TOLD_MAX
                    && self.count_between(found.0.clone(), 0)? > 1
                {
                    let name = String::from_utf8_lossy(&found.0);
                    twice.push(format!("record \"{name}\" is there twice"));
                }
                last = found;
            }
        }
    }
}

fn object_row(row: &Row) -> Result<Readable<ObjectRow>> {
    let id = id_of(row.try_get(0)?)?;
    let [kind, size] = [row.try_get(1)?, row.try_get(2)?];
    let [sha256, inline] = [row.try_get(3)?, row.try_get(4)?];
    let has_place: bool = row.try_get(5)?;
    let sound = sound_row(id, kind, size, sha256, inline).and_then(|sound| {
        let fault = match (sound.inline, has_place) {
            (true, true) => "its row has bytes and the place of a file",
            (false, false) => "its row has neither bytes nor the place of a file",
            _ => return Ok(sound),
        };
        Err(damaged(sound.kind, id, fault))
    });
    Ok(sound.map_err(|error| error.to_string()))
}

fn record_row(row: &Row) -> Result<Readable<Record>> {
    let found = record(row, Values::All)?;
    if row.try_get(3)? {
        return Ok(Err(format!(
            "record \"{}\" is damaged: no change that is known has written its version {}",
            found.key, found.version
        )));
    }
    Ok(Ok(Arc::unwrap_or_clone(found)))
}
