//! The lock of the daemon, and what its file tells others.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::Path;

use super::{FileLock, private_file};
use crate::base::build::BUILD;
use crate::store::{Result, StoreError};

/// What stands before the room that the daemon keeps free.
pub(super) const KEPT_FREE: &str = "disk_free_min ";
/// What stands before the build of the program that holds the folder.
pub(super) const OF_BUILD: &str = "version ";

/// The daemon's hold on a folder, for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    file: FileLock,
}

impl Lock {
    pub(in crate::store::sqlite) fn take(root: &Path) -> Result<Self> {
        let io = |e| StoreError::io("locking the data folder", e);
        let path = root.join("LOCK");
        let file = match FileLock::try_exclusive(private_file(&path, false).map_err(io)?) {
            Ok(file) => file,
            Err(TryLockError::WouldBlock) => {
                let text = fs::read_to_string(&path).map_err(io)?;
                let holder = text.lines().last().unwrap_or("another siteconf").to_owned();
                let path = root.to_owned();
                return Err(StoreError::Locked { path, holder });
            }
            Err(TryLockError::Error(e)) => return Err(io(e)),
        };
        let lock = Self { file };
        lock.note("").map_err(io)?;
        Ok(lock)
    }

    /// Tells others how much room the daemon keeps free on the disk, in bytes.
    pub(in crate::store::sqlite) fn note_kept_free(&self, bytes: u64) -> io::Result<()> {
        self.note(&format!("{KEPT_FREE}{bytes}\n"))
    }

    /// Notes who holds the folder, behind lines that say how. The lock holds without it, and a start must not need
    /// room.
    fn note(&self, lines: &str) -> io::Result<()> {
        let holder = format!("siteconf with process id {}", std::process::id());
        let text = format!("{OF_BUILD}{}\n{lines}{holder}\n", *BUILD);
        match write_over(self.file.file(), &text) {
            // What one of before has told is not to be taken for it.
            Err(e) if matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                self.file.file().set_len(0)
            }
            noted => noted,
        }
    }
}

/// Writes a text over what a file has: a block that it gives back it may not get again on a full disk.
fn write_over(mut file: &File, text: &str) -> io::Result<()> {
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}
