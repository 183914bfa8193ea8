//! When the store was last backed up (`objects-layout.md`, "Data folder").

use std::fs;
use std::io;
use std::path::PathBuf;

use super::{Folder, write_durably};
use crate::base::clock::Timestamp;
use crate::store::{Result, StoreError};

impl Folder {
    /// The time of the state that the last successful backup of the folder holds; `None` where there
    /// was none, or what notes it is not a time.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the note cannot be read.
    pub fn last_backup(&self) -> Result<Option<Timestamp>> {
        match fs::read_to_string(self.backup_note()) {
            Ok(text) => Ok(Timestamp::parse(text.trim_end())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(e) => Err(StoreError::io("reading when the last backup was", e)),
        }
    }

    /// Notes that a backup is whole and durable, with the time of the state that it holds.
    pub fn note_backup(&self, at: Timestamp) -> Result<()> {
        let note = || write_durably(&self.backup_note(), format!("{at}\n").as_bytes());
        // Of two backups that end at once one may find that the other has given its file the name.
        let noted = note().or_else(|e| match e.kind() {
            io::ErrorKind::NotFound => note(),
            _ => Err(e),
        });
        noted.map_err(|e| StoreError::io("noting when the last backup was", e))
    }

    fn backup_note(&self) -> PathBuf {
        self.root.join("last-backup")
    }
}
