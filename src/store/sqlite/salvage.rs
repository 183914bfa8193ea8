//! Reading a store as far as it can be read, to find damage: one damaged place hides no other. Tables
//! are read in the order of their row numbers, which needs no index.

use std::path::Path;

use rusqlite::{Connection, Row, params};
use walkdir::WalkDir;

use super::{SqliteStore, high_water, kind_of, schema, size_of, sound_record};
use crate::base::id::{Kind, ObjectId};
use crate::store::error::damaged;
use crate::store::{ObjectRow, Record, Result};

/// A value that could be read, or a sentence that says what is wrong in its place.
pub type Readable<T> = std::result::Result<T, String>;

/// Rows read at once: between two pages the log may be copied into the database.
pub(super) const PAGE_ROWS: i64 = 1000;
/// Row numbers that are tried one by one for the next row that can be read: more than the rows of any
/// page of the database. Beyond them the steps double.
const TRIED_SINGLY: u32 = 10_000;
/// Most faults that SQLite is asked to list.
const FAULTS_MAX: i64 = 100;

/// A table, by what it holds, and the statement that reads its rows from a number on.
pub(super) struct Table {
    pub(super) holds: &'static str,
    pub(super) rows: &'static str,
}

const OBJECTS: Table = Table {
    holds: "objects",
    rows: "SELECT seq, id, kind, size, length(sha256), length(bytes) FROM object
           WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
};
const RECORDS: Table = Table {
    holds: "records",
    rows: "SELECT version, key, value, checksum FROM record
           WHERE version >= ?1 ORDER BY version LIMIT ?2",
};

/// Objects that should be in the index and are not; at most as many as [`FAULTS_MAX`].
const UNINDEXED: &str = "
    SELECT 'object ' || lower(hex(object.id)) || ' is not in the index' FROM object
    WHERE object.seq <= (SELECT seq FROM indexed)
        AND NOT EXISTS (SELECT 1 FROM object_index WHERE object_index.id = object.id)
    LIMIT 100";
/// Entries of the index that lead to another object or to none; at most as many.
const MISLED: &str = "
    SELECT 'object ' || lower(hex(object_index.id)) || ' is not where the index says'
    FROM object_index LEFT JOIN object ON object.seq = object_index.seq
    WHERE object.id IS NOT object_index.id
    LIMIT 100";

impl SqliteStore {
    /// Calls `visit` with the row of every object that was there when the survey began, and with a
    /// sentence for each row that is not as it must be.
    pub fn survey_objects(&self, visit: &mut dyn FnMut(Readable<ObjectRow>)) -> Result<()> {
        self.survey(&OBJECTS, object_row, visit)
    }

    /// Calls `visit` with every record that was there when the survey began, and with a sentence for
    /// each that cannot be read.
    pub fn survey_records(&self, visit: &mut dyn FnMut(Readable<Record>)) -> Result<()> {
        self.survey(&RECORDS, record, visit)
    }

    /// Calls `visit` with the blob that each file below `blobs/` is named for, whether or not a row
    /// names it, and with a sentence for each file that has no blob's name.
    pub fn survey_files(&self, visit: &mut dyn FnMut(Readable<ObjectId>)) {
        let blobs = self.folder.blobs();
        for entry in WalkDir::new(&blobs).min_depth(1).max_depth(2) {
            match entry {
                Ok(entry) if entry.depth() == 1 && entry.path().is_dir() => {}
                Ok(entry) => visit(named_blob(&blobs, entry.path())),
                Err(e) => visit(Err(format!("files of blobs cannot be listed: {e}"))),
            }
        }
    }

    /// What is wrong with the database itself, a sentence each: what SQLite finds when it examines all
    /// of it, tables that are not as they were made, and where the index of the objects does not agree
    /// with them.
    pub fn examine(&self) -> Result<Vec<String>> {
        self.read(|db| {
            let found = |sql: &str| {
                let mut examine = db.prepare(sql)?;
                let faults = examine.query_map([], |row| row.get::<_, String>(0))?;
                faults.collect::<rusqlite::Result<Vec<_>>>()
            };
            let whole = format!("PRAGMA integrity_check({FAULTS_MAX})");
            let faults = [&whole, UNINDEXED, MISLED]
                .into_iter()
                .map(found)
                .chain([self.altered(db)])
                .flat_map(|found| found.unwrap_or_else(|e| vec![e.to_string()]))
                .filter(|fault| fault != "ok");
            Ok(faults.map(|fault| format!("database: {fault}")).collect())
        })
    }

    /// The tables whose definition is damaged. Those of an earlier format are others.
    fn altered(&self, db: &Connection) -> rusqlite::Result<Vec<String>> {
        if self.folder.format().is_older() {
            return Ok(Vec::new());
        }
        let tables = schema::altered_tables(db)?.into_iter();
        Ok(tables
            .map(|table| format!("the definition of the table {table} is damaged"))
            .collect())
    }

    /// What the high-water mark tells of commits that are lost, or what is wrong with the mark.
    pub fn lost_commits(&self) -> Result<Option<String>> {
        self.read(|db| Ok(high_water::fault(&self.folder, db)))
    }

    fn survey<T>(
        &self,
        table: &Table,
        decode: impl Fn(&Row<'_>) -> rusqlite::Result<Readable<T>>,
        visit: &mut dyn FnMut(Readable<T>),
    ) -> Result<()> {
        let mut from = 0;
        loop {
            let mut rows = Vec::new();
            let page = self.read(|db| Ok(read_page(db, table, from, &decode, &mut rows)))?;
            let last = rows.iter().map(|(number, _)| *number).max();
            for (_, one) in rows {
                visit(one);
            }
            // A damaged number must not lead back to an earlier row.
            match last.map(|last| last.max(from).checked_add(1)) {
                Some(Some(beyond)) => from = beyond,
                Some(None) => return Ok(()),
                None => {}
            }
            let Err(error) = page else {
                if last.is_none() {
                    return Ok(());
                }
                continue;
            };
            let next = self.read(|db| Ok(next_readable(db, table, from)))?;
            let to = next.map_or("the last".to_owned(), |next| (next - 1).to_string());
            visit(Err(format!(
                "{}: rows {from} to {to} cannot be read: {error}",
                table.holds
            )));
            match next {
                Some(next) => from = next,
                None => return Ok(()),
            }
        }
    }
}

/// Reads rows from a number on, each with its own, until the page is full or one cannot be read.
pub(super) fn read_page<T>(
    db: &Connection,
    table: &Table,
    from: i64,
    decode: impl Fn(&Row<'_>) -> rusqlite::Result<Readable<T>>,
    found: &mut Vec<(i64, Readable<T>)>,
) -> rusqlite::Result<()> {
    let mut list = db.prepare_cached(table.rows)?;
    let mut rows = list.query(params![from, PAGE_ROWS])?;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let one = decode(row).unwrap_or_else(|e| {
            let holds = table.holds;
            Err(format!("{holds}: row {number} cannot be read: {e}"))
        });
        found.push((number, one));
    }
    Ok(())
}

/// The first row number behind `from` at which the table can be read again.
pub(super) fn next_readable(db: &Connection, table: &Table, from: i64) -> Option<i64> {
    let mut list = db.prepare_cached(table.rows).ok()?;
    let (mut number, mut step, mut tried) = (from, 1_i64, 0);
    loop {
        number = number.checked_add(step)?;
        let mut rows = list.query(params![number, 1]).ok()?;
        if rows.next().is_ok() {
            return Some(number);
        }
        tried += 1;
        if tried > TRIED_SINGLY {
            step = step.saturating_mul(2);
        }
    }
}

fn object_row(row: &Row<'_>) -> rusqlite::Result<Readable<ObjectRow>> {
    let number: i64 = row.get(0)?;
    let id: Vec<u8> = row.get(1)?;
    let (kind, size): (i64, i64) = (row.get(2)?, row.get(3)?);
    let (sha256, inline): (Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?);
    let Ok(id) = <[u8; ObjectId::BYTES]>::try_from(id).map(ObjectId::from_bytes) else {
        return Ok(Err(format!("objects: the id in row {number} is none")));
    };
    Ok(sound_row(id, kind, size, sha256, inline).map_err(|e| e.to_string()))
}

/// The row of an object, its lengths compared.
fn sound_row(
    id: ObjectId,
    kind: i64,
    size: i64,
    sha256: Option<i64>,
    inline: Option<i64>,
) -> Result<ObjectRow> {
    let kind = kind_of(kind, id)?;
    let row = ObjectRow {
        id,
        kind,
        size: size_of(size, kind, id)?,
        inline: inline.is_some(),
    };
    let fault = match (kind, sha256) {
        _ if inline.is_some_and(|inline| inline != size) => "its row says another size",
        (Kind::Blob, None) => "its row has no SHA-256",
        (Kind::Blob, Some(length)) if length != 32 => "its row's SHA-256 has another length",
        (Kind::Node | Kind::Manifest, _) if inline.is_none() => "it lies in a file",
        _ => return Ok(row),
    };
    Err(damaged(kind, id, fault))
}

fn record(row: &Row<'_>) -> rusqlite::Result<Readable<Record>> {
    let record = sound_record(row.get(1)?, row.get(0)?, row.get_ref(2)?, row.get_ref(3)?);
    Ok(record.map_err(|e| e.to_string()))
}

/// The blob whose file has this path.
fn named_blob(blobs: &Path, file: &Path) -> Readable<ObjectId> {
    let inside = file.strip_prefix(blobs).unwrap_or(file);
    let id = inside.to_str().and_then(|text| {
        let (fan, name) = text.split_once('/')?;
        let whole = fan.len() == 2;
        format!("{fan}{name}").parse().ok().filter(|_| whole)
    });
    id.ok_or_else(|| format!("{} is no blob's file", file.display()))
}
