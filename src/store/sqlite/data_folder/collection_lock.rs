//! Keeps a collection and a backup apart: what a backup is about to copy must not be removed.

use std::fs::{File, TryLockError};

use super::Folder;
use super::file_lock::FileLock;
use crate::store::{Result, StoreError};

/// The folder itself, locked (flock): it is always there, also on a full disk or one that is only read.
/// Dropped, or when the process ends in whatever way, it is free.
#[derive(Debug)]
pub struct CollectionLock {
    _folder: FileLock,
}

impl Folder {
    /// Locks the folder for a collection or an upgrade, which no other of these and no backup may run
    /// beside. It does not wait.
    ///
    /// # Errors
    /// [`StoreError::Underway`] that names what runs.
    pub fn lock_for_collection(&self) -> Result<CollectionLock> {
        match FileLock::try_exclusive(self.open_root()?) {
            Ok(folder) => Ok(CollectionLock { _folder: folder }),
            Err(TryLockError::WouldBlock) => {
                // Backups share it. One that has just ended is told as a backup, too.
                let shared = FileLock::try_shared(self.open_root()?);
                let what = if shared.is_ok() {
                    "a backup"
                } else {
                    "a collection"
                };
                Err(StoreError::Underway { what })
            }
            Err(TryLockError::Error(e)) => Err(StoreError::io("locking the data folder", e)),
        }
    }

    /// Locks the folder for a backup: until what it gives is dropped, nothing is removed. Any number
    /// of backups may run. It does not wait.
    ///
    /// # Errors
    /// [`StoreError::Underway`] while a collection or an upgrade runs.
    pub fn lock_for_backup(&self) -> Result<CollectionLock> {
        match FileLock::try_shared(self.open_root()?) {
            Ok(folder) => Ok(CollectionLock { _folder: folder }),
            Err(TryLockError::WouldBlock) => {
                // Nothing is collected in an older folder.
                let what = if self.format.is_older() {
                    "an upgrade"
                } else {
                    "a collection"
                };
                Err(StoreError::Underway { what })
            }
            Err(TryLockError::Error(e)) => Err(StoreError::io("locking the data folder", e)),
        }
    }

    fn open_root(&self) -> Result<File> {
        File::open(&self.root).map_err(|e| StoreError::io("opening the data folder", e))
    }
}
