//! What the engine counts of its own work.

use std::fs;

use rusqlite::Connection;

use super::SqliteStore;
use super::collection::state::State;
use crate::base::id::Kind;
use crate::base::tally::{BATCHES, Count, Spread};
use crate::store::Result;

/// What was counted since the store was opened.
#[derive(Debug)]
pub struct Tallies {
    /// How many batches shared each commit.
    pub batches: Spread,
    /// How long commits took, with their sync.
    pub commits: Spread,
    /// How long copies of the log into the database took.
    pub checkpoints: Spread,
    /// Batches that found no room.
    pub refused_full: Count,
    /// Batches that another writer stood in the way of.
    pub refused_busy: Count,
    /// Batches after the failed write that ended all writing.
    pub refused_stopped: Count,
    /// Reads of the database, of any kind.
    pub reads: Count,
}

impl Default for Tallies {
    fn default() -> Self {
        Self {
            batches: Spread::new(BATCHES),
            commits: Spread::of_durations(),
            checkpoints: Spread::of_durations(),
            refused_full: Count::new(),
            refused_busy: Count::new(),
            refused_stopped: Count::new(),
            reads: Count::new(),
        }
    }
}

/// What objects there are of a kind in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCount {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Counts objects, a part of them at a time: those that came since it was asked last, and after a
/// collection all of them anew.
#[derive(Clone, Debug, Default)]
pub struct ObjectCensus {
    /// By the code of the kind: those in rows, those in files.
    counts: [[ObjectCount; 2]; Kind::ALL.len()],
    /// The last row that was counted.
    last: i64,
    /// How many collections had begun or ended by then.
    epoch: i64,
}

impl ObjectCensus {
    /// Each kind with what of it is in rows, and in files.
    pub fn counts(&self) -> impl Iterator<Item = (Kind, [ObjectCount; 2])> {
        Kind::ALL.into_iter().zip(self.counts)
    }
}

impl SqliteStore {
    /// What was counted since it was opened.
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Length of the log's file, in bytes. Its room is used again once its content is in the database.
    pub fn log_bytes(&self) -> u64 {
        bytes_of(&self.folder.log())
    }

    /// Length of the database's file, in bytes.
    pub fn database_bytes(&self) -> u64 {
        bytes_of(&self.folder.database())
    }

    /// Bytes of the database that hold nothing and are used again.
    pub fn unused_bytes(&self) -> Result<u64> {
        self.read(|db| {
            let number = |pragma: &str| db.query_one(pragma, [], |row| row.get::<_, u64>(0));
            Ok(number("PRAGMA freelist_count")? * number("PRAGMA page_size")?)
        })
    }

    /// Counts on, at most so many rows. True if there may be more.
    pub fn count_objects(&self, census: &mut ObjectCensus, rows_max: u32) -> Result<bool> {
        let counted = self.read(|db| Ok(count(db, census, rows_max)?))?;
        Ok(counted == rows_max)
    }
}

fn bytes_of(path: &std::path::Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

fn count(db: &Connection, census: &mut ObjectCensus, rows_max: u32) -> rusqlite::Result<u32> {
    let epoch = State::read(db)?.epoch();
    if epoch != census.epoch {
        *census = ObjectCensus {
            epoch,
            ..ObjectCensus::default()
        };
    }
    let mut list = db.prepare_cached(
        "SELECT seq, kind, size, typeof(bytes) = 'null' FROM object WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let mut rows = list.query((census.last, rows_max))?;
    let mut counted = 0;
    while let Some(row) = rows.next()? {
        counted += 1;
        census.last = row.get(0)?;
        let (kind, size): (u8, i64) = (row.get(1)?, row.get(2)?);
        let place = usize::from(row.get::<_, bool>(3)?);
        // What has another kind or size is for `debug check`.
        let kind = Kind::ALL.iter().position(|known| known.code() == kind);
        if let (Some(kind), Ok(size)) = (kind, u64::try_from(size)) {
            let count = &mut census.counts[kind][place];
            count.objects += 1;
            count.bytes = count.bytes.saturating_add(size);
        }
    }
    Ok(counted)
}
