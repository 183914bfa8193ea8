//! Where each object lies: a table in the order of the ids, and an in-memory tail of the newest
//! objects that is merged into it in key order, as in an LSM tree.
//!
//! Ids are random. Inserted one by one, each would dirty a page of the table, which is more to write
//! than most objects are. Merged many at once in the order of their ids, several share a page. A
//! process that opens the store, or finds that another has written, reads the ids of the rows that it
//! has not seen.

use std::collections::{BTreeSet, HashMap};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::failure::is_damage;
use super::salvage::{PAGE_ROWS, Table, next_readable, read_page};
use crate::base::id::ObjectId;
use crate::base::limits::OBJECTS_UNINDEXED;

/// Objects that one step of a merge inserts into the table, at least.
const MERGED_AT_ONCE: usize = 2048;
/// Most steps of a merge, so that few objects come meanwhile.
const STEPS_MAX: usize = 32;

const UNSEEN: Table = Table {
    holds: "objects",
    rows: "SELECT seq, id FROM object WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
};

/// Finds the row of an object.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex {
    tail: RwLock<UnindexedTail>,
}

/// The rows of the newest objects, which are not in the table yet.
#[derive(Debug, Default)]
struct UnindexedTail {
    /// The last row that was seen: it is in the table or here. `None` before the first look.
    last: Option<i64>,
    rows: HashMap<ObjectId, i64>,
    /// Rows up to this one are in the table and not here.
    indexed: i64,
    /// The first row that could not be read and was skipped.
    unread: Option<i64>,
}

impl ObjectIndex {
    /// The row number of an object.
    pub(super) fn find(&self, db: &Connection, id: ObjectId) -> rusqlite::Result<Option<i64>> {
        if let Some(row) = self.find_known(db, id)? {
            return Ok(Some(row));
        }
        self.catch_up(db)?;
        // Both again: another thread or process may have merged it into the table meanwhile.
        self.find_known(db, id)
    }

    /// The row number of an object that was there when [`ObjectIndex::catch_up`] was called.
    pub(super) fn find_known(
        &self,
        db: &Connection,
        id: ObjectId,
    ) -> rusqlite::Result<Option<i64>> {
        // In this order: an object leaves the tail only when it is in the table.
        if let Some(row) = self.tail().rows.get(&id) {
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
        // In this order, as above.
        let unindexed: Vec<_> = {
            let tail = self.tail();
            let ids = tail.rows.keys().copied();
            ids.filter(|id| id.as_bytes().starts_with(prefix)).collect()
        };
        let mut last = prefix.to_vec();
        last.resize(ObjectId::BYTES, 0xff);
        let mut list = db.prepare_cached(
            "SELECT id FROM object_index WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
        )?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let indexed = list.query_map(params![prefix, last, most], |row| {
            Ok(ObjectId::from_bytes(row.get(0)?))
        })?;
        let mut ids = indexed.collect::<rusqlite::Result<BTreeSet<_>>>()?;
        ids.extend(unindexed);
        Ok(ids.into_iter().take(limit).collect())
    }

    /// Reads the ids of rows that were not seen before and are not in the table: of what another process
    /// puts and merges, nothing is kept, nor of what a collection may have removed since, because it
    /// merges first. Rows that cannot be read, and not at a second try, are skipped: their objects are missing
    /// then, and the next save of the same bytes puts them again. The next merge tries them once more.
    pub(super) fn catch_up(&self, db: &Connection) -> rusqlite::Result<()> {
        let last = last_row(db)?.min(i64::MAX - 1);
        let indexed = last_indexed(db)?;
        let is_current = |tail: &UnindexedTail| {
            tail.last.is_some_and(|seen| seen >= last) && tail.indexed >= indexed
        };
        if is_current(&self.tail()) {
            return Ok(());
        }
        let mut tail = self.tail_mut();
        let indexed = last_indexed(db)?;
        if tail.indexed < indexed {
            tail.rows.retain(|_, row| *row > indexed);
            tail.indexed = indexed;
        }
        let mut from = tail.last.map_or(indexed, |seen| seen.max(indexed)) + 1;
        let mut failed_at = None;
        while from <= last {
            let began = from;
            let mut rows = Vec::new();
            let id = |row: &rusqlite::Row<'_>| Ok(Ok(ObjectId::from_bytes(row.get(1)?)));
            let page = read_page(db, &UNSEEN, from, id, &mut rows);
            let count = rows.len();
            for (row, id) in rows {
                // A damaged number must neither lead back nor far ahead.
                if !(from..=last).contains(&row) {
                    continue;
                }
                from = row + 1;
                match id {
                    Ok(id) => drop(tail.rows.insert(id, row)),
                    Err(fault) => tracing::error!(fault, "an object is lost"),
                }
            }
            match page {
                Ok(()) if i64::try_from(count).is_ok_and(|count| count < PAGE_ROWS) => break,
                Ok(()) if from == began => break,
                Ok(()) => {}
                // SQLite says so too of a disk that fails to give what it may give the next time.
                Err(error) if is_damage(&error) && failed_at != Some(from) => {
                    failed_at = Some(from);
                }
                Err(error) if is_damage(&error) => {
                    tracing::error!(%error, from, "objects cannot be read");
                    tail.unread = Some(tail.unread.map_or(from, |first| first.min(from)));
                    let Some(next) = next_readable(db, &UNSEEN, from) else {
                        break;
                    };
                    from = next;
                }
                Err(error) => return Err(error),
            }
        }
        tail.last = tail.last.max(Some(last));
        Ok(())
    }

    /// Adds rows that a transaction of this process has put. The transaction began with
    /// [`ObjectIndex::catch_up`], and no other has written since.
    pub(super) fn add(&self, rows: HashMap<ObjectId, i64>) {
        let mut tail = self.tail_mut();
        tail.last = tail.last.max(rows.values().copied().max());
        tail.rows.extend(rows);
    }

    /// True when the tail is long enough to be merged into the table.
    pub(super) fn is_merge_due(&self) -> bool {
        self.tail().rows.len() >= OBJECTS_UNINDEXED
    }

    /// The merge of the tail into the table, `None` while it is not due, or cannot be begun yet.
    pub(super) fn begin_merge(&self, db: &Connection) -> Option<IndexMerge> {
        if !self.is_merge_due() {
            return None;
        }
        let begun = self.merge_of_all(db).inspect_err(|error| {
            tracing::debug!(%error, "the index is not merged yet");
        });
        begun.ok().flatten()
    }

    /// The merge of the tail into the table, due or not.
    pub(super) fn merge_of_all(&self, db: &Connection) -> rusqlite::Result<Option<IndexMerge>> {
        self.read_again(db)?;
        let tail = self.tail();
        let Some(last) = tail.last else {
            return Ok(None);
        };
        let mut rows: Vec<_> = tail.rows.iter().map(|(id, row)| (*id, *row)).collect();
        drop(tail);
        rows.sort_unstable();
        Ok(Some(IndexMerge {
            rows,
            merged: 0,
            last,
        }))
    }

    /// Tries what was skipped once more: what a merge leaves out of the table is not looked for again.
    fn read_again(&self, db: &Connection) -> rusqlite::Result<()> {
        let mut tail = self.tail_mut();
        let Some(unread) = tail.unread.take() else {
            return Ok(());
        };
        tail.last = Some(unread - 1);
        drop(tail);
        self.catch_up(db)
    }

    /// Drops rows up to this one from the tail: they are in the table.
    fn shorten_tail(&self, last: i64) {
        let mut tail = self.tail_mut();
        tail.rows.retain(|_, row| *row > last);
        tail.indexed = tail.indexed.max(last);
    }

    fn tail(&self) -> RwLockReadGuard<'_, UnindexedTail> {
        self.tail.read().expect("no panic while held")
    }

    fn tail_mut(&self) -> RwLockWriteGuard<'_, UnindexedTail> {
        self.tail.write().expect("no panic while held")
    }
}

/// A merge of the tail into the table, in steps between which batches are committed. It may end after
/// any step: the next merge inserts the same rows again, which changes nothing.
#[derive(Debug)]
pub(super) struct IndexMerge {
    /// In the order of the ids, so that the pages of the table fill one after the other.
    rows: Vec<(ObjectId, i64)>,
    /// How many of them are in the table.
    merged: usize,
    /// The last row that the tail had seen when the merge began.
    last: i64,
}

impl IndexMerge {
    /// Inserts some rows, at most so many, in a transaction of their own. True if these were the last.
    pub(super) fn step(
        &mut self,
        index: &ObjectIndex,
        db: &mut Connection,
        most: usize,
    ) -> rusqlite::Result<bool> {
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let some = self
            .rows
            .len()
            .div_ceil(STEPS_MAX)
            .max(MERGED_AT_ONCE)
            .min(most);
        let end = (self.merged + some).min(self.rows.len());
        // Up to there another process has merged them, and a collection may have removed them since.
        let indexed = last_indexed(&tx)?;
        self.insert(&tx, end, indexed)?;
        let last = end == self.rows.len();
        if last {
            tx.execute("UPDATE indexed SET seq = max(seq, ?1)", [self.last])?;
        }
        tx.commit()?;
        self.merged = end;
        if last {
            index.shorten_tail(self.last);
        }
        Ok(last)
    }

    fn insert(&self, tx: &Transaction<'_>, end: usize, indexed: i64) -> rusqlite::Result<()> {
        let mut insert =
            // An object may have come again because its row was damaged.
            tx.prepare_cached(
                "INSERT INTO object_index (id, seq) VALUES (?1, ?2)
                 ON CONFLICT (id) DO UPDATE SET seq = excluded.seq WHERE seq <> excluded.seq",
            )?;
        let new = self.rows[self.merged..end].iter();
        for (id, row) in new.filter(|(_, row)| *row > indexed) {
            insert.execute(params![id.as_bytes(), row])?;
        }
        Ok(())
    }
}

/// The row up to which objects are in the table.
fn last_indexed(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT seq FROM indexed")?
        .query_one([], |row| row.get(0))
}

pub(super) fn last_row(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(seq), 0) FROM object")?
        .query_one([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::store::sqlite::data_folder::Folder;
    use crate::store::sqlite::schema;

    #[test]
    fn an_object_that_is_merged_while_it_is_looked_for_is_found() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let mut writing = schema::open_writer(&folder.database()).unwrap();
        schema::make_tables(&writing).unwrap();
        let mut reading = schema::open_reader(&folder.database()).unwrap();
        let index = Arc::new(ObjectIndex::default());
        // Prepares the statements: nothing else is to run while the object is looked for.
        let id = ObjectId::from_bytes([7; ObjectId::BYTES]);
        assert_eq!(index.find(&reading, id).unwrap(), None);
        writing
            .execute(
                "INSERT INTO object (seq, id, kind, size) VALUES (5, ?1, 1, 0)",
                [id.as_bytes()],
            )
            .unwrap();
        let mut merge = IndexMerge {
            rows: vec![(id, 5)],
            merged: 0,
            last: 5,
        };
        let (merging, merged) = (Arc::clone(&index), Arc::new(AtomicBool::new(false)));
        let is_merged = Arc::clone(&merged);
        // Called when the first statement, the look into the table, has found nothing.
        let meanwhile = move || {
            if !is_merged.swap(true, Ordering::Relaxed) {
                merging.catch_up(&writing).unwrap();
                assert!(merge.step(&merging, &mut writing, usize::MAX).unwrap());
            }
            false
        };
        reading.progress_handler(4, Some(meanwhile)).unwrap();
        assert_eq!(index.find(&reading, id).unwrap(), Some(5));
        assert!(merged.load(Ordering::Relaxed));
    }

    #[test]
    fn what_another_process_has_merged_is_not_kept_in_memory() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let mut other = schema::open_writer(&folder.database()).unwrap();
        schema::make_tables(&other).unwrap();
        let reading = schema::open_reader(&folder.database()).unwrap();
        let (ours, theirs) = (ObjectIndex::default(), ObjectIndex::default());
        let id = |row: u8| ObjectId::from_bytes([row; ObjectId::BYTES]);
        let put = |db: &Connection, rows: std::ops::RangeInclusive<u8>| {
            for row in rows {
                let sql = "INSERT INTO object (seq, id, kind, size) VALUES (?1, ?2, 1, 0)";
                db.execute(sql, params![row, id(row).as_bytes()]).unwrap();
            }
        };
        let merge_all = |db: &mut Connection| {
            theirs.catch_up(db).unwrap();
            let mut merge = IndexMerge {
                rows: theirs
                    .tail()
                    .rows
                    .iter()
                    .map(|(id, row)| (*id, *row))
                    .collect(),
                merged: 0,
                last: theirs.tail().last.unwrap(),
            };
            assert!(merge.step(&theirs, db, usize::MAX).unwrap());
        };
        put(&other, 1..=3);
        ours.catch_up(&reading).unwrap();
        assert_eq!(ours.tail().rows.len(), 3, "only we can find them");
        put(&other, 4..=50);
        merge_all(&mut other);
        put(&other, 51..=52);
        ours.catch_up(&reading).unwrap();
        assert_eq!(ours.tail().rows.len(), 2, "the others are in the table");
        for row in [1, 3, 4, 50, 51, 52] {
            let found = ours.find(&reading, id(row)).unwrap();
            assert_eq!(found, Some(i64::from(row)));
        }
        assert_eq!(ours.with_prefix(&reading, &[], 100).unwrap().len(), 52);
    }

    #[test]
    fn what_a_disk_gives_only_later_is_merged() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let path = folder.database();
        let db = schema::open_writer(&path).unwrap();
        schema::make_tables(&db).unwrap();
        let id = |row: u8| ObjectId::from_bytes([row; ObjectId::BYTES]);
        for row in 1..=99 {
            let sql = "INSERT INTO object (seq, id, kind, size, bytes) VALUES (?1, ?2, 1, 0, ?3)";
            db.execute(sql, params![row, id(row).as_bytes(), [row; 200]])
                .unwrap();
        }
        schema::keep_log(&db, false).unwrap();
        drop(db);
        let whole = std::fs::read(&path).unwrap();
        let at = whole.windows(200).position(|bytes| bytes == [50; 200]);
        let page = at.unwrap() / 4096 * 4096;
        let mut damaged = whole.clone();
        damaged[page..page + 4096].fill(0xff);
        std::fs::write(&path, damaged).unwrap();
        let index = ObjectIndex::default();
        let found = index.find(&schema::open_reader(&path).unwrap(), id(50));
        assert_eq!(found.unwrap(), None);
        std::fs::write(&path, whole).unwrap();
        let mut db = schema::open_writer(&path).unwrap();
        let mut merge = index.merge_of_all(&db).unwrap().unwrap();
        assert!(merge.step(&index, &mut db, usize::MAX).unwrap());
        for row in 1..=99 {
            let found = ObjectIndex::default().find(&db, id(row)).unwrap();
            assert_eq!(found, Some(i64::from(row)));
        }
    }
}
