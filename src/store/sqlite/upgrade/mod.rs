//! Bringing a folder of an earlier format to today's. The records of format 1 have no checksums, and who
//! writes format 2 knows of no collection, so nobody may write in it when one begins.

pub(super) mod earlier;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, TransactionBehavior, params};
use rustix::fs::statvfs;

use super::data_folder::{Folder, Format};
use super::writability::Writability;
use super::{recovery, schema};
use crate::base::digest::record_checksum;
use crate::base::limits::RESERVE_BYTES;
use crate::store::{Result, StoreError, Version};

/// Records that get their checksums in one transaction.
const PAGE_ROWS: u32 = 1000;
/// Bytes that a record takes at most beside its key and its value.
const RECORD_BYTES: u64 = 64;
/// Room for new tables and for the pages above those that change.
const TABLES_BYTES: u64 = 1 << 20;

/// What an upgrade finds, and needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The folder's format.
    pub format: Format,
    /// How many records get a checksum.
    pub records: u64,
    /// Bytes on the disk that it takes at most, the log that is copied first included.
    pub room_bytes: u64,
    /// Bytes that are free on the disk.
    pub free_bytes: u64,
    /// True while a service has the folder open.
    pub is_served: bool,
}

/// How an upgrade ended that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgraded {
    /// The folder has the format of today.
    Whole,
    /// It was told to stop. The folder has its earlier format, and another upgrade begins anew.
    Interrupted,
}

impl Outlook {
    /// Looks at a folder and changes nothing in it.
    ///
    /// # Errors
    /// Those of [`Folder::open`], and of reading its records.
    pub fn of(root: &Path) -> Result<Self> {
        let folder = Folder::open(root)?;
        let is_served = folder.holder()?.is_some();
        let room = statvfs(root).map_err(|e| StoreError::io("asking for room", e.into()))?;
        let mut outlook = Self {
            format: folder.format(),
            records: 0,
            room_bytes: 0,
            free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
            is_served,
        };
        if folder.format().is_older() {
            let db = if is_served || folder.has_log() {
                schema::open_reader(&folder.database())?
            } else {
                schema::open_still(&folder.database())?
            };
            let read = outlook.read(&folder, &db);
            read.map_err(|error| refuse_damage(&folder, error))?;
        }
        Ok(outlook)
    }

    /// What an upgrade does, a sentence each; none for a folder of today's format.
    pub fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        if !self.format.is_older() {
            return steps;
        }
        if !self.format.has_checksums() {
            steps.push(format!("{} records get a checksum each", self.records));
        }
        steps.push("the database gets the tables that it lacks".to_owned());
        steps.push(format!(
            "FORMAT says {}; earlier versions refuse the folder from then on",
            Format::CURRENT
        ));
        steps
    }

    fn read(&mut self, folder: &Folder, db: &Connection) -> Result<()> {
        let log = fs::metadata(folder.log()).map_or(0, |log| log.len());
        // An earlier version kept less room for a full disk, or none.
        self.room_bytes = log + TABLES_BYTES + RESERVE_BYTES;
        if !self.format.has_checksums() && schema::has_tables(db)? {
            let sums = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM record";
            let (records, bytes): (u64, u64) =
                db.query_one(sums, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.records = records;
            // Rows that grow divide their pages, and lie in the log until it is copied.
            self.room_bytes += 2 * (bytes + records * RECORD_BYTES);
        }
        Ok(())
    }
}

/// Gives a folder the format of today. `tell` hears how many records have a checksum, and says whether to
/// go on.
///
/// Nothing is copied: each record gets its checksum where it lies, and the format comes last. Until then
/// the folder has its earlier format, and an earlier version may write in it; so an upgrade that was
/// interrupted, in whatever way, begins anew.
///
/// # Errors
/// [`StoreError::Locked`] while a service has the folder open, [`StoreError::Underway`] beside a backup,
/// [`StoreError::Full`] where the disk has no room, and [`StoreError::Folder`] for one that cannot be
/// upgraded, as where it is damaged.
///
/// # Durability
/// When it returns, all of it is on the disk.
pub fn upgrade(root: &Path, tell: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<Upgraded> {
    let (folder, _lock) = Folder::open_to_upgrade(root)?;
    if !folder.format().is_older() {
        return Ok(Upgraded::Whole);
    }
    let _no_backup = folder.lock_for_collection()?;
    let (mut db, _) = recovery::open_checked(&folder)?;
    recovery::require_read_anew(&db, &folder)?;
    recovery::settle_log(&mut db, &folder)?;
    // As at a start: a write that failed then stops none from now on.
    Writability::new(&folder, true).settled()?;
    schema::make_tables(&db)?;
    if !folder.format().has_checksums() {
        let given = give_checksums(&mut db, tell);
        if given
            .map_err(|error| refuse_damage(&folder, error))?
            .is_break()
        {
            return Ok(Upgraded::Interrupted);
        }
    }
    folder.set_current()?;
    schema::keep_log(&db, false)?;
    Ok(Upgraded::Whole)
}

/// Gives every record its checksum, also those that have one: an earlier version may have changed them
/// since.
fn give_checksums(
    db: &mut Connection,
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    if !db.column_exists(None::<&str>, "record", "checksum")? {
        db.execute_batch("ALTER TABLE record ADD COLUMN checksum BLOB")?;
    }
    let (mut next, mut given) = (Some(0), 0);
    while let Some(from) = next {
        if tell(given).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let versions = give_page(db, from)?;
        // So that the log starts again.
        db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE)?;
        given += versions.len() as u64;
        next = versions.last().map(|last| last + 1);
    }
    Ok(ControlFlow::Continue(()))
}

/// Gives the first records from a version on their checksums, and gives the versions of these.
fn give_page(db: &mut Connection, from: Version) -> rusqlite::Result<Vec<Version>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut list = tx.prepare_cached(
        "SELECT version, key, value FROM record WHERE version >= ?1 ORDER BY version LIMIT ?2",
    )?;
    let sums = list.query_map(params![from, PAGE_ROWS], |row| {
        let (version, key): (Version, String) = (row.get(0)?, row.get(1)?);
        let value: Vec<u8> = row.get(2)?;
        Ok((version, record_checksum(&key, version, &value)))
    })?;
    let sums = sums.collect::<rusqlite::Result<Vec<_>>>()?;
    drop(list);
    let mut give = tx.prepare_cached("UPDATE record SET checksum = ?2 WHERE version = ?1")?;
    for (version, checksum) in &sums {
        give.execute(params![version, checksum])?;
    }
    drop(give);
    tx.commit()?;
    Ok(sums.into_iter().map(|(version, _)| version).collect())
}

/// Says what to do about a damaged database: what cannot be read would get no checksum, and what lies
/// beside it might not be written.
fn refuse_damage(folder: &Folder, error: StoreError) -> StoreError {
    match error {
        StoreError::DamagedEngine { source, .. } => {
            let data = folder.root().display();
            let reason = format!(
                "it is damaged ({source}), and keeps its format; \"siteconf backup TARGET --data {data}\" \
                 keeps what is sound, and \"siteconf restore TARGET --data NEW\" makes a folder of it that \
                 can be upgraded"
            );
            StoreError::folder(&folder.database(), reason)
        }
        error => error,
    }
}
