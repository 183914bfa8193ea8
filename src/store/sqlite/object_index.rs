//! Where each object lies: an index that follows the objects at a distance.
//!
//! Ids are random. Entered one by one, each would dirty a page of the index, which is more to write
//! than most objects are. So the newest objects are known by heart, here, and are entered into the
//! index's table many at once in the order of their ids, when one page takes several. A process that
//! opens the store, or finds that another has written, reads the ids of the rows it has not met.

use std::collections::{BTreeSet, HashMap};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, params};

use super::salvage::{PAGE_ROWS, Table, next_readable, read_page};
use crate::base::id::ObjectId;
use crate::base::limits::OBJECTS_UNINDEXED;

/// Objects that one step enters into the table, at least.
const ENTERED_AT_ONCE: usize = 2048;
/// Most steps until all are entered, so that those which come meanwhile stay few.
const STEPS_MAX: usize = 32;

const NEWEST: Table = Table {
    holds: "objects",
    rows: "SELECT seq, id FROM object WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
};

/// Finds the row of an object.
#[derive(Debug, Default)]
pub(super) struct Index {
    newest: RwLock<Newest>,
}

#[derive(Debug, Default)]
struct Newest {
    /// The last row that is in the table or below; `None` before the first look.
    upto: Option<i64>,
    rows: HashMap<ObjectId, i64>,
}

impl Index {
    /// The row number of an object.
    pub(super) fn find(&self, db: &Connection, id: ObjectId) -> rusqlite::Result<Option<i64>> {
        if let Some(row) = self.find_known(db, id)? {
            return Ok(Some(row));
        }
        self.catch_up(db)?;
        // Both again: another thread or process may have entered it meanwhile.
        self.find_known(db, id)
    }

    /// The row number of an object that was there when [`Index::catch_up`] was called.
    pub(super) fn find_known(
        &self,
        db: &Connection,
        id: ObjectId,
    ) -> rusqlite::Result<Option<i64>> {
        // In this order: an object leaves the newest only when it is in the table.
        if let Some(row) = self.newest().rows.get(&id) {
            return Ok(Some(*row));
        }
        db.prepare_cached("SELECT seq FROM object_index WHERE id = ?1")?
            .query_one([id.as_bytes()], |row| row.get(0))
            .optional()
    }

    /// At most `limit` ids that start with these bytes, in order.
    pub(super) fn with_prefix(
        &self,
        db: &Connection,
        prefix: &[u8],
        limit: usize,
    ) -> rusqlite::Result<Vec<ObjectId>> {
        self.catch_up(db)?;
        let newest: Vec<_> = {
            let newest = self.newest();
            let ids = newest.rows.keys().copied();
            ids.filter(|id| id.as_bytes().starts_with(prefix)).collect()
        };
        let mut last = prefix.to_vec();
        last.resize(ObjectId::BYTES, 0xff);
        let mut list = db.prepare_cached(
            "SELECT id FROM object_index WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
        )?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let entered = list.query_map(params![prefix, last, most], |row| {
            Ok(ObjectId::from_bytes(row.get(0)?))
        })?;
        let mut ids = entered.collect::<rusqlite::Result<BTreeSet<_>>>()?;
        ids.extend(newest);
        Ok(ids.into_iter().take(limit).collect())
    }

    /// Reads the ids of rows not met before. What cannot be read for damage is passed over: it is
    /// missing then, and the next save of the same bytes puts it again.
    pub(super) fn catch_up(&self, db: &Connection) -> rusqlite::Result<()> {
        let last = last_row(db)?.min(i64::MAX - 1);
        if self.newest().upto.is_some_and(|upto| upto >= last) {
            return Ok(());
        }
        let mut newest = self.newest_mut();
        let mut from = match newest.upto {
            Some(upto) => upto + 1,
            None => entered_upto(db)? + 1,
        };
        while from <= last {
            let began = from;
            let mut met = Vec::new();
            let id = |row: &rusqlite::Row<'_>| Ok(Ok(ObjectId::from_bytes(row.get(1)?)));
            let page = read_page(db, &NEWEST, from, id, &mut met);
            let count = met.len();
            for (row, id) in met {
                // A damaged number must neither lead back nor far ahead.
                if !(from..=last).contains(&row) {
                    continue;
                }
                from = row + 1;
                match id {
                    Ok(id) => drop(newest.rows.insert(id, row)),
                    Err(fault) => tracing::error!(fault, "an object is lost"),
                }
            }
            match page {
                Ok(()) if i64::try_from(count).is_ok_and(|count| count < PAGE_ROWS) => break,
                Ok(()) if from == began => break,
                Ok(()) => {}
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                    tracing::error!(%error, from, "objects cannot be read");
                    let Some(next) = next_readable(db, &NEWEST, from) else {
                        break;
                    };
                    from = next;
                }
                Err(error) => return Err(error),
            }
        }
        newest.upto = newest.upto.max(Some(last));
        Ok(())
    }

    /// Takes note of rows that a transaction of ours has put. It began with [`Index::catch_up`], and
    /// nobody else has written meanwhile.
    pub(super) fn add(&self, rows: HashMap<ObjectId, i64>) {
        let mut newest = self.newest_mut();
        newest.upto = newest.upto.max(rows.values().copied().max());
        newest.rows.extend(rows);
    }

    /// True when objects are to be entered into the table.
    pub(super) fn is_due(&self) -> bool {
        self.newest().rows.len() >= OBJECTS_UNINDEXED
    }

    /// Enters what is due into the table, a step at a time; `None` while it is little.
    pub(super) fn entering(&self) -> Option<Entering> {
        if !self.is_due() {
            return None;
        }
        let newest = self.newest();
        let upto = newest.upto?;
        let mut rows: Vec<_> = newest.rows.iter().map(|(id, row)| (*id, *row)).collect();
        drop(newest);
        rows.sort_unstable();
        Some(Entering {
            rows,
            entered: 0,
            upto,
        })
    }

    /// Forgets rows up to this one: they are in the table.
    fn forget(&self, upto: i64) {
        self.newest_mut().rows.retain(|_, row| *row > upto);
    }

    fn newest(&self) -> RwLockReadGuard<'_, Newest> {
        self.newest.read().expect("no panic while held")
    }

    fn newest_mut(&self) -> RwLockWriteGuard<'_, Newest> {
        self.newest.write().expect("no panic while held")
    }
}

/// Objects on their way into the table. Given up between two steps, it has done no harm: what was
/// entered is entered again, which changes nothing.
#[derive(Debug)]
pub(super) struct Entering {
    /// In the order of their ids, so that one page of the table after the other fills.
    rows: Vec<(ObjectId, i64)>,
    entered: usize,
    upto: i64,
}

impl Entering {
    /// Enters some more in a transaction of its own. True when that was the last.
    pub(super) fn step(&mut self, index: &Index, db: &mut Connection) -> rusqlite::Result<bool> {
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let some = self.rows.len().div_ceil(STEPS_MAX).max(ENTERED_AT_ONCE);
        let end = (self.entered + some).min(self.rows.len());
        self.enter(&tx, end)?;
        let last = end == self.rows.len();
        if last {
            tx.execute("UPDATE indexed SET seq = max(seq, ?1)", [self.upto])?;
        }
        tx.commit()?;
        self.entered = end;
        if last {
            index.forget(self.upto);
        }
        Ok(last)
    }

    fn enter(&self, tx: &Transaction<'_>, end: usize) -> rusqlite::Result<()> {
        let mut enter =
            tx.prepare_cached("INSERT OR IGNORE INTO object_index (id, seq) VALUES (?1, ?2)")?;
        for (id, row) in &self.rows[self.entered..end] {
            enter.execute(params![id.as_bytes(), row])?;
        }
        Ok(())
    }
}

/// The last row up to which objects are in the table.
fn entered_upto(db: &Connection) -> rusqlite::Result<i64> {
    db.query_one("SELECT seq FROM indexed", [], |row| row.get(0))
}

fn last_row(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(seq), 0) FROM object")?
        .query_one([], |row| row.get(0))
}
