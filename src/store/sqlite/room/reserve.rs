//! Room on the disk that is kept for changes which free or protect: who is out of room must still be
//! able to delete, to revoke and to log in.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::super::data_folder::{Folder, private_options};
use crate::base::limits::RESERVE_BYTES;
use crate::store::StoreError;

/// The file that takes the room. It is removed when the disk is full, and made again when there is
/// room; while it is not there, only changes that may use the room are committed.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    pub(in crate::store::sqlite) fn new(folder: &Folder) -> Self {
        Self {
            path: folder.reserve(),
        }
    }

    /// True if the room is kept, or could be taken now. A folder in which it cannot be taken for another
    /// reason than a full disk goes without.
    pub(in crate::store::sqlite) fn is_ready(&self) -> bool {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() >= RESERVE_BYTES) {
            return true;
        }
        match self.take().map_err(|e| StoreError::io("keeping room", e)) {
            Ok(()) => true,
            Err(StoreError::Full) => {
                self.give_up();
                false
            }
            Err(error) => {
                tracing::warn!(%error, "no room is kept for a full disk");
                self.give_up();
                true
            }
        }
    }

    /// Gives the room up. False if there was none.
    pub(in crate::store::sqlite) fn give_up(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    fn take(&self) -> io::Result<()> {
        let mut options = private_options();
        let mut file = options.create(true).truncate(true).open(&self.path)?;
        match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Err(Errno::OPNOTSUPP) => {
                let zeros = vec![0; 1 << 20];
                (0..RESERVE_BYTES >> 20).try_for_each(|_| file.write_all(&zeros))
            }
            taken => Ok(taken?),
        }
    }
}
