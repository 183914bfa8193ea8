//! The objects that are kept: a bit for each row.

use rusqlite::{OptionalExtension, params};

use crate::base::id::ObjectId;
use crate::base::limits::MARKS_REMEMBERED;
use crate::store::collection::Need;
use crate::store::sqlite::SqliteStore;
use crate::store::{Result, StoreError};

/// Objects that were marked, by the numbers of their rows.
///
/// # Limits
/// Memory of two bits for each row of the store, and 8 MiB.
#[derive(Debug)]
pub struct Marks {
    all: Vec<u64>,
    /// Those that heads lead to.
    live: Vec<u64>,
    /// Objects that were marked lately, each at a place that its id tells: most that trees name were,
    /// and their rows need not be looked for.
    lately: Vec<ObjectId>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            live: Vec::new(),
            lately: vec![ObjectId::from_bytes([0; ObjectId::BYTES]); MARKS_REMEMBERED],
        }
    }
}

impl Marks {
    /// Marks an object. False if it was marked before.
    ///
    /// # Errors
    /// [`StoreError::Missing`], also where the index leads to another row: the mark of that one would
    /// tell that it was marked, and what it leads to would be passed.
    pub(super) fn mark(&mut self, store: &SqliteStore, id: ObjectId, need: Need) -> Result<bool> {
        let place = usize::from_le_bytes(id.as_bytes()[..8].try_into().expect("eight bytes"))
            % MARKS_REMEMBERED;
        if self.lately[place] == id {
            return Ok(false);
        }
        let row = store.read(|db| {
            let mut find =
                db.prepare_cached("SELECT seq FROM object WHERE seq = ?1 AND id = ?2")?;
            store.in_row(db, id, |row| {
                let row = find.query_one(params![row, id.as_bytes()], |row| row.get(0));
                row.optional()
            })
        })?;
        let row = row.ok_or(StoreError::Missing { id })?;
        let is_new = set(&mut self.all, row);
        if is_new && need == Need::Live {
            set(&mut self.live, row);
        }
        self.lately[place] = id;
        Ok(is_new)
    }

    /// What needs a row, `None` where it was not marked.
    pub(super) fn need(&self, row: i64) -> Option<Need> {
        if !has(&self.all, row) {
            None
        } else if has(&self.live, row) {
            Some(Need::Live)
        } else {
            Some(Need::Old)
        }
    }
}

/// Sets the bit of a row. False if it was set before.
fn set(words: &mut Vec<u64>, row: i64) -> bool {
    let (word, bit) = place_of(row);
    if word >= words.len() {
        words.resize(word + word / 2 + 1, 0);
    }
    let is_new = words[word] & bit == 0;
    words[word] |= bit;
    is_new
}

fn has(words: &[u64], row: i64) -> bool {
    let (word, bit) = place_of(row);
    words.get(word).is_some_and(|word| word & bit != 0)
}

fn place_of(row: i64) -> (usize, u64) {
    let row = row.cast_unsigned();
    (
        usize::try_from(row / 64).unwrap_or(usize::MAX),
        1 << (row % 64),
    )
}
