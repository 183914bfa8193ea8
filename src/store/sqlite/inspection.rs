//! Looking into a store in a folder, also into a damaged one.

use std::path::Path;

use rusqlite::{Connection, Row};
use walkdir::WalkDir;

use super::salvage::{Table, next_readable, read_page};
use super::{ObjectCensus, SqliteStore, high_water, schema, sound_record, writability};
use crate::base::id::ObjectId;
use crate::store::inspection::row::sound_row;
use crate::store::inspection::{
    Inspectable, LargeFile, NoCollection, ObjectsHeld, Overview, Readable, Refusal, Service,
};
use crate::store::{ObjectRow, Record, Result, prefix_end};

/// Rows of objects that are counted at a time: between two, a service copies its log.
const COUNTED_AT_ONCE: u32 = 10_000;
/// Most faults that SQLite is asked to list.
const FAULTS_MAX: i64 = 100;
/// What ends a refusal whose reason says what to do.
const PUT_RIGHT: &str = "that is put right";

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

impl Inspectable for SqliteStore {
    fn survey_objects(&self, visit: &mut dyn FnMut(Readable<ObjectRow>)) -> Result<()> {
        self.survey(&OBJECTS, object_row, visit)
    }

    fn survey_records(&self, visit: &mut dyn FnMut(Readable<Record>)) -> Result<()> {
        self.survey(&RECORDS, record, visit)
    }

    fn survey_files(&self, visit: &mut dyn FnMut(Readable<LargeFile>)) -> Result<()> {
        self.each_file(&mut |file| visit(file.map(LargeFile::Of)));
        Ok(())
    }

    /// What SQLite finds when it examines all of it, tables that are not as they were made, and where the
    /// index of the objects does not agree with them.
    fn examine(&self) -> Result<Vec<String>> {
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

    /// What the high-water mark tells, or what is wrong with the mark.
    fn lost_commits(&self) -> Result<Option<String>> {
        self.read(|db| Ok(high_water::fault(&self.folder, db)))
    }

    fn count_records(&self, prefix: &str) -> Result<u64> {
        self.read(|db| {
            let mut count = db.prepare_cached(
                "SELECT count(*) FROM record WHERE key >= CAST(?1 AS TEXT) AND key < CAST(?2 AS TEXT)",
            )?;
            Ok(count.query_one((prefix.as_bytes(), prefix_end(prefix)), |row| row.get(0))?)
        })
    }

    fn hold_off_collections(&self) -> Result<NoCollection> {
        Ok(Box::new(self.folder.lock_for_backup()?))
    }

    fn require_files(&self) -> Result<()> {
        Ok(())
    }

    fn overview(&self) -> Overview {
        let format = self.folder.format();
        Overview {
            format: Some(format.to_string()),
            advice: format.is_older().then(|| format.advice(self.folder.root())),
            schema: Ok(None),
            service: self.service(),
            build: self.folder.build_of_holder(),
            kept_free: self.folder.kept_free(),
            writes_refused: self.refusal(),
            standby: Ok(None),
            database_bytes: Ok(self.database_bytes()),
            unused_bytes: self.unused_bytes().map(Some),
            page_checksums: Ok(None),
            log_bytes: Some(self.log_bytes()),
            last_backup: self.folder.last_backup(),
            last_collection: self.folder.last_collection(),
        }
    }

    fn objects_held(&self) -> Result<ObjectsHeld> {
        let mut census = ObjectCensus::default();
        while self.count_objects(&mut census, COUNTED_AT_ONCE)? {}
        let mut held = ObjectsHeld::default();
        for (_, [row, file]) in census.counts() {
            held.objects += row.objects + file.objects;
            held.bytes += row.bytes + file.bytes;
            held.large_bytes += file.bytes;
        }
        Ok(held)
    }

    fn service(&self) -> Result<Service> {
        self.folder.holder().map(Service::Process)
    }
}

impl SqliteStore {
    /// Calls `visit` with the blob that each file below `blobs/` is named for, whether or not a row
    /// names it, and with a sentence for each file that has no blob's name.
    pub(super) fn each_file(&self, visit: &mut dyn FnMut(Readable<ObjectId>)) {
        let blobs = self.folder.blobs();
        for entry in WalkDir::new(&blobs).min_depth(1).max_depth(2) {
            match entry {
                Ok(entry) if entry.depth() == 1 && entry.path().is_dir() => {}
                Ok(entry) => visit(named_blob(&blobs, entry.path())),
                Err(e) => visit(Err(format!("files of blobs cannot be listed: {e}"))),
            }
        }
    }

    /// Why nobody may write: commits that are lost, a write that failed, want of room, or the folder itself.
    fn refusal(&self) -> Result<Option<Refusal>> {
        // First: no restart and no room brings them back.
        if let Some(why) = self.refusal_of_lost_commits() {
            return Ok(Some(Refusal {
                until: PUT_RIGHT,
                why,
            }));
        }
        if let Some(text) = self.folder.stopped_by()? {
            let (told, why) = writability::Refusal::told(&text);
            let until = match told {
                writability::Refusal::Full | writability::Refusal::InDoubt => {
                    "there is room on the disk"
                }
                writability::Refusal::Busy => "others that use the store have ended",
                writability::Refusal::Moved | writability::Refusal::Stopped => {
                    "the service is restarted"
                }
            };
            let why = if why.is_empty() {
                "there was none even to note why".to_owned()
            } else {
                why.to_owned()
            };
            return Ok(Some(Refusal { until, why }));
        }
        // One that runs was able to; from here it may look otherwise.
        if let Ok(Some(_)) = self.folder.holder() {
            return Ok(None);
        }
        let unfit = self.folder.require_writable().err();
        Ok(unfit.map(|error| Refusal {
            until: PUT_RIGHT,
            why: error.to_string(),
        }))
    }

    /// What whoever opens the store to write is told where commits are lost. Beside a service none look lost: the mark
    /// is read before the records, and names only what is in them already.
    fn refusal_of_lost_commits(&self) -> Option<String> {
        let refusal = self.read(|db| Ok(high_water::refusal(&self.folder, db)?));
        // Records that cannot be read are told where they are counted.
        refusal.ok().flatten().map(|lost| lost.to_string())
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
