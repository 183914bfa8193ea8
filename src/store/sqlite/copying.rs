//! A folder that another store is copied into.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{TransactionBehavior, params};

use super::SqliteStore;
use super::data_folder::{Folder, Lock};
use crate::base::digest::record_checksum;
use crate::store::transfer::{Hold, Loader};
use crate::store::{Record, Result, Store, StoreError, Version};

/// The store in the folder, which is none for anybody else yet.
#[derive(Debug)]
struct CopiedFolder(SqliteStore);

impl SqliteStore {
    /// Takes a folder for a copy of what has this name: as [`Folder::begin_copy`].
    pub(in crate::store) fn begin_copy(root: &Path, of: &str) -> Result<Box<dyn Loader>> {
        let (folder, lock) = Folder::begin_copy(root, of)?;
        let store = Self::with_lock(folder, lock)?;
        Ok(Box::new(CopiedFolder(store)))
    }

    /// Holds a store against a service.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while one holds it.
    pub(in crate::store) fn hold(root: &Path) -> Result<Box<dyn Hold>> {
        Ok(Box::new(Lock::take(root)?))
    }
}

/// It is held as long as its file is open.
impl Hold for Lock {
    fn require(&self) -> Result<()> {
        Ok(())
    }
}

impl CopiedFolder {
    /// Changes the tables in one transaction.
    fn change(
        &self,
        mut change: impl FnMut(&rusqlite::Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let writer = self.0.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        writer.run("a copy", |db, _| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change(&tx)?;
            tx.commit()
        })
    }
}

impl Loader for CopiedFolder {
    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn begin_records(&mut self) -> Result<()> {
        // The last version never falls: by that one finds that commits were lost.
        self.change(|tx| {
            tx.execute_batch(
                "INSERT OR REPLACE INTO tombstone (version, key)
                     SELECT max(version), '' FROM record HAVING max(version) IS NOT NULL;
                 DELETE FROM record;
                 DELETE FROM tombstone WHERE version < (SELECT max(version) FROM tombstone);",
            )
        })
    }

    fn put_records(&mut self, records: &[Arc<Record>]) -> Result<()> {
        self.change(|tx| {
            let mut put = tx.prepare_cached(
                "INSERT INTO record (version, key, value, checksum) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for record in records {
                let (key, version, value) = (&record.key, record.version, &record.value);
                let checksum = record_checksum(key, version, value);
                put.execute(params![version, key, &value[..], checksum])?;
            }
            Ok(())
        })
    }

    fn end_records(&mut self, last: Version) -> Result<()> {
        self.change(|tx| {
            let written = "SELECT 1 FROM record WHERE version = ?1";
            if last > 0 && !tx.prepare(written)?.exists([last])? {
                // What was written last was deleted.
                let bury = "INSERT OR REPLACE INTO tombstone (version, key) VALUES (?1, '')";
                tx.execute(bury, [last])?;
            }
            Ok(())
        })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.folder.finish_copy()
    }
}
