//! Making a store of a backup.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::error::{BackupError, Fault, Result, Step, Tell, What};
use super::part::{Part, Span};
use super::rows::{Encoded, ObjectEntry, RecordEntry, read_rows};
use super::source::Source;
use crate::base::clock::Timestamp;
use crate::base::limits::BLOCK_BYTES;
use crate::store::Version;
use crate::store::sqlite::blob_files::blob_path;
use crate::store::sqlite::data_folder::{
    Folder, Format, Restore, Restoring, private_options, sync_dir,
};
use crate::store::sqlite::{high_water, schema};

/// Removes the records that were deleted later. It goes by the tombstones, which are few, and the index of the keys: no
/// index finds a tombstone, so that for each record all of them would be read.
const REMOVE_DELETED: &str = "
    DELETE FROM record WHERE version IN (
        SELECT record.version FROM tombstone CROSS JOIN record ON record.key = tombstone.key
        WHERE tombstone.version > record.version
    )";

/// What is made of a backup that is not as its manifest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing.
    Whole,
    /// What is sound of its objects, and its secrets: files and rows that are as they were written, as far as they say
    /// so themselves. Records belong together: of one that lacks some nothing is made either.
    WhatIsSound,
}

/// A store that was made of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The time of the state that it holds.
    pub at: Timestamp,
    /// The last write that it holds.
    pub version: Version,
    /// The format that the store has.
    pub format: Format,
    /// Bytes that were read.
    pub bytes: u64,
    /// How many files of the backup were left out, or of how many some rows; each was told.
    pub left_out: usize,
}

/// Makes a store of a backup, in a folder that is empty or not there. It has the format of the store that
/// was backed up.
///
/// # Errors
/// [`BackupError`]; then the folder is as it was. [`BackupError::Refused`] for a folder that is not
/// empty, and a backup that is not as its manifest says where that is [more](Extent) than may be left out.
///
/// # Durability
/// When it returns, the store is whole, and on the disk. Killed before, it leaves a folder that is not
/// taken for a store.
pub fn restore(
    source: Source<'_>,
    root: &Path,
    extent: Extent,
    tell: &mut Tell<'_>,
) -> Result<Restored> {
    source.refuse_related(root)?;
    let restoring = Restoring::begin(root)?;
    let folder = restoring.folder().clone();
    let mut store = NewStore::make(&folder, extent)?;
    let mut faults = Vec::new();
    let manifest = source.read_all(
        tell,
        &mut |part, bytes, body| store.take(part, bytes, body),
        &mut |fault| {
            if extent.refuses(&fault.part) {
                return Err(refusal(fault, extent));
            }
            faults.push(fault);
            Ok(())
        },
    )?;
    Fault::add_broken(&mut faults, std::mem::take(&mut store.broken));
    let mut left_out = 0;
    for fault in faults {
        if extent.refuses(&fault.part) {
            return Err(refusal(fault, extent));
        }
        let mut told = fault.to_string();
        if !matches!(fault.what, What::Surplus) {
            left_out += 1;
            store.leave_out(&fault.part)?;
            if let Part::Objects(_) = fault.part {
                let kept = store.objects_of.get(&fault.part).copied();
                let kept = kept.unwrap_or_default();
                told = format!("{told}; {kept} objects of it are restored");
            }
        }
        if tell(Step::Damage(&told)).is_break() {
            return Err(BackupError::Interrupted);
        }
    }
    store.finish()?;
    let mut restores = manifest.restores.clone();
    // What the backup has beside may be nowhere else: none of this store takes its place.
    let goes_on_from = if left_out > 0 { 0 } else { manifest.version };
    restores.push(Restore::of(goes_on_from));
    folder.note_restores(&restores)?;
    restoring.finish(manifest.store)?;
    Ok(Restored {
        at: manifest.at,
        version: manifest.version,
        format: manifest.store,
        bytes: manifest.bytes(),
        left_out,
    })
}

impl Extent {
    /// True if nothing is made of a backup of which this part is not sound. Without its records a store would give
    /// numbers again that others have, and what these have done would become each other's.
    fn refuses(self, part: &Part) -> bool {
        self == Self::Whole || matches!(part, Part::Records(_) | Part::Format)
    }
}

fn refusal(fault: Fault, extent: Extent) -> BackupError {
    if let What::Unreadable(path, source) = fault.what {
        return BackupError::file("reading", path)(source);
    }
    let what_then = match extent {
        Extent::Whole => {
            "nothing is restored of it. Is there no other, \"siteconf restore --what-is-sound\" leaves out files that \
             were changed"
        }
        Extent::WhatIsSound => "without all of its records nothing is restored of it",
    };
    BackupError::Refused(format!(
        "the backup is not what was written: {fault}; {what_then}"
    ))
}

/// A store that is filled.
struct NewStore<'a> {
    folder: &'a Folder,
    extent: Extent,
    db: Connection,
    /// Folders in which there are new names.
    dirs: BTreeSet<PathBuf>,
    /// Files of rows of which not all were taken.
    broken: Vec<Part>,
    /// How many rows were taken of those among them that hold objects.
    objects_of: BTreeMap<Part, usize>,
}

impl<'a> NewStore<'a> {
    fn make(folder: &'a Folder, extent: Extent) -> Result<Self> {
        let path = folder.database();
        // SQLite would make one that others of the machine may read, as soon as the folder is opened for them.
        let made = private_options().create_new(true).open(&path);
        made.map_err(BackupError::file("making", &path))?;
        let db = Connection::open(path)?;
        // A restore that ends too early leaves nothing: no log of what was before is needed.
        db.pragma_update(None, "page_size", 4096)?;
        schema::let_pages_go(&db)?;
        db.pragma_update(None, "journal_mode", "off")?;
        db.pragma_update(None, "synchronous", "off")?;
        db.pragma_update(None, "cache_size", -16_384)?;
        schema::make_tables(&db)?;
        Ok(Self {
            folder,
            extent,
            db,
            dirs: BTreeSet::new(),
            broken: Vec::new(),
            objects_of: BTreeMap::new(),
        })
    }

    fn take(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()> {
        if let Some(path) = self.file_of(part) {
            return self.file(&path, bytes, body);
        }
        match part {
            Part::Objects(span) => {
                let mut rows: Vec<ObjectEntry> = self.rows_of(part, bytes, body);
                if self.extent == Extent::WhatIsSound {
                    self.keep_sound(part, *span, &mut rows);
                }
                self.objects(&rows)
            }
            Part::Records(_) => {
                let rows = self.rows_of(part, bytes, body);
                self.records(&rows)
            }
            Part::Format | Part::Blob(_) | Part::Secret { .. } => Ok(()),
        }
    }

    /// The file that a part becomes.
    fn file_of(&self, part: &Part) -> Option<PathBuf> {
        match part {
            Part::Blob(id) => Some(blob_path(self.folder, *id)),
            Part::Secret { name, .. } => Some(self.folder.secrets().join(name)),
            Part::Format | Part::Objects(_) | Part::Records(_) => None,
        }
    }

    /// Removes the file that a part has become. Of rows those that are not sound were not taken.
    fn leave_out(&self, part: &Part) -> Result<()> {
        let Some(path) = self.file_of(part) else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                Err(BackupError::file("removing", path)(e))
            }
            _ => Ok(()),
        }
    }

    /// The rows of a part, as far as it holds rows.
    fn rows_of<R: Encoded>(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Vec<R> {
        read_rows(bytes, body).unwrap_or_else(|rows| {
            self.broken.push(part.clone());
            rows
        })
    }

    /// Leaves out the rows that are not as they were written. Which number a row has its own sum does not say.
    fn keep_sound(&mut self, part: &Part, span: Span, rows: &mut Vec<ObjectEntry>) {
        let (read, mut numbers) = (rows.len(), BTreeSet::new());
        rows.retain(|row| {
            let is_in = (span.first..=span.last).contains(&row.seq);
            is_in && row.fault().is_none() && numbers.insert(row.seq)
        });
        if rows.len() < read {
            self.broken.push(part.clone());
        }
        self.objects_of.insert(part.clone(), rows.len());
    }

    fn file(&mut self, path: &Path, bytes: u64, body: &mut dyn Read) -> Result<()> {
        let written = |action| BackupError::file(action, path);
        self.dirs.extend(path.parent().map(Path::to_owned));
        let mut options = private_options();
        let mut file = options
            .create_new(true)
            .open(path)
            .map_err(written("making"))?;
        let capacity = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut body = io::BufReader::with_capacity(capacity.clamp(1, BLOCK_BYTES), body);
        io::copy(&mut body, &mut file).map_err(written("writing"))?;
        file.sync_all().map_err(written("syncing"))
    }

    fn objects(&mut self, rows: &[ObjectEntry]) -> Result<()> {
        let tx = self.db.transaction()?;
        let mut put = tx.prepare_cached(
            "INSERT INTO object (seq, id, kind, size, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut pieces = tx.prepare_cached("INSERT INTO outboard (seq, pieces) VALUES (?1, ?2)")?;
        for row in rows {
            let (id, kind) = (row.id.as_bytes(), row.kind.code());
            put.execute(params![row.seq, id, kind, row.size, row.sha256, row.bytes])?;
            if let Some(outboard) = &row.outboard {
                pieces.execute(params![row.seq, outboard])?;
            }
        }
        drop((put, pieces));
        Ok(tx.commit()?)
    }

    fn records(&mut self, rows: &[RecordEntry]) -> Result<()> {
        let tx = self.db.transaction()?;
        // Of a damaged store, an earlier value may have been kept beside a later one.
        let mut put = tx.prepare_cached(
            "INSERT INTO record (version, key, value, checksum) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO UPDATE SET
                version = excluded.version, value = excluded.value, checksum = excluded.checksum
             WHERE excluded.version > version",
        )?;
        let mut bury = tx.prepare_cached("INSERT INTO tombstone (version, key) VALUES (?1, ?2)")?;
        for row in rows {
            match &row.value {
                Some((value, checksum)) => {
                    put.execute(params![row.version, row.key, value, checksum])?
                }
                None => bury.execute(params![row.version, row.key])?,
            };
        }
        drop((put, bury));
        Ok(tx.commit()?)
    }

    /// Makes what is made of the rows, and brings all to the disk.
    fn finish(self) -> Result<()> {
        self.db.execute_batch(&format!(
            "BEGIN;
             {REMOVE_DELETED};
             INSERT OR REPLACE INTO object_index (id, seq) SELECT id, seq FROM object ORDER BY id, seq;
             UPDATE indexed SET seq = (SELECT coalesce(max(seq), 0) FROM object);
             COMMIT;"
        ))?;
        let version = schema::last_version(&self.db)?;
        let mode: String = self
            .db
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(BackupError::Refused(
                "the database cannot use a write-ahead log here".to_owned(),
            ));
        }
        let database = self.folder.database();
        self.db.close().map_err(|(_, e)| e)?;
        let synced = File::open(&database).and_then(|file| file.sync_all());
        synced.map_err(BackupError::file("syncing", database))?;
        if version > 0 {
            high_water::set(self.folder, version)?;
        }
        for dir in self.dirs {
            sync_dir(&dir).map_err(BackupError::file("syncing", dir))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_later_is_removed_without_a_look_at_every_record() {
        let db = Connection::open_in_memory().unwrap();
        schema::make_tables(&db).unwrap();
        db.execute_batch(
            "INSERT INTO record (version, key, value) VALUES
                 (1, 'deleted', x''), (2, 'kept', x''), (5, 'again', x''), (8, 'between', x'');
             INSERT INTO tombstone (version, key) VALUES
                 (3, 'deleted'), (4, 'again'), (6, 'deleted'), (7, 'between'), (9, 'between'), (10, 'unknown');",
        )
        .unwrap();
        let texts = |sql: &str, column: usize| {
            let mut list = db.prepare(sql).unwrap();
            let rows = list.query_map([], |row| row.get::<_, String>(column));
            let texts: rusqlite::Result<Vec<_>> = rows.unwrap().collect();
            texts.unwrap()
        };
        let plan = texts(&format!("EXPLAIN QUERY PLAN {REMOVE_DELETED}"), 3);
        assert!(
            plan.iter().all(|step| !step.starts_with("SCAN record")),
            "{plan:?}"
        );
        db.execute_batch(REMOVE_DELETED).unwrap();
        assert_eq!(
            texts("SELECT key FROM record ORDER BY key", 0),
            ["again", "kept"]
        );
    }
}
