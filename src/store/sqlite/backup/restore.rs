//! Making a store of a backup.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::error::{BackupError, Result, Tell};
use super::part::Part;
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
}

/// Makes a store of a backup, in a folder that is empty or not there. It has the format of the store that
/// was backed up.
///
/// # Errors
/// [`BackupError`]; then the folder is as it was. [`BackupError::Refused`] for a folder that is not
/// empty, and a backup that is not as its manifest says.
///
/// # Durability
/// When it returns, the store is whole, and on the disk. Killed before, it leaves a folder that is not
/// taken for a store.
pub fn restore(source: Source<'_>, root: &Path, tell: &mut Tell<'_>) -> Result<Restored> {
    source.refuse_related(root)?;
    let restoring = Restoring::begin(root)?;
    let folder = restoring.folder().clone();
    let mut store = NewStore::make(&folder)?;
    let manifest = source.read_all(
        tell,
        &mut |part, bytes, body| store.take(part, bytes, body),
        &mut |fault| {
            Err(BackupError::Refused(format!(
                "the backup is not what was written: {fault}; nothing is restored of it"
            )))
        },
    )?;
    store.finish()?;
    let mut restores = manifest.restores.clone();
    restores.push(Restore::of(manifest.version));
    folder.note_restores(&restores)?;
    restoring.finish(manifest.store)?;
    Ok(Restored {
        at: manifest.at,
        version: manifest.version,
        format: manifest.store,
        bytes: manifest.bytes(),
    })
}

/// A store that is filled.
struct NewStore<'a> {
    folder: &'a Folder,
    db: Connection,
    /// Folders in which there are new names.
    dirs: BTreeSet<PathBuf>,
}

impl<'a> NewStore<'a> {
    fn make(folder: &'a Folder) -> Result<Self> {
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
            db,
            dirs: BTreeSet::new(),
        })
    }

    fn take(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()> {
        match part {
            Part::Format => Ok(()),
            Part::Blob(id) => self.file(&blob_path(self.folder, *id), bytes, body),
            Part::Secret { name, .. } => self.file(&self.folder.secrets().join(name), bytes, body),
            Part::Objects(_) => {
                let rows = rows_of(part, bytes, body)?;
                self.objects(&rows)
            }
            Part::Records(_) => {
                let rows = rows_of(part, bytes, body)?;
                self.records(&rows)
            }
        }
    }

    fn file(&mut self, path: &Path, bytes: u64, body: &mut dyn Read) -> Result<()> {
        let written = |action| BackupError::file(action, path);
        let mut options = private_options();
        let mut file = options
            .create_new(true)
            .open(path)
            .map_err(written("making"))?;
        let capacity = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut body = io::BufReader::with_capacity(capacity.clamp(1, BLOCK_BYTES), body);
        io::copy(&mut body, &mut file).map_err(written("writing"))?;
        file.sync_all().map_err(written("syncing"))?;
        self.dirs.extend(path.parent().map(Path::to_owned));
        Ok(())
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
        self.db.execute_batch(
            "BEGIN;
             DELETE FROM record WHERE EXISTS (
                 SELECT 1 FROM tombstone
                 WHERE tombstone.key = record.key AND tombstone.version > record.version
             );
             INSERT OR REPLACE INTO object_index (id, seq) SELECT id, seq FROM object ORDER BY id, seq;
             UPDATE indexed SET seq = (SELECT coalesce(max(seq), 0) FROM object);
             COMMIT;",
        )?;
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

fn rows_of<R: Encoded>(part: &Part, bytes: u64, body: &mut dyn Read) -> Result<Vec<R>> {
    let rows = read_rows(bytes, body).map_err(BackupError::file("reading", part.to_string()))?;
    rows.ok_or_else(|| BackupError::Refused(format!("{part} holds no rows")))
}
