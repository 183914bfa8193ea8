//! The database's tables and the settings of its connections (`objects-layout.md`, "Database").

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::data_folder::log_index;
use crate::base::limits::{TOMBSTONES_KEPT, WAL_FRAMES_MAX};
use crate::store::{Result, StoreError, Version};

/// The oldest SQLite without the WAL-reset bug, which can corrupt a log that two connections use.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// How long a connection waits for another process's transaction.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How a connection that reads is opened.
const READING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// What is escaped in a path that stands in a URI.
const OF_A_URI: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/');

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS object (
    seq    INTEGER PRIMARY KEY,
    id     BLOB    NOT NULL,
    kind   INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    sha256 BLOB,
    bytes  BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS outboard (
    seq    INTEGER PRIMARY KEY,
    pieces BLOB    NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS object_index (
    id  BLOB    PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexed (
    seq INTEGER NOT NULL
) STRICT;
INSERT INTO indexed (seq) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM indexed);
CREATE TABLE IF NOT EXISTS collection (
    epoch INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    last  INTEGER NOT NULL
) STRICT;
INSERT INTO collection (epoch, scope, last)
    SELECT 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM collection);
CREATE TABLE IF NOT EXISTS touched (
    seq   INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS record (
    version  INTEGER PRIMARY KEY,
    key      TEXT    NOT NULL UNIQUE,
    value    BLOB    NOT NULL,
    checksum BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS tombstone (
    version INTEGER PRIMARY KEY,
    key     TEXT    NOT NULL
) STRICT;
";

/// What each table is made of, a line for each column.
const COLUMNS: &str = "
    SELECT made.name, format('%s, %s %d %d, strict %d, without rowid %d, indexes %s', own.name, own.type,
        own.\"notnull\", own.pk, made.strict, made.wr, (
            SELECT group_concat(origin || \"unique\" || partial) FROM pragma_index_list(made.name)
        ))
    FROM pragma_table_list AS made JOIN pragma_table_info(made.name) AS own
    WHERE made.schema = 'main' AND made.type = 'table' AND made.name NOT LIKE 'sqlite%'";

/// Opens the connection that writes. It makes no file: where a store has lost its database, an empty one
/// must not take its place. Closed, it keeps the log unless told otherwise.
pub(super) fn open_writer(path: &Path) -> Result<Connection> {
    require_sound_sqlite(path)?;
    log_index::make_in_place(path);
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    db.busy_timeout(BUSY_WAIT)?;
    db.pragma_update(None, "page_size", 4096)?;
    if db.query_one("PRAGMA page_count", [], |row| row.get::<_, i64>(0))? == 0 {
        // In a new database only, where it writes nothing: pages that become free can be given back.
        let_pages_go(&db)?;
    }
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        let reason =
            format!("the database cannot use a write-ahead log here (it is in mode \"{mode}\")");
        return Err(StoreError::Folder {
            path: path.to_owned(),
            reason,
        });
    }
    // FULL syncs the log at every commit; NORMAL would lose acknowledged saves at a power cut.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    keep_log(&db, true)?;
    db.pragma_update(None, "journal_size_limit", WAL_FRAMES_MAX * 4096)?;
    db.pragma_update(None, "cache_size", -16_384)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Says that free pages can be given back: in an empty database, or one that is then written anew.
pub(super) fn let_pages_go(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")
}

/// True in a database that has all its tables: the last of them is there.
pub(super) fn has_tables(db: &Connection) -> rusqlite::Result<bool> {
    db.table_exists(Some("main"), "tombstone")
}

/// Makes the tables where they are missing.
pub(super) fn make_tables(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(TABLES)
}

/// The tables that are not as [`make_tables`] makes them, in the order of their names: in a damaged database
/// one may be known by a definition that is whole, but another.
pub(super) fn altered_tables(db: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let made = Connection::open_in_memory()?;
    make_tables(&made)?;
    let (made, found) = (columns(&made)?, columns(db)?);
    let differing = made.symmetric_difference(&found);
    Ok(differing.map(|(table, _)| table.clone()).collect())
}

fn columns(db: &Connection) -> rusqlite::Result<BTreeSet<(String, String)>> {
    let mut list = db.prepare(COLUMNS)?;
    let columns = list.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

/// Opens a connection that copies the log into the database beside the writer.
pub(super) fn open_checkpointer(path: &Path) -> Result<Connection> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "cache_size", -1024)?;
    keep_log(&db, true)?;
    Ok(db)
}

/// Says whether a connection leaves the log as it is when it is the last that closes; else it copies
/// the log into the database and removes it.
pub(super) fn keep_log(db: &Connection, keep: bool) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)?;
    Ok(())
}

/// Opens a connection that reads.
///
/// # Errors
/// [`StoreError::Folder`] where a log must be copied first and this process may not write.
pub(super) fn open_reader(path: &Path) -> Result<Connection> {
    require_sound_sqlite(path)?;
    let db = if lies_still(path)? {
        open_still(path)?
    } else {
        log_index::make_in_place(path);
        Connection::open_with_flags(path, READING)?
    };
    db.busy_timeout(BUSY_WAIT)?;
    db.pragma_update(None, "cache_size", -2048)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Opens a connection that reads a database without a log that nobody writes. SQLite makes files beside a
/// database even to read it, unless it is told so.
pub(super) fn open_still(path: &Path) -> Result<Connection> {
    let whole = path
        .canonicalize()
        .map_err(|e| StoreError::io("looking for the database", e))?;
    let path = percent_encode(whole.as_os_str().as_bytes(), OF_A_URI);
    let uri = format!("file:{path}?immutable=1");
    let flags = READING | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(uri, flags)?)
}

/// True if the database is whole without a log, in a folder in which this process may not write: on a
/// medium for reading, or in another user's copy. Who writes keeps a log, so nobody does.
fn lies_still(path: &Path) -> Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    if accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS).is_ok() {
        return Ok(false);
    }
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name)
    };
    if !beside("-wal").is_ok_and(|log| log.len() > 0) {
        return Ok(true);
    }
    if beside("-shm").is_ok() {
        return Ok(false);
    }
    let reason = "its log, store.db-wal, has to be copied into it before it can be read, and you may not \
                  write here; copy the whole folder to where you may";
    Err(StoreError::folder(path, reason))
}

/// True if the database has objects that lie in files. Where none does, all rows are looked at.
pub(super) fn names_files(path: &Path) -> Result<bool> {
    let db = open_reader(path)?;
    let tables = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'object')";
    if !db.query_one(tables, [], |row| row.get(0))? {
        return Ok(false);
    }
    let files = "SELECT EXISTS (SELECT 1 FROM object WHERE bytes IS NULL)";
    Ok(db.query_one(files, [], |row| row.get(0))?)
}

fn require_sound_sqlite(path: &Path) -> Result<()> {
    if rusqlite::version_number() >= SQLITE_VERSION_MIN {
        return Ok(());
    }
    let reason = format!(
        "SQLite {} is too old, 3.51.3 is needed",
        rusqlite::version()
    );
    Err(StoreError::Folder {
        path: path.to_owned(),
        reason,
    })
}

/// The version of the last write.
pub(super) fn last_version(db: &Connection) -> rusqlite::Result<Version> {
    db.prepare_cached(
        "SELECT max(coalesce((SELECT max(version) FROM record), 0),
                    coalesce((SELECT max(version) FROM tombstone), 0))",
    )?
    .query_one([], |row| row.get(0))
}

/// The keys of all that was written or deleted after a version; `None` when they are more than `most`, or
/// when tombstones of that time may be gone.
pub(super) fn keys_written_after(
    db: &Connection,
    after: Version,
    most: usize,
) -> rusqlite::Result<Option<Vec<String>>> {
    // Without an end: what was written again meanwhile has its later version only.
    let mut list = db.prepare_cached(
        "SELECT CAST(key AS BLOB) FROM record WHERE version > ?1
         UNION ALL SELECT CAST(key AS BLOB) FROM tombstone WHERE version > ?1",
    )?;
    let keys = list.query_map([after], |row| {
        let key: Vec<u8> = row.get(0)?;
        Ok(String::from_utf8_lossy(&key).into_owned())
    })?;
    let keys: Vec<_> = keys
        .take(most.saturating_add(1))
        .collect::<rusqlite::Result<_>>()?;
    // Asked last, so that no tombstone has gone before.
    let is_whole = last_version(db)?.saturating_sub(after) <= TOMBSTONES_KEPT;
    Ok((is_whole && keys.len() <= most).then_some(keys))
}
