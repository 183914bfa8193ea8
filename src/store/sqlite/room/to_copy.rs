//! Room that is needed to copy the log into the database.

use std::fs;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::super::data_folder::{FileSystem, Folder};
use crate::store::{Result, StoreError};

/// Bytes of a page of the database.
const PAGE_BYTES: u64 = 4096;
/// Bytes of a frame of the log: a header and a page.
pub(in crate::store::sqlite) const FRAME_BYTES: u64 = 24 + PAGE_BYTES;

/// Bytes of room that a copy of the log takes at most: what the database grows by, and where a file system may write
/// what is written over elsewhere, as much as the log holds.
///
/// # Errors
/// [`StoreError::Engine`], [`StoreError::Io`].
pub(in crate::store::sqlite) fn bytes_to_copy(db: &Connection, folder: &Folder) -> Result<u64> {
    let (frames, _) = frames_in_log(db)?;
    if frames == 0 {
        return Ok(0);
    }
    let file_system = FileSystem::of(folder.root());
    let file_system = file_system.map_err(|e| StoreError::io("asking for the file system", e))?;
    if !file_system.writes_in_place() {
        return Ok(frames * FRAME_BYTES);
    }
    // The database's pages, those in the log included.
    let pages: u64 = db.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let database = fs::metadata(folder.database());
    let length = database.map_err(|e| StoreError::io("measuring the database", e))?;
    Ok((pages * PAGE_BYTES).saturating_sub(length.len()))
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
