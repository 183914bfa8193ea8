//! The engine over PostgreSQL, for any number of daemons over one database.
//!
//! Large blobs lie in a bucket where one is given; without one there is no place for them.

mod advice;
mod beat;
mod changes;
mod collection;
mod common_settings;
mod copying;
mod failure;
mod group;
mod inspection;
mod known;
mod lanes;
mod large;
mod link;
mod row;
mod schema;
mod server;
mod skew;
mod tls;
mod waiting;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::bucket::Bucket;
use super::database_url::DatabaseUrl;
use super::inspection::CommonSettings;
use super::remote::OwnRuntime;
use super::{
    Batch, CatchUp, Found, Lane, LargeBodies, Migrated, NewObject, Observe, Pin, Record, Result,
    Scan, Staging, Store, StoreError, StoredObject, Values, Version, Writes,
};
use crate::base::id::{BlobId, ObjectId};
use crate::base::limits::{INLINE_BYTES_MAX, UPLOAD_PART_BYTES};
use crate::base::may_block;
use crate::base::reads::Reads;
use beat::Beats;
use changes::Changes;
use collection::pin::TablePin;
use group::{Job, require_places};
use lanes::Lanes;
use link::Link;
use row::{id_of, record, signed, unsigned};
use server::Server;
use skew::Skew;
use waiting::WaitingReads;
use writer::Writer;

/// Threads that carry what goes to the database and comes from it. With two, four daemons on two cores made a tenth
/// fewer saves.
const THREADS: usize = 1;
/// Connections that read. What many callers ask goes over each without waiting for earlier answers.
const READERS: usize = 4;
/// What a connection is told that reads. A plan that was made for small tables must do for large ones.
const READER_SETTINGS: &str = "
SET statement_timeout = '10s';
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off; SET enable_bitmapscan = off;
";
/// What the connection of who only looks is told, too: the server refuses whatever would write.
const READ_ONLY: &str = "SET default_transaction_read_only = on;";
const OBJECT: &str =
    "SELECT id, kind, size, sha256, bytes, place FROM siteconf.object WHERE id = $1";
const OBJECTS: &str =
    "SELECT id, kind, size, sha256, bytes, place FROM siteconf.object WHERE id = ANY ($1)";
const OUTBOARD: &str = "SELECT outboard FROM siteconf.object WHERE id = $1";
const IDS: &str = "SELECT id FROM siteconf.object WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
/// From its end, where what an old snapshot keeps is not met.
const RECORD: &str = "SELECT key, version, value FROM siteconf.record WHERE key = $1
    ORDER BY version DESC LIMIT 1";

/// An open store. Other processes may have the same one open.
#[derive(Debug)]
pub struct PostgresStore {
    /// The first that is dropped: nobody waits for anything any more.
    runtime: OwnRuntime,
    /// `None` when opened for reading only.
    writer: Option<Writer>,
    /// True once it has written.
    wrote: AtomicBool,
    changes: Arc<Changes>,
    skew: Arc<Skew>,
    readers: Arc<[Link; READERS]>,
    next_reader: AtomicUsize,
    waiting: Arc<WaitingReads>,
    server: Arc<Server>,
    /// Where large blobs lie.
    bucket: Option<Arc<Bucket>>,
    lanes: Arc<Lanes>,
}

impl PostgresStore {
    /// Makes a store in a database that a URL names, as `libpq` reads it. One that has a store keeps it.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] where the database cannot be used.
    pub fn init(url: &str) -> Result<Found> {
        let server = Server::new(url)?;
        once(async move { server.init().await })
    }

    /// Takes the steps of the schema that a database lacks, so that this program opens its store.
    ///
    /// # Errors
    /// [`StoreError::Unfit`], [`StoreError::Underway`] beside another: nothing was done. Each step is taken or not, and
    /// why one was not [`Migrated::stopped`] says.
    pub fn migrate(url: &str) -> Result<Migrated> {
        let server = Server::new(url)?;
        once(async move { server.migrate().await })
    }

    /// Lets a role of the database do what a daemon does, and no more: read, and call what changes the store.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] without this role, or the right to give it this.
    pub fn grant(url: &str, role: &str) -> Result<()> {
        let (server, role) = (Server::new(url)?, role.to_owned());
        once(async move { server.grant(&role).await })
    }

    /// Opens the store in the database that a URL names, as `libpq` reads it.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] where the database cannot be used or has no store,
    /// [`StoreError::Unavailable`] where it does not answer.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_on(Server::new(url)?, true)
    }

    /// Opens it for reading only.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub fn open_read_only(url: &str) -> Result<Self> {
        Self::open_on(Server::new(url)?, false)
    }

    /// Opens it at an address whose password a file may hold, for reading only unless it `writes`.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub fn open_at(url: &DatabaseUrl, writes: bool) -> Result<Self> {
        Self::open_on(Server::at(url)?, writes)
    }

    fn open_on(server: Server, writes: bool) -> Result<Self> {
        let server = Arc::new(server);
        let runtime = OwnRuntime::start(THREADS, "store-postgres")?;
        let begin = {
            let server = Arc::clone(&server);
            async move { Changes::new(&server, writes).await }
        };
        let changes = Arc::new(runtime.wait(begin)?);
        drop(runtime.spawn(Arc::clone(&changes).follow()));
        let writer = writes.then(|| Writer::start(runtime.handle(), &server, &changes));
        let told = format!("{READER_SETTINGS}{}", if writes { "" } else { READ_ONLY });
        let readers = std::array::from_fn(|_| Link::new(&server, told.as_str()));
        Ok(Self {
            runtime,
            writer,
            wrote: AtomicBool::new(false),
            changes,
            skew: Arc::default(),
            readers: Arc::new(readers),
            next_reader: AtomicUsize::new(0),
            waiting: Arc::new(WaitingReads::new()),
            lanes: Arc::new(Lanes::new(&server)),
            server,
            bucket: None,
        })
    }

    /// Looks whether a URL names a database that could be reached; nothing is asked of it.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    pub fn check(url: &str) -> Result<()> {
        Server::new(url).map(drop)
    }

    /// Shows others every few seconds that this daemon is there, as long as the store is open. Where the database has
    /// committed nothing for 3 seconds, nothing is read until it has: another may have taken its place.
    /// The log is told meanwhile how far its clock is from ours, and in what others differ from these settings, or
    /// in those of the bucket.
    pub fn show_signs_of_life(&self, settings: CommonSettings) {
        if let Some(writer) = &self.writer {
            let settings = settings.and(large::common_settings(self.bucket.as_deref()));
            let beats = Beats::new(
                &self.server,
                &self.changes,
                writer.refused(),
                self.bucket.as_ref().map(|bucket| bucket.refused_uploads()),
                &self.skew,
                &settings,
            );
            // A connection of its own: what waits for a lock holds up all that is asked over the same one.
            let told = format!("{READER_SETTINGS}{}", common_settings::SETTINGS);
            let link = Link::new(&self.server, told).awaited_by_nobody();
            let watch = common_settings::watch(link, beats.id(), settings);
            drop(self.runtime.spawn(watch));
            drop(self.runtime.spawn(beats.run()));
        }
    }

    /// Tells the log what of the server is left to chance, and later of snapshots that are old, as long as the
    /// store is open.
    pub fn advise(&self) {
        let (server, readers) = (Arc::clone(&self.server), Arc::clone(&self.readers));
        let advice = async move { advice::advise(&server, &readers[0]).await };
        drop(self.runtime.spawn(advice));
    }

    /// How much room the database takes, in bytes.
    pub fn database_bytes(&self) -> Result<u64> {
        self.number("SELECT pg_database_size(current_database())")
    }

    /// The one number that a statement gives.
    fn number(&self, sql: &'static str) -> Result<u64> {
        let rows = self.read(sql, [])?;
        let number = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        Ok(unsigned(number))
    }

    /// The rows of a statement.
    fn read<const N: usize>(
        &self,
        sql: &'static str,
        params: [Box<dyn ToSql + Sync + Send>; N],
    ) -> Result<Vec<Row>> {
        let readers = Arc::clone(&self.readers);
        let first = self.next_reader.fetch_add(1, Ordering::Relaxed);
        self.changes.require()?;
        let (changes, waiting) = (Arc::clone(&self.changes), Arc::clone(&self.waiting));
        self.runtime.wait(async move {
            let params = params
                .each_ref()
                .map(|param| &**param as &(dyn ToSql + Sync));
            let (first, other) = (&readers[first % READERS], &readers[(first + 1) % READERS]);
            // Nobody waits longer than it is known that there will be no answer.
            tokio::select! {
                rows = waiting.wait_for(first.read_beside(Some(other), sql, &params)) => rows,
                refused = changes.refused() => Err(refused),
            }
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // When we have ended, every daemon has noticed what we wrote.
        if *self.wrote.get_mut() {
            self.settle();
        }
    }
}

impl Store for PostgresStore {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        let rows = self.read(OBJECT, [Box::new(id.as_bytes().to_vec())])?;
        let found = rows.first().map(|row| self.stored(row)).transpose()?;
        Ok(found.map(|(_, object)| object))
    }

    fn objects(&self, ids: &[ObjectId]) -> Result<Vec<Option<StoredObject>>> {
        let wanted: Vec<_> = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
        let rows = self.read(OBJECTS, [Box::new(wanted)])?;
        let found: HashMap<_, _> = rows
            .iter()
            .map(|row| self.stored(row))
            .collect::<Result<_>>()?;
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn outboard(&self, id: BlobId) -> Result<Option<Bytes>> {
        let rows = self.read(OUTBOARD, [Box::new(id.as_bytes().to_vec())])?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let kept: Option<&[u8]> = row.try_get(0)?;
        Ok(kept.map(Bytes::copy_from_slice))
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        // No id is longer.
        let to = [prefix, &[0xff; 33]].concat();
        let rows = self.read(
            IDS,
            [
                Box::new(prefix.to_vec()),
                Box::new(to),
                Box::new(signed(limit as u64)),
            ],
        )?;
        rows.iter().map(|row| id_of(row.try_get(0)?)).collect()
    }

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        let rows = self.read(RECORD, [Box::new(key.as_bytes().to_vec())])?;
        rows.first().map(|row| record(row, Values::All)).transpose()
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let (from, to) = scan.bounds();
        let sql = match (scan.values == Values::Unread, scan.descending) {
            (false, false) => {
                "SELECT key, version, value FROM siteconf.record
                 WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3"
            }
            (false, true) => {
                "SELECT key, version, value FROM siteconf.record
                 WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3"
            }
            (true, false) => {
                "SELECT key, version FROM siteconf.record
                 WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3"
            }
            (true, true) => {
                "SELECT key, version FROM siteconf.record
                 WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3"
            }
        };
        let limit = signed(scan.limit as u64);
        let rows = self.read(sql, [Box::new(from), Box::new(to), Box::new(limit)])?;
        rows.iter().map(|row| record(row, scan.values)).collect()
    }

    fn last_version(&self) -> Result<Version> {
        let readers = Arc::clone(&self.readers);
        self.runtime
            .wait(async move { changes::last_version(&readers[0]).await })
    }

    fn external_writes(&self) -> Result<Version> {
        if let Some(caught_up) = self.changes.catch_up(Reads::Bounded) {
            self.runtime.wait(caught_up)?;
        }
        Ok(self.changes.found())
    }

    fn catch_up(&self, reads: Reads) -> Option<CatchUp> {
        let caught_up = self.changes.catch_up(reads)?;
        Some(Box::pin(caught_up))
    }

    fn external_keys(&self, after: Version, most: usize) -> Result<Option<Vec<String>>> {
        Ok(self.changes.keys(after, most))
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.commit_observed(batch, Box::new(|_| ()))
    }

    fn commit_observed(&self, batch: Batch, observe: Observe) -> Result<Version> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        require_places(&batch)?;
        self.changes.require()?;
        batch.objects.iter().try_for_each(NewObject::publish)?;
        self.put_back_lost(&batch)?;
        let (outcome, receiver) = sync_channel(1);
        self.wrote.store(true, Ordering::Relaxed);
        writer.send(Job {
            batch,
            observe,
            outcome,
        })?;
        may_block(|| receiver.recv()).unwrap_or(Err(StoreError::Stopped))
    }

    fn settle(&self) {
        may_block(|| std::thread::sleep(changes::SETTLED_AFTER));
    }

    fn lane(&self, key: &str) -> Option<Lane> {
        self.changes.require().ok()?;
        let (lanes, key) = (Arc::clone(&self.lanes), key.to_owned());
        let lane = self.runtime.wait(async move { Ok(lanes.take(key).await) });
        Some(Box::new(lane.ok()??))
    }

    fn lane_if_shared(&self, key: &str) -> Option<Lane> {
        let is_shared = self.changes.are_of_others(key);
        is_shared.then(|| self.lane(key)).flatten()
    }

    fn pin(&self) -> Result<Box<dyn Pin>> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        let pin = TablePin::take(self.runtime.handle(), &self.server, writer.timeline())?;
        Ok(Box::new(pin))
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        match &self.bucket {
            Some(bucket) => Ok(Box::new(self.begin_upload(bucket)?)),
            None => Err(StoreError::TooLarge {
                bytes_max: INLINE_BYTES_MAX,
            }),
        }
    }

    fn staged_bytes_held(&self) -> u64 {
        UPLOAD_PART_BYTES as u64
    }

    fn writes(&self) -> Writes {
        let Some(writer) = &self.writer else {
            return Writes::Stopped;
        };
        match self.changes.require() {
            Ok(()) if self.server.reports().is_unreachable() => Writes::Away,
            Ok(()) => writer.refused().lasting(),
            Err(StoreError::WentBack) => Writes::WentBack,
            Err(_) => Writes::Away,
        }
    }

    fn has_writer(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_alive)
    }

    fn large_bodies(&self) -> LargeBodies {
        let bucket = self.bucket.as_ref();
        bucket.map_or(LargeBodies::Well, |bucket| bucket.state())
    }

    fn body_bytes_max(&self) -> u64 {
        if self.bucket.is_some() {
            u64::MAX
        } else {
            INLINE_BYTES_MAX as u64
        }
    }

    fn clock_ahead_ms(&self) -> Option<i64> {
        self.skew.ahead_ms()
    }
}

/// Does something on a runtime that ends with it.
fn once<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    OwnRuntime::start(THREADS, "store-postgres")?.wait(work)
}
