//! What an earlier process left in the log, brought into the database before anything is written.
//!
//! After a failed sync the pages of a file are in the system's memory and not on the disk, and a later
//! sync passes over them. A process that starts then reads whole transactions from the log that a power
//! cut would take, with every one that it wrote behind them. So nothing is written behind what another
//! process left: the log is written again to the disk, copied into the database, and emptied.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, TransactionBehavior};

use super::data_folder::{Folder, sync_dir};
use super::failure::{failure_of, unopened};
use super::high_water::HighWater;
use super::room::reserve::Reserve;
use super::room::to_copy::{FRAME_BYTES, bytes_to_copy, frames_in_log};
use super::schema;
use super::writability::{Refusal, Writability};
use crate::base::limits::{BLOCK_BYTES, RESERVE_BYTES};
use crate::store::{Result, StoreError};

/// Bytes of room for the index of the log, and for small files.
const ROOM_TO_OPEN_BYTES: u64 = 1 << 20;
/// Bytes before the first frame of the log.
const LOG_HEADER_BYTES: u64 = 32;

/// Opens the connection that writes, with its log settled; beside a daemon, that has done it.
///
/// # Errors
/// [`StoreError::Folder`] when commits that were acknowledged are not there. A log that cannot be
/// settled is no error: the store is read, and each commit tries again. Beside a daemon, those of
/// syncing the log.
pub(super) fn open(
    folder: &Folder,
    reserve: &Reserve,
    writability: &Writability,
) -> Result<(Connection, HighWater)> {
    let is_full = |failure: &_| writability.refusal_of(failure).lacks_room();
    let opened = match open_checked(folder) {
        Err(error)
            if failure_of(&error).is_some_and(is_full) && reserve.give(ROOM_TO_OPEN_BYTES) =>
        {
            open_checked(folder)
        }
        opened => opened,
    };
    let (mut db, mut high_water) = opened.map_err(|error| match failure_of(&error) {
        Some(failure) if is_full(failure) => StoreError::Full,
        _ => error,
    })?;
    if writability.settles() {
        require_read_anew(&db, folder)?;
    } else {
        // Where they are there, to make them would wait for who writes.
        if !schema::has_tables(&db)? {
            schema::make_tables(&db)?;
        }
        sync_log(folder)?;
        writability.settled()?;
    }
    match settle(&mut db, folder, reserve, writability) {
        // Beside a daemon that has yet to settle the log, nothing is known to be durable.
        Ok(()) if !writability.is_sound() => {}
        Ok(()) => {
            high_water.raise(schema::last_version(&db)?)?;
            if !reserve.keep(bytes_to_copy(&db, folder)?) {
                tracing::warn!("the disk is full");
            }
        }
        Err(refusal) if !schema::has_tables(&db)? => {
            return Err(refusal.to_error());
        }
        // The store is read.
        Err(_) => {}
    }
    Ok((db, high_water))
}

/// Opens the connection, and holds the database against the high-water mark. That comes before the log is
/// emptied: of one that is damaged, more may be read by other means.
pub(super) fn open_checked(folder: &Folder) -> Result<(Connection, HighWater)> {
    let db = schema::open_writer(&folder.database())?;
    let high_water = HighWater::open(folder, &db)?;
    Ok((db, high_water))
}

/// Settles the log, unless that is done, and makes the tables. Where it cannot, it says why, and that nothing is
/// written until it is done.
pub(super) fn settle(
    db: &mut Connection,
    folder: &Folder,
    reserve: &Reserve,
    writability: &Writability,
) -> std::result::Result<(), Refusal> {
    if writability.is_settled() {
        return Ok(());
    }
    let mut outcome = settle_once(db, folder, writability);
    if matches!(outcome, Err(refusal) if refusal.lacks_room()) {
        let needed = bytes_to_copy(db, folder).unwrap_or(RESERVE_BYTES);
        if let Some(_lent) = reserve.lend(needed + ROOM_TO_OPEN_BYTES) {
            outcome = settle_once(db, folder, writability);
        }
    }
    if let Err(refusal) = outcome {
        writability.unsettle(
            refusal,
            "what an earlier run left in the log is not in the database yet",
        );
    }
    outcome
}

fn settle_once(
    db: &mut Connection,
    folder: &Folder,
    writability: &Writability,
) -> std::result::Result<(), Refusal> {
    let outcome = require_uncopied(db, writability)
        .and_then(|()| write_log_again(db, folder))
        .and_then(|()| {
            // What is copied from now on is.
            writability.log_is_on_disk();
            empty_log(db, folder)
        })
        .and_then(|()| Ok(schema::make_tables(db)?))
        .and_then(|()| writability.settled());
    outcome.map_err(|failure| writability.judge("settling the log", &failure))
}

/// Refuses to settle a log of which this process copied a part before a sync failed. Pages that the system could not
/// write count as written then, so that they may be lost, and SQLite does not copy them again before it reads the log
/// anew.
///
/// # Errors
/// [`StoreError::Engine`].
fn require_uncopied(db: &Connection, writability: &Writability) -> Result<()> {
    let (_, copied) = frames_in_log(db)?;
    if copied > 0 && writability.sync_has_failed() {
        let why = "a part of the log was copied before a sync failed, and is copied again with the next start";
        return Err(StoreError::Engine(why.into()));
    }
    Ok(())
}

/// Refuses the same after a failure of an earlier process: the log is read anew where nobody else has it open.
///
/// # Errors
/// [`StoreError::Folder`] while a process has had the store open since then, and a part of the log was copied.
pub(super) fn require_read_anew(db: &Connection, folder: &Folder) -> Result<()> {
    let told = folder.stopped_by()?.map(|text| Refusal::told(&text).0);
    let has_failed = told.is_some_and(|told| told != Refusal::Busy);
    if has_failed && frames_in_log(db)?.1 > 0 {
        let reason = "a process, such as a backup, has had the store open since a write failed, and the log cannot be \
             read anew beside it; end it, and start again";
        return Err(StoreError::folder(folder.root(), reason));
    }
    Ok(())
}

/// The refusal of a transaction, once it is known what a restart makes of it. One whose sync found no room
/// may be whole in the log, where the next start would read it: the log that is emptied by [`settle`] shows
/// that it will not.
pub(super) fn proven(
    refusal: Refusal,
    settle: impl FnOnce() -> std::result::Result<(), Refusal>,
) -> Refusal {
    if refusal != Refusal::Full {
        return refusal;
    }
    match settle() {
        Ok(()) => Refusal::Full,
        Err(Refusal::Stopped) => Refusal::Stopped,
        Err(_) => Refusal::InDoubt,
    }
}

/// Copies the log into the database and empties it.
///
/// # Durability
/// When it returns, everything that was committed is in the database and on the disk. Where it fails,
/// or a power cut comes, the log is as it was.
///
/// # Errors
/// [`StoreError::Full`] where there is no room for it, [`StoreError::Busy`] where a file cannot be opened
/// for want of file descriptors or memory, [`StoreError::Engine`] when another process reads or writes for
/// longer than a connection waits.
pub(super) fn settle_log(db: &mut Connection, folder: &Folder) -> Result<()> {
    write_log_again(db, folder)?;
    empty_log(db, folder)
}

/// Has what a process beside a daemon has read in the log on the disk, and the log's name. Of a daemon that was killed
/// in a sync just before, SQLite reads what it had written, and by nobody's sync is that durable yet.
fn sync_log(folder: &Folder) -> Result<()> {
    let synced = match File::open(folder.log()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(unopened).and_then(|log| log.sync_data()),
    };
    let durable = synced.and_then(|()| sync_dir(folder.root()));
    durable.map_err(|e| StoreError::io("syncing the log", e))
}

/// Has what the log holds on the disk.
fn write_log_again(db: &mut Connection, folder: &Folder) -> Result<()> {
    let (frames, _) = frames_in_log(db)?;
    if frames == 0 {
        return Ok(());
    }
    // A sync of the database that fails for want of room would leave it as doubtful as the log.
    let needed = bytes_to_copy(db, folder)?;
    if needed > 0 {
        folder.try_room(needed)?;
    }
    // While nobody else can write: who appends to the log or starts it again holds this lock.
    let _alone = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let length = LOG_HEADER_BYTES + frames * FRAME_BYTES;
    write_again(&folder.log(), length).map_err(|e| StoreError::io("writing the log again", e))
}

fn empty_log(db: &Connection, folder: &Folder) -> Result<()> {
    db.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE)?;
    // SQLite does not sync after it. On the disk the old log would be copied over newer pages.
    let opened = File::open(folder.log()).map_err(unopened);
    let emptied = opened.and_then(|log| log.sync_all());
    emptied.map_err(|e| StoreError::io("syncing the emptied log", e))
}

/// Writes the first bytes of a file over themselves and syncs them: what is only in the system's memory
/// is written to the disk, where a sync alone might take it for written.
fn write_again(path: &Path, length: u64) -> io::Result<()> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let file = opened.map_err(unopened)?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut offset = 0;
    while offset < length {
        let left = usize::try_from(length - offset).unwrap_or(usize::MAX);
        let piece = &mut block[..left.min(BLOCK_BYTES)];
        file.read_exact_at(piece, offset)?;
        file.write_all_at(piece, offset)?;
        offset += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_was_copied_before_a_sync_failed_is_left_to_the_next_start() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let reserve = Reserve::new(&folder);
        let write = "INSERT INTO tombstone (version, key) VALUES (1, '')";
        for (code, copies, stops) in [
            (ffi::SQLITE_IOERR_FSYNC, false, false),
            (ffi::SQLITE_IOERR_FSYNC, true, true),
            // Over a quota; it heals.
            (ffi::SQLITE_IOERR_WRITE, true, false),
        ] {
            let writability = Writability::new(&folder, true);
            let (mut db, _) = open(&folder, &reserve, &writability).unwrap();
            db.execute_batch("DELETE FROM tombstone").unwrap();
            db.execute_batch(write).unwrap();
            if copies {
                db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE)
                    .unwrap();
            }
            writability.fail_for_want_of_room(code);
            let settled = settle(&mut db, &folder, &reserve, &writability);
            let stopped = stops.then_some(Refusal::Stopped);
            assert_eq!((settled.err(), folder.has_log()), (stopped, stops));
        }
        let writability = Writability::new(&folder, true);
        open(&folder, &reserve, &writability).unwrap();
        assert!(writability.is_sound());
    }
}
