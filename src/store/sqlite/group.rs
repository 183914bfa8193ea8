//! Several batches in one transaction, with one sync.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::external_writes::ExternalWrites;
use super::object_index::ObjectIndex;
use super::schema;
use crate::base::digest::record_checksum;
use crate::base::id::ObjectId;
use crate::base::limits::TOMBSTONES_KEPT;
use crate::store::{Batch, Expect, NewBody, Result, StoreError, Version};

/// Applies the batches in their order and commits those that can be applied; gives the outcome of
/// each. A batch sees what those before it wrote.
///
/// # Errors
/// An outer error means that nothing was committed.
pub(super) fn commit(
    db: &mut Connection,
    external: &ExternalWrites,
    index: &ObjectIndex,
    batches: &[Batch],
) -> rusqlite::Result<Vec<Result<Version>>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = schema::last_version(&tx)?;
    external.observe(version);
    let names_objects = |batch: &Batch| !(batch.objects.is_empty() && batch.required.is_empty());
    if batches.iter().any(names_objects) {
        index.catch_up(&tx)?;
    }
    let mut group = Group {
        tx: &tx,
        index,
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
    let Group { put, version, .. } = group;
    if outcomes.iter().any(Result::is_ok) {
        tx.commit()?;
        index.add(put);
        external.record_own(version);
    }
    Ok(outcomes)
}

/// A transaction of several batches.
struct Group<'a> {
    tx: &'a Transaction<'a>,
    index: &'a ObjectIndex,
    /// The rows that it has put.
    put: HashMap<ObjectId, i64>,
    /// The version of its last write.
    version: Version,
}

impl Group<'_> {
    fn contains(&self, id: ObjectId) -> rusqlite::Result<bool> {
        Ok(self.put.contains_key(&id) || self.index.find_known(self.tx, id)?.is_some())
    }

    /// Why the batch cannot be applied, if it cannot.
    fn refusal(&self, batch: &Batch) -> rusqlite::Result<Option<StoreError>> {
        let mut find = self
            .tx
            .prepare_cached("SELECT version FROM record WHERE key = ?1")?;
        for write in &batch.writes {
            if write.expect == Expect::Anything {
                continue;
            }
            let found = find.query_one([&write.key], |row| row.get(0)).optional()?;
            if !write.expect.holds(found) {
                return Ok(Some(StoreError::Conflict {
                    key: write.key.clone(),
                }));
            }
        }
        for id in &batch.required {
            if !batch.objects.iter().any(|new| new.id == *id) && !self.contains(*id)? {
                return Ok(Some(StoreError::Missing { id: *id }));
            }
        }
        Ok(None)
    }

    fn apply(&mut self, batch: &Batch) -> rusqlite::Result<Version> {
        let tx = self.tx;
        let mut put = tx.prepare_cached(
            "INSERT INTO object (id, kind, size, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for new in &batch.objects {
            if self.contains(new.id)? {
                continue;
            }
            let bytes = match &new.body {
                NewBody::Inline(bytes) => Some(bytes.as_ref()),
                NewBody::Published => None,
            };
            let sha256 = new.sha256.as_ref().map(|id| id.as_bytes().as_slice());
            let row = put.insert(params![
                new.id.as_bytes(),
                new.kind.code(),
                new.size,
                sha256,
                bytes
            ])?;
            self.put.insert(new.id, row);
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
        Ok(self.version)
    }
}
