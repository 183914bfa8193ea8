//! Room that a copy of the log into the database needs, and what a batch adds to it.

use std::fs;

use bytes::Bytes;
use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::super::data_folder::{FileSystem, Folder};
use crate::store::{Batch, NewObject, Result, StoreError};

/// Bytes of a page of the database.
const PAGE_BYTES: u64 = 4096;
/// Bytes of a frame of the log: a header and a page.
pub(in crate::store::sqlite) const FRAME_BYTES: u64 = 24 + PAGE_BYTES;
/// Bytes of a row beside its content, at most.
const ROW_BYTES: u64 = 256;

/// Bytes of room that a copy of the log takes at most: what the database grows by, and where a file system may write
/// what is written over elsewhere, as much as is to be copied.
///
/// # Errors
/// [`StoreError::Engine`], [`StoreError::Io`].
pub(in crate::store::sqlite) fn bytes_to_copy(db: &Connection, folder: &Folder) -> Result<u64> {
    let file_system = FileSystem::of(folder.root());
    let file_system = file_system.map_err(|e| StoreError::io("asking for the file system", e))?;
    if !file_system.writes_in_place() {
        let (frames, copied) = frames_in_log(db)?;
        return Ok(frames.saturating_sub(copied) * FRAME_BYTES);
    }
    // The database's pages, those in the log included.
    let mut pages = db.prepare_cached("PRAGMA page_count")?;
    let pages: u64 = pages.query_one([], |row| row.get(0))?;
    let database = fs::metadata(folder.database());
    let length = database.map_err(|e| StoreError::io("measuring the database", e))?;
    Ok((pages * PAGE_BYTES).saturating_sub(length.len()))
}

/// Bytes that a batch adds to the database, a little more than less.
pub(in crate::store::sqlite) fn bytes_of(batch: &Batch) -> u64 {
    let object = |new: &NewObject| {
        let inline = new.inline().map_or(0, Bytes::len);
        inline + new.outboard().map_or(0, Bytes::len)
    };
    let objects = batch.objects.iter().map(object);
    let records = batch.writes.iter().map(|write| {
        let value = write.value.as_ref().map_or(0, Bytes::len);
        value + 2 * write.key.len()
    });
    let appended = batch.appends.iter().map(|append| append.value.len());
    let sizes = objects.chain(records).chain(appended);
    // Pages are not filled to the last byte.
    let filled = |size: usize| (size as u64 + ROW_BYTES) / 4 * 5;
    sizes.map(filled).sum()
}

/// How many frames of whole transactions the log holds, and how many of them are in the database already.
///
/// # Errors
/// What SQLite says.
pub(in crate::store::sqlite) fn frames_in_log(db: &Connection) -> rusqlite::Result<(u64, u64)> {
    // The log is read, and looked through, with the first statement.
    db.query_one("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let (frames, copied) = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::NOOP)?;
    let count = |frames| u64::try_from(frames).unwrap_or(0);
    Ok((count(frames), count(copied)))
}
