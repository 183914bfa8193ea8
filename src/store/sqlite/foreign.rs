//! Noticing that another process has written.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::writer::last_version;
use crate::store::{Result, StoreError, Version};

/// The first bytes of the log's index, which every commit of every process changes: SQLite's format
/// keeps a counter of changes and the log's length in them.
const INDEX_HEAD_BYTES: usize = 24;

/// Counts the occasions on which another process was found to have written.
#[derive(Debug)]
pub(super) struct Foreign {
    found: AtomicU64,
    /// The last version that this process wrote or took note of.
    noted: AtomicU64,
    index: File,
    /// The head of the index when the database was last asked.
    seen: AtomicU64,
    watch: Mutex<Watch>,
}

#[derive(Debug)]
struct Watch {
    db: Connection,
    /// What changes with every commit that another connection makes.
    data_version: i64,
}

impl Foreign {
    /// Watches the database at `path` over a connection of its own.
    pub(super) fn new(path: &Path, db: Connection) -> Result<Self> {
        let data_version = data_version(&db)?;
        let noted = AtomicU64::new(last_version(&db)?);
        let mut index = path.as_os_str().to_owned();
        index.push("-shm");
        let index = File::open(index).map_err(|e| StoreError::io("opening the log's index", e))?;
        Ok(Self {
            found: AtomicU64::new(0),
            noted,
            index,
            seen: AtomicU64::new(0),
            watch: Mutex::new(Watch { db, data_version }),
        })
    }

    /// The count as of now. Where nothing at all was written this costs one short read; only after
    /// a change is the database asked whose it was.
    pub(super) fn found(&self) -> Result<u64> {
        let head = self.index_head()?;
        if self.seen.load(Ordering::Acquire) != head {
            let mut watch = self.watch.lock().expect("no panic while held");
            let data_version = data_version(&watch.db)?;
            if data_version != watch.data_version {
                self.note(last_version(&watch.db)?);
                watch.data_version = data_version;
            }
            self.seen.store(head, Ordering::Release);
        }
        Ok(self.found.load(Ordering::Acquire))
    }

    /// The counter of changes and the length of the log.
    fn index_head(&self) -> Result<u64> {
        let mut head = [0; INDEX_HEAD_BYTES];
        self.index
            .read_exact_at(&mut head, 0)
            .map_err(|e| StoreError::io("reading the log's index", e))?;
        let word = |at: usize| {
            u64::from(u32::from_ne_bytes([
                head[at],
                head[at + 1],
                head[at + 2],
                head[at + 3],
            ]))
        };
        Ok(word(8) << 32 | word(16))
    }

    /// Takes note of the version that a transaction of ours begins on.
    pub(super) fn note(&self, version: Version) {
        if self.noted.fetch_max(version, Ordering::AcqRel) < version {
            self.found.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes note of a version that we wrote ourselves, before anybody is told.
    pub(super) fn note_own(&self, version: Version) {
        self.noted.fetch_max(version, Ordering::AcqRel);
    }
}

fn data_version(db: &Connection) -> Result<i64> {
    Ok(db
        .prepare_cached("PRAGMA data_version")?
        .query_one([], |row| row.get(0))?)
}
