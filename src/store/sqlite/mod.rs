//! The embedded engine: one SQLite database, and files for large blobs.

pub mod backup;
mod blob_files;
mod checkpoint;
mod collection;
mod copying;
mod data_folder;
mod external_writes;
mod failure;
mod group;
mod high_water;
mod inspection;
mod object_index;
mod readers;
mod recovery;
mod room;
mod salvage;
mod schema;
mod tallies;
pub mod upgrade;
mod writability;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::Error as _;

pub use collection::{Collection, Marks};
pub use data_folder::{CollectionLock, Folder, Format, Lock, is_part, write_durably};
pub use tallies::{ObjectCensus, ObjectCount, Tallies};

use super::error::damaged;
use super::inspection::row::{kind_of, size_of};
use super::{
    Batch, Body, ExternalSigns, NewObject, Observe, Pin, Record, Result, Scan, Staging, Store,
    StoreError, StoredObject, Values, Version, Writes,
};
use crate::base::digest::record_checksum;
use crate::base::id::{BlobId, ObjectId, Sha256};
use crate::base::may_block;
use crate::base::threads::joined::Joined;
use collection::pin::FilePin;
use collection::state::State;
use external_writes::ExternalWrites;
use object_index::ObjectIndex;
use readers::Readers;
use writability::Refusal;
use writer::Writer;

/// A store in a folder. One process, the daemon, holds the folder's lock; others may read and write
/// beside it.
#[derive(Debug)]
pub struct SqliteStore {
    folder: Folder,
    /// Before the writer: the connection that closes last copies the log into the database and removes
    /// it, and a reading one cannot.
    readers: Readers,
    /// `None` when opened for reading only: then nothing is kept that a write could make wrong.
    /// Before the writer, too.
    external: Option<Arc<ExternalWrites>>,
    index: Arc<ObjectIndex>,
    /// `None` when opened for reading only. Before the lock, so that it has ended when the next daemon
    /// may start.
    writer: Option<Writer>,
    /// True once it has written.
    wrote: AtomicBool,
    tallies: Arc<Tallies>,
    /// Held by the daemon.
    lock: Option<Lock>,
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // When we have ended, a daemon has noticed what we wrote.
        self.settle();
    }
}

impl SqliteStore {
    /// Opens or makes the store as the daemon: takes its lock and sweeps what a crash left.
    pub fn open_locked(root: &Path) -> Result<Self> {
        let (folder, lock) = Folder::open_or_create(root)?;
        Self::with_lock(folder, lock)
    }

    /// Opens an existing store beside a daemon that may be running.
    pub fn open_beside(root: &Path) -> Result<Self> {
        let folder = Folder::open_to_write(root)?;
        // Without a daemon, which has settled the log, this process does. It holds the daemon's lock for
        // as long as that takes.
        let is_unsettled = folder.has_log() || folder.stopped_by()?.is_some();
        let alone = match is_unsettled.then(|| Lock::take(root)).transpose() {
            Err(StoreError::Locked { .. }) => None,
            alone => alone?,
        };
        let store = Self::with_writer(folder, alone.is_some())?;
        match &store.writer {
            // Without the lock it must not be tried again: a daemon may start.
            Some(writer) if !writer.writability().is_settled() => {
                let refusal = writer.writability().refusal().unwrap_or(Refusal::Busy);
                Err(refusal.to_error())
            }
            _ => Ok(store),
        }
    }

    /// Opens an existing store for reading only.
    pub fn open_read_only(root: &Path) -> Result<Self> {
        let folder = Folder::open(root)?;
        Ok(Self {
            readers: Readers::new(&folder),
            folder,
            writer: None,
            external: None,
            index: Arc::default(),
            wrote: AtomicBool::new(false),
            tallies: Arc::default(),
            lock: None,
        })
    }

    /// The store of whoever holds the folder's lock, which it keeps; what a crash left is swept.
    fn with_lock(folder: Folder, lock: Lock) -> Result<Self> {
        let mut store = Self::with_writer(folder, true)?;
        store.lock = Some(lock);
        let swept = blob_files::sweep_incoming(&store.folder, |id| store.has_row(id));
        swept.map_err(|e| StoreError::io("sweeping abandoned uploads", e))?;
        Ok(store)
    }

    fn with_writer(folder: Folder, settles: bool) -> Result<Self> {
        // The writer first: it makes the tables.
        let index = Arc::new(ObjectIndex::default());
        let tallies = Arc::default();
        let (writer, external) = Writer::start(&folder, &index, settles, &tallies)?;
        Ok(Self {
            readers: Readers::new(&folder),
            folder,
            writer: Some(writer),
            external: Some(external),
            index,
            wrote: AtomicBool::new(false),
            tallies,
            lock: None,
        })
    }

    /// From now on what adds content is refused while less is free on the disk, in bytes; 0 takes all
    /// that the disk has room for. Of the daemon others can see it.
    pub fn keep_free(&self, bytes: u64) {
        if let Some(writer) = &self.writer {
            writer.writability().free_room().keep(bytes);
        }
        if let Some(lock) = &self.lock
            && let Err(error) = lock.note_kept_free(bytes)
        {
            tracing::warn!(%error, "the room that is kept free cannot be noted for \"siteconf status\"");
        }
    }

    /// The folder it lies in.
    pub fn data_folder(&self) -> &Folder {
        &self.folder
    }

    /// What `get` finds in the row of an object.
    fn in_row<T>(
        &self,
        db: &Connection,
        id: ObjectId,
        mut get: impl FnMut(i64) -> rusqlite::Result<Option<T>>,
    ) -> Result<Option<T>> {
        let Some(row) = self.index.find(db, id)? else {
            return Ok(None);
        };
        if let Some(found) = get(row)? {
            return Ok(Some(found));
        }
        // It was collected, and may have come again in another row.
        self.index.catch_up(db)?;
        let again = self.index.find_known(db, id)?;
        Ok(again.filter(|again| *again != row).map_or(Ok(None), get)?)
    }

    /// True if there is an object with this id.
    pub fn has_row(&self, id: ObjectId) -> Result<bool> {
        self.read(|db| {
            let mut find = db.prepare_cached("SELECT 1 FROM object WHERE seq = ?1 AND id = ?2")?;
            let found = self.in_row(db, id, |row| {
                Ok(find.exists(params![row, id.as_bytes()])?.then_some(()))
            });
            Ok(found?.is_some())
        })
    }

    /// Lends a connection that reads.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.tallies.reads.up();
        may_block(|| self.readers.lend(work))
    }
}

impl Store for SqliteStore {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        let row = self.read(|db| {
            let mut get = db.prepare_cached(
                "SELECT kind, size, sha256, bytes FROM object WHERE seq = ?1 AND id = ?2",
            )?;
            self.in_row(db, id, |seq| {
                let row = get.query_one(params![seq, id.as_bytes()], |row| {
                    let sha256: Option<Vec<u8>> = row.get(2)?;
                    let bytes: Option<Vec<u8>> = row.get(3)?;
                    Ok((row.get(0)?, row.get(1)?, sha256, bytes))
                });
                row.optional()
            })
        })?;
        let Some((kind, size, sha256, bytes)) = row else {
            return Ok(None);
        };
        let kind = kind_of(kind, id)?;
        let size = size_of(size, kind, id)?;
        let sha256 = sha256.map(|bytes| <[u8; 32]>::try_from(bytes).map(Sha256::from_bytes));
        let sha256 = sha256
            .transpose()
            .map_err(|_| damaged(kind, id, "its row's SHA-256 has another length"))?;
        let body = match bytes {
            Some(bytes) => Body::Inline(bytes.into()),
            None => match blob_files::open_blob(&self.folder, id, size) {
                Ok(file) => Body::Large(Arc::new(file)),
                // It was collected meanwhile.
                Err(_) if !self.has_row(id)? => return Ok(None),
                Err(e) => {
                    self.readers.require_folder()?;
                    return Err(blob_files::not_opened(kind, id, e));
                }
            },
        };
        Ok(Some(StoredObject {
            kind,
            size,
            sha256,
            body,
        }))
    }

    fn outboard(&self, id: BlobId) -> Result<Option<Bytes>> {
        self.read(|db| {
            let mut get = db.prepare_cached("SELECT pieces FROM outboard WHERE seq = ?1")?;
            let pieces: Option<Vec<u8>> = self.in_row(db, id.into(), |seq| {
                get.query_one([seq], |row| row.get(0)).optional()
            })?;
            Ok(pieces.map(Bytes::from))
        })
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.read(|db| Ok(self.index.with_prefix(db, prefix, limit)?))
    }

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.read(|db| {
            let mut find =
                db.prepare_cached("SELECT version, value, checksum FROM record WHERE key = ?1")?;
            let found = find.query_one([key], |row| {
                Ok(sound_record(
                    key.to_owned(),
                    row.get(0)?,
                    row.get_ref(1)?,
                    row.get_ref(2)?,
                ))
            });
            Ok(found.optional()?.transpose()?.map(Arc::new))
        })
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let (from, to) = scan.bounds();
        // Without a limit: what is left out does not count. The rows come one by one.
        let sql = match (scan.values == Values::Unread, scan.descending) {
            (false, false) => {
                "SELECT key, version, value, checksum FROM record
                 WHERE key >= CAST(?1 AS TEXT) AND key < CAST(?2 AS TEXT) ORDER BY key"
            }
            (false, true) => {
                "SELECT key, version, value, checksum FROM record
                 WHERE key >= CAST(?1 AS TEXT) AND key < CAST(?2 AS TEXT) ORDER BY key DESC"
            }
            // The index of the keys has all of it.
            (true, false) => {
                "SELECT key, version FROM record
                 WHERE key >= CAST(?1 AS TEXT) AND key < CAST(?2 AS TEXT) ORDER BY key"
            }
            (true, true) => {
                "SELECT key, version FROM record
                 WHERE key >= CAST(?1 AS TEXT) AND key < CAST(?2 AS TEXT) ORDER BY key DESC"
            }
        };
        self.read(|db| {
            let mut list = db.prepare_cached(sql)?;
            let mut rows = list.query(params![from, to])?;
            let mut records = Vec::new();
            while records.len() < scan.limit
                && let Some(row) = rows.next()?
            {
                // A key that is no text any more has another checksum, too.
                let key = row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?;
                let key = String::from_utf8_lossy(key).into_owned();
                if scan.values == Values::Unread {
                    records.push(Arc::new(Record::new(key, row.get(1)?, Bytes::new())));
                    continue;
                }
                match sound_record(key, row.get(1)?, row.get_ref(2)?, row.get_ref(3)?) {
                    Err(error) if scan.values == Values::Sound => {
                        tracing::error!(%error, "it is left out");
                    }
                    record => records.push(Arc::new(record?)),
                }
            }
            Ok(records)
        })
    }

    fn last_version(&self) -> Result<Version> {
        self.read(|db| Ok(schema::last_version(db)?))
    }

    fn external_writes(&self) -> Result<Version> {
        self.external
            .as_ref()
            .map_or(Ok(0), |external| external.found())
    }

    fn external_writes_seen(&self, waits: bool) -> Result<Version> {
        self.external
            .as_ref()
            .map_or(Ok(0), |external| external.found_now(waits))
    }

    fn external_keys(&self, after: Version, most: usize) -> Result<Option<Vec<String>>> {
        match self.external.as_ref().and_then(|it| it.first_after(after)) {
            Some(before) => self.read(|db| Ok(schema::keys_written_after(db, before, most)?)),
            None => Ok(Some(Vec::new())),
        }
    }

    fn external_signs(&self) -> Option<ExternalSigns> {
        let signs = external_writes::signs(&self.folder.log());
        let signs = signs.inspect_err(|error| {
            tracing::debug!(%error, "the system does not tell what is written to the log");
        });
        Some(Box::pin(signs.ok()?))
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.commit_observed(batch, Box::new(|_| ()))
    }

    fn commit_observed(&self, batch: Batch, observe: Observe) -> Result<Version> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        if let Some(refusal) = writer.refusal() {
            return Err(refusal.to_error());
        }
        // Before anything of it is written, which would take of the room.
        if batch.adds()
            && let Err(refusal) = writer.writability().require_room()
        {
            self.tallies.refused_full.add(1);
            return Err(refusal);
        }
        self.wrote.store(true, Ordering::Relaxed);
        may_block(|| {
            batch.objects.iter().try_for_each(NewObject::publish)?;
            let staged = batch.staged();
            let outcome = writer.commit(batch, observe);
            if outcome.is_ok() {
                for body in staged {
                    body.committed();
                }
            }
            outcome
        })
    }

    fn settle(&self) {
        // Beside the daemon nobody answers from memory.
        if self.lock.is_none() && self.wrote.load(Ordering::Relaxed) {
            may_block(|| std::thread::sleep(external_writes::UNNOTICED_MAX));
        }
    }

    fn pin(&self) -> Result<Box<dyn Pin>> {
        let state = || self.read(|db| Ok(State::read(db)?));
        Ok(Box::new(FilePin::take(&self.folder, state)?))
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        if let Some(refusal) = writer.refusal() {
            return Err(refusal.to_error());
        }
        let writability = writer.writability();
        writability.require_room()?;
        let staged = may_block(|| blob_files::StagedFile::create(&self.folder, writability));
        let staged = staged.map_err(|e| StoreError::io("beginning an upload", e));
        if let Err(StoreError::Full) = staged {
            writability.tell_of(Refusal::Full);
        }
        Ok(Box::new(staged?))
    }

    fn writes(&self) -> Writes {
        match &self.writer {
            Some(writer) if writer.is_alive() => writer.writability().writes(),
            _ => Writes::Stopped,
        }
    }

    fn free_bytes(&self) -> Option<u64> {
        room::free::free_bytes(self.folder.root())
    }

    fn has_writer(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_alive)
    }
}

/// The record of a row.
///
/// # Errors
/// [`StoreError::DamagedRecord`] when the checksum is another's.
fn sound_record(
    key: String,
    version: Version,
    value: ValueRef<'_>,
    checksum: ValueRef<'_>,
) -> Result<Record> {
    // One flipped bit makes a text of a blob, or a number.
    let bytes = value.as_bytes().unwrap_or_default();
    let record = Record::new(key, version, Bytes::copy_from_slice(bytes));
    let own = record_checksum(&record.key, version, &record.value);
    if checksum.as_bytes().is_ok_and(|checksum| checksum == own) {
        Ok(record)
    } else {
        Err(record.damaged(serde_json::Error::custom(
            "its checksum is that of another value",
        )))
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<Joined> {
    Joined::spawn(name, work).map_err(|e| StoreError::io("starting a thread", e))
}
