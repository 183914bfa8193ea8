//! What a commit must know of collections (`objects-layout.md`, "Collection").

use rusqlite::{Connection, Transaction, params};

use crate::store::sqlite::object_index::last_row;

/// The state of collections as a transaction finds it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store::sqlite) struct State {
    /// How many collections have begun or ended.
    pub(super) epoch: i64,
    /// The last row that the collection under way may remove, 0 while there is none.
    pub(super) scope: i64,
    /// The last row that was ever given.
    pub(super) last: i64,
}

impl State {
    /// Reads it.
    pub(in crate::store::sqlite) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let mut read = db.prepare_cached("SELECT epoch, scope, last FROM collection")?;
        let state = read.query_one([], |row| {
            Ok(Self {
                epoch: row.get(0)?,
                scope: row.get(1)?,
                last: row.get(2)?,
            })
        })?;
        let last = state.last.max(last_row(db)?);
        Ok(Self { last, ..state })
    }

    /// How many collections have begun or ended.
    pub(in crate::store::sqlite) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The number of the next row. No number is given twice, even where the last rows were removed: a
    /// collection knows by it what was put since it began.
    pub(in crate::store::sqlite) fn next_row(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// True for a row that the collection under way may remove.
    pub(in crate::store::sqlite) fn may_remove(&self, row: i64) -> bool {
        row <= self.scope
    }

    /// Keeps a row from the collection under way, and from later ones while a pin of today is held.
    pub(in crate::store::sqlite) fn touch(
        &self,
        tx: &Transaction<'_>,
        row: i64,
    ) -> rusqlite::Result<()> {
        let mut touch = tx.prepare_cached(
            "INSERT INTO touched (seq, epoch) VALUES (?1, ?2)
             ON CONFLICT (seq) DO UPDATE SET epoch = excluded.epoch WHERE epoch < excluded.epoch",
        )?;
        touch.execute(params![row, self.epoch])?;
        Ok(())
    }
}
