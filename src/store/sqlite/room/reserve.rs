//! Room on the disk that is kept for changes which free or protect: who is out of room must still be
//! able to delete, to revoke and to log in.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::super::data_folder::{Folder, private_options};
use super::free::at_most_bytes;
use crate::base::limits::{RESERVE_BYTES, RESERVE_TO_COPY_BYTES};
use crate::base::threads::lock;
use crate::store::StoreError;

/// Bytes by which the file grows and shrinks.
const PIECE_BYTES: u64 = 1 << 20;

/// The file that takes the room. It gets shorter when the disk is full, and longer again when there is
/// room; while it is too short, only changes that may use the room are committed.
///
/// Such a change is written to the log, and the log is copied into the database, which may have to grow for it. So
/// the file is as long as what the database would grow by, and [`RESERVE_BYTES`] more; of these,
/// [`RESERVE_TO_COPY_BYTES`] are not given to the log.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Reserve {
    path: PathBuf,
    /// How many use room of it. Held while its length is changed.
    users: Mutex<u32>,
    /// True once this process has found all of its length to have room: a copy of the folder may have left holes of it.
    is_taken: AtomicBool,
    /// True once it was told that no room can be kept here.
    fault_told: AtomicBool,
}

/// Room that is used, and not kept again meanwhile.
#[must_use = "the room is kept again when it is dropped"]
#[derive(Debug)]
pub(in crate::store::sqlite) struct Lent<'a>(&'a Reserve);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *self.0.users() -= 1;
    }
}

impl Reserve {
    pub(in crate::store::sqlite) fn new(folder: &Folder) -> Self {
        Self {
            path: folder.reserve(),
            users: Mutex::default(),
            is_taken: AtomicBool::new(false),
            fault_told: AtomicBool::new(false),
        }
    }

    /// True if [`RESERVE_BYTES`] and so many more are kept, or could be taken now; else as much as there is room
    /// for. A folder in which they cannot be taken for another reason than a full disk goes without.
    pub(in crate::store::sqlite) fn keep(&self, more: u64) -> bool {
        let wanted = RESERVE_BYTES + more.next_multiple_of(PIECE_BYTES);
        let is_enough = |length: u64| (wanted..=2 * wanted).contains(&length);
        let is_kept = |length: u64| self.is_taken() && is_enough(length);
        if is_kept(self.length()) {
            return true;
        }
        let users = self.users();
        let length = self.length();
        if is_kept(length) {
            return true;
        }
        if *users > 0 {
            return length >= wanted;
        }
        let taken = if self.is_taken() { length } else { 0 };
        let wanted = if is_enough(length) { length } else { wanted };
        let resized = self.resize(length, taken, wanted);
        match resized.map_err(|e| StoreError::io("keeping room", e)) {
            Ok(()) => {
                self.is_taken.store(true, Ordering::Relaxed);
                true
            }
            Err(StoreError::Full) => false,
            Err(error) => {
                if !self.fault_told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "no room is kept for a full disk");
                }
                true
            }
        }
    }

    /// Gives so many bytes to the disk. False if there were none.
    pub(in crate::store::sqlite) fn give(&self, bytes: u64) -> bool {
        let _resizing = self.users();
        self.shorten(bytes)
    }

    /// Gives the log a piece of what is not kept for a copy of it, which needs so many bytes now. False if there is
    /// none.
    pub(in crate::store::sqlite) fn give_to_log(&self, to_copy: u64) -> bool {
        let _resizing = self.users();
        self.length() >= to_copy + RESERVE_TO_COPY_BYTES + PIECE_BYTES && self.shorten(PIECE_BYTES)
    }

    /// Gives so many bytes to the disk, and has them not taken back by this process while they are used. `None` if
    /// there are not so many, together with what is free.
    pub(in crate::store::sqlite) fn lend(&self, bytes: u64) -> Option<Lent<'_>> {
        let mut users = self.users();
        let free = at_most_bytes(&self.path).unwrap_or(0);
        if self.length().saturating_add(free) < bytes || !self.shorten(bytes) {
            return None;
        }
        *users += 1;
        Some(Lent(self))
    }

    /// True if all of its length is known to have room.
    fn is_taken(&self) -> bool {
        if !self.is_taken.load(Ordering::Relaxed) {
            let found = fs::metadata(&self.path);
            let is_taken = found.is_ok_and(|file| file.blocks() * 512 >= file.len());
            self.is_taken.store(is_taken, Ordering::Relaxed);
        }
        self.is_taken.load(Ordering::Relaxed)
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Makes the file shorter by at least so many bytes, or empty.
    fn shorten(&self, bytes: u64) -> bool {
        let length = self.length();
        if length == 0 || bytes == 0 {
            return false;
        }
        let left = length.saturating_sub(bytes) / PIECE_BYTES * PIECE_BYTES;
        let opened = private_options().open(&self.path);
        opened.and_then(|file| file.set_len(left)).is_ok()
    }

    /// Gives the file a length, of which so much has room already. Where there is no room for it, the file takes what
    /// there is.
    fn resize(&self, length: u64, taken: u64, wanted: u64) -> io::Result<()> {
        let file = private_options().create(true).open(&self.path)?;
        if length > wanted {
            file.set_len(wanted)?;
        }
        let mut at = taken / PIECE_BYTES * PIECE_BYTES;
        while at < wanted {
            if let Err(error) = take(&file, at) {
                // Half a piece is room that others need.
                file.set_len(at)?;
                return Err(error);
            }
            at += PIECE_BYTES;
        }
        Ok(())
    }

    fn users(&self) -> MutexGuard<'_, u32> {
        lock(&self.users)
    }
}

/// Takes a piece of room.
fn take(file: &fs::File, at: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), at, PIECE_BYTES) {
        Err(Errno::OPNOTSUPP) => {
            let zeros = vec![0; usize::try_from(PIECE_BYTES).unwrap_or(0)];
            file.write_all_at(&zeros, at)
        }
        taken => Ok(taken?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_has_left_without_room_is_taken_anew() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let room = || fs::metadata(folder.reserve()).unwrap().blocks() * 512;
        assert!(Reserve::new(&folder).keep(0));
        assert!(room() >= RESERVE_BYTES);
        let file = fs::File::create(folder.reserve()).unwrap();
        file.set_len(RESERVE_BYTES).unwrap();
        assert!(room() < RESERVE_BYTES);
        let reserve = Reserve::new(&folder);
        assert!(reserve.keep(0));
        assert!(room() >= RESERVE_BYTES);
        assert_eq!(reserve.length(), RESERVE_BYTES);
    }
}
