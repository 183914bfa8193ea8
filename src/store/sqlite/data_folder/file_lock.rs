//! A lock on a file that ends when its holder says so.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::private_options;
use crate::base::secret::random_hex;
use crate::store::sqlite::failure::unopened;

/// Between two tries for a lock that somebody holds.
const PAUSE: Duration = Duration::from_millis(2);
/// Names tried for a new file: a sweep happens once a start, so the second stays.
const NAMES_TRIED_MAX: usize = 16;

/// An open file with a lock (flock) on it. Dropped, or when the process ends in whatever way, the file is
/// free.
///
/// Closing the file would not be enough: a process that is just being started has a copy of the
/// descriptor until it runs its own program, and the lock lasts as long as any copy.
#[derive(Debug)]
pub(in crate::store::sqlite) struct FileLock(File);

impl FileLock {
    /// Locks a file for this process alone. It does not wait.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] while somebody holds it.
    pub(in crate::store::sqlite) fn try_exclusive(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Locks a file together with others who share it. It does not wait.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] while somebody holds it alone.
    pub(in crate::store::sqlite) fn try_shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared().map(|()| Self(file))
    }

    /// Locks a file for this process alone, and waits for it.
    pub(in crate::store::sqlite) fn exclusive(file: File) -> io::Result<Self> {
        file.lock().map(|()| Self(file))
    }

    /// Locks a file together with others who share it, and waits so long for it.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] when somebody still holds it alone.
    pub(in crate::store::sqlite) fn shared_within(
        file: File,
        wait: Duration,
    ) -> Result<Self, TryLockError> {
        let until = Instant::now() + wait;
        loop {
            match file.try_lock_shared() {
                // The system has no wait for it that ends.
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
                locked => return locked.map(|()| Self(file)),
            }
        }
    }

    /// The file.
    pub(in crate::store::sqlite) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // What cannot be unlocked is free once every copy is closed.
        let _unlocked = self.0.unlock();
    }
}

/// Makes a file in a folder that is swept of files which nobody holds locked, and locks it as long as it is open.
/// Its name is chance behind this prefix.
///
/// # Errors
/// Those of the system, as [`unopened`] has them; also where every new file was swept.
pub(in crate::store::sqlite) fn create_locked(
    folder: &Path,
    prefix: &str,
) -> io::Result<(PathBuf, File)> {
    for _ in 0..NAMES_TRIED_MAX {
        let path = folder.join(format!("{prefix}{}", random_hex()));
        let opened = private_options().create_new(true).open(&path);
        let file = opened.map_err(unopened)?;
        file.lock()?;
        // A sweep may have come between creation and lock; then the name is gone, and we begin anew.
        if file.metadata()?.nlink() > 0 {
            return Ok((path, file));
        }
    }
    Err(io::Error::other("every new file was swept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_waited_for_so_long() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let within = |wait| FileLock::shared_within(open(), wait);
        let held = FileLock::exclusive(open()).unwrap();
        let refused = within(Duration::from_millis(20));
        assert!(matches!(refused, Err(TryLockError::WouldBlock)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| within(Duration::from_mins(1)));
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_lock_that_is_dropped_is_free_while_a_process_that_starts_has_a_copy_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        for take in [FileLock::try_exclusive, FileLock::try_shared] {
            let held = take(open()).unwrap();
            let _copy = held.0.try_clone().unwrap();
            assert!(matches!(
                FileLock::try_exclusive(open()),
                Err(TryLockError::WouldBlock)
            ));
            drop(held);
            FileLock::try_exclusive(open()).unwrap();
        }
    }
}
