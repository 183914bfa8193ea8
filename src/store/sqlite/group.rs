//! Several batches in one transaction, with one sync.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::collection::state::State;
use super::external_writes::ExternalWrites;
use super::failure::is_damage;
use super::object_index::ObjectIndex;
use super::schema;
use crate::base::digest::{object_id, record_checksum};
use crate::base::id::ObjectId;
use crate::base::limits::TOMBSTONES_KEPT;
use crate::store::{Batch, Expect, NewObject, Result, StoreError, Version};

/// Applies the batches in their order and commits those that can be applied; gives the outcome of
/// each. A batch sees what those before it wrote. Their writes are found as another process's until
/// [`ExternalWrites::end_own`] is told of them.
///
/// # Errors
/// An outer error means that nothing was committed.
pub(super) fn commit(
    db: &mut Connection,
    external: &ExternalWrites,
    index: &ObjectIndex,
    batches: &[&Batch],
) -> rusqlite::Result<Vec<Result<Version>>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = schema::last_version(&tx)?;
    external.begin_own(version);
    let names_objects = |batch: &&Batch| !(batch.objects.is_empty() && batch.required.is_empty());
    let mut state = State::default();
    if batches.iter().any(names_objects) {
        index.catch_up(&tx)?;
        state = State::read(&tx)?;
    }
    let mut group = Group {
        tx: &tx,
        index,
        state,
        put: HashMap::new(),
        version,
    };
    let mut outcomes = Vec::with_capacity(batches.len());
    for batch in batches {
        outcomes.push(match group.refusal(batch)? {
            Some(refusal) => Err(refusal),
            None => group.apply(batch).map(Ok)?,
        });
    }
    let Group { put, .. } = group;
    if outcomes.iter().any(Result::is_ok) {
        tx.commit()?;
        index.add(put);
    }
    Ok(outcomes)
}

/// A transaction of several batches.
struct Group<'a> {
    tx: &'a Transaction<'a>,
    index: &'a ObjectIndex,
    state: State,
    /// The rows that it has put.
    put: HashMap<ObjectId, i64>,
    /// The version of its last write.
    version: Version,
}

impl Group<'_> {
    fn row_of(&self, id: ObjectId) -> rusqlite::Result<Option<i64>> {
        match self.put.get(&id) {
            Some(row) => Ok(Some(*row)),
            None => self.index.find_known(self.tx, id),
        }
    }

    /// Why the batch cannot be applied, if it cannot.
    fn refusal(&self, batch: &Batch) -> rusqlite::Result<Option<StoreError>> {
        let mut find = self
            .tx
            .prepare_cached("SELECT version FROM record WHERE key = ?1")?;
        for (key, expect) in batch.expectations() {
            if expect == Expect::Anything {
                continue;
            }
            let found = find.query_one([key], |row| row.get(0)).optional()?;
            if !expect.holds(found) {
                let key = key.to_owned();
                return Ok(Some(StoreError::Conflict { key }));
            }
        }
        for id in &batch.required {
            if !batch.objects.iter().any(|new| new.id == *id) && !self.is_there(*id)? {
                return Ok(Some(StoreError::Missing { id: *id }));
            }
        }
        Ok(None)
    }

    fn is_there(&self, id: ObjectId) -> rusqlite::Result<bool> {
        let Some(row) = self.row_of(id)? else {
            return Ok(false);
        };
        self.tx
            .prepare_cached("SELECT 1 FROM object WHERE seq = ?1 AND id = ?2")?
            .exists(params![row, id.as_bytes()])
    }

    /// Keeps an object that the batch reuses from the collection under way.
    fn touch(&self, row: i64, batch: &Batch) -> rusqlite::Result<()> {
        if batch.ahead || self.state.may_remove(row) {
            self.state.touch(self.tx, row)?;
        }
        Ok(())
    }

    /// Puts an object of a batch. One that is there is left as it is where its row is sound, and replaced
    /// where it is not: else it would be acknowledged, and gone.
    fn put_object(&mut self, new: &NewObject, batch: &Batch) -> rusqlite::Result<()> {
        let tx = self.tx;
        let bytes = new.inline().map(AsRef::as_ref);
        let sha256 = new.sha256.as_ref().map(|id| id.as_bytes().as_slice());
        let (id, kind) = (new.id.as_bytes(), new.kind.code());
        if let Some(row) = self.row_of(new.id)? {
            if self.put.contains_key(&new.id) {
                return Ok(());
            }
            self.touch(row, batch)?;
            if is_sound(tx, row, new)? {
                return Ok(());
            }
            tracing::error!(id = %new.id, "the row of an object was damaged; it is replaced");
            let mut replace = tx.prepare_cached(
                "UPDATE object SET kind = ?3, size = ?4, sha256 = ?5, bytes = ?6
                 WHERE seq = ?1 AND id = ?2",
            )?;
            match replace.execute(params![row, id, kind, new.size, sha256, bytes]) {
                // The index led to another row, or to none that can be read.
                Ok(0) => {}
                Err(e) if is_damage(&e) => {}
                Err(e) => return Err(e),
                Ok(_) => return put_outboard(tx, row, new),
            }
        }
        let mut put = tx.prepare_cached(
            "INSERT INTO object (seq, id, kind, size, sha256, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let row = self.state.next_row();
        put.execute(params![row, id, kind, new.size, sha256, bytes])?;
        self.put.insert(new.id, row);
        put_outboard(tx, row, new)
    }

    fn apply(&mut self, batch: &Batch) -> rusqlite::Result<Version> {
        let tx = self.tx;
        for new in &batch.objects {
            self.put_object(new, batch)?;
        }
        for id in &batch.required {
            if let Some(row) = self.row_of(*id)? {
                self.touch(row, batch)?;
            }
        }
        let mut write = tx.prepare_cached(
            "INSERT INTO record (version, key, value, checksum) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO UPDATE SET
                version = excluded.version, value = excluded.value, checksum = excluded.checksum",
        )?;
        let mut delete = tx.prepare_cached("DELETE FROM record WHERE key = ?1")?;
        let mut bury = tx.prepare_cached("INSERT INTO tombstone (version, key) VALUES (?1, ?2)")?;
        let mut forget = tx.prepare_cached("DELETE FROM tombstone WHERE version < ?1")?;
        for record in &batch.writes {
            if let Some(value) = &record.value {
                self.version += 1;
                let checksum = record_checksum(&record.key, self.version, value);
                write.execute(params![self.version, record.key, value.as_ref(), checksum])?;
            } else if delete.execute([&record.key])? > 0 {
                self.version += 1;
                bury.execute(params![self.version, record.key])?;
                forget.execute([self.version.saturating_sub(TOMBSTONES_KEPT)])?;
            }
        }
        for append in &batch.appends {
            self.version += 1;
            let key = append.key(self.version);
            let checksum = record_checksum(&key, self.version, &append.value);
            write.execute(params![self.version, key, append.value.as_ref(), checksum])?;
        }
        Ok(self.version)
    }
}

/// Keeps the hashes of a large blob's pieces beside its row.
fn put_outboard(tx: &Transaction<'_>, row: i64, new: &NewObject) -> rusqlite::Result<()> {
    if let Some(outboard) = new.outboard() {
        tx.prepare_cached("INSERT OR REPLACE INTO outboard (seq, pieces) VALUES (?1, ?2)")?
            .execute(params![row, outboard.as_ref()])?;
    }
    Ok(())
}

/// True if a row holds this object, as whoever reads it will see.
fn is_sound(tx: &Transaction<'_>, row: i64, new: &NewObject) -> rusqlite::Result<bool> {
    let mut get = tx.prepare_cached(
        "SELECT kind, size, sha256, bytes FROM object WHERE seq = ?1 AND id = ?2",
    )?;
    let same = |row: &Row<'_>| {
        let (kind, size): (i64, i64) = (row.get(0)?, row.get(1)?);
        let sha256 = row.get_ref(2)?.as_blob_or_null()?;
        let bytes = row.get_ref(3)?.as_blob_or_null()?;
        let own = new.sha256.as_ref().map(|id| id.as_bytes().as_slice());
        Ok(kind == i64::from(new.kind.code())
            && u64::try_from(size).is_ok_and(|size| size == new.size)
            && sha256 == own
            && match (bytes, new.inline()) {
                (Some(bytes), Some(own)) => bytes == own.as_ref(),
                (Some(bytes), None) => object_id(new.kind, bytes) == new.id,
                // The file of a blob is compared with its id when it is read.
                (None, own) => own.is_none(),
            })
    };
    match get
        .query_one(params![row, new.id.as_bytes()], same)
        .optional()
    {
        Err(e) if is_damage(&e) => Ok(false),
        sound => Ok(sound?.unwrap_or(false)),
    }
}
