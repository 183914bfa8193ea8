//! Who holds a folder, and why nobody may write into it: looked up, without taking its lock, so that
//! whoever starts just now is not refused for it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use super::Folder;
use super::lock::{KEPT_FREE, OF_BUILD};
use crate::store::{Result, StoreError};

/// The locks of all processes, a line each.
const LOCKS: &str = "/proc/locks";
/// The system tells them a page at a time, and leaves out some where others go meanwhile: one that is not found so
/// often is not there.
const LOOKS: u32 = 5;

impl Folder {
    /// True if a store was made here, of whatever format and in whatever state.
    pub fn was_made(root: &Path) -> bool {
        fs::exists(root.join("FORMAT")).unwrap_or(true)
    }

    /// The id of the process that holds the folder as its daemon, as this process sees it; `None` where
    /// none does.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the system does not tell of locks.
    pub fn holder(&self) -> Result<Option<u32>> {
        let path = self.root.join("LOCK");
        let Ok(lock) = fs::metadata(&path) else {
            return Ok(None);
        };
        let device = format!("{:02x}:{:02x}", major(lock.dev()), minor(lock.dev()));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let noted = text.trim_end().rsplit(' ').next().unwrap_or_default();
        for _ in 0..LOOKS {
            let locks = fs::read_to_string(LOCKS);
            let locks = locks.map_err(|e| StoreError::io("reading /proc/locks", e))?;
            let holder = holder_in(&locks, &device, lock.ino(), noted);
            if holder.is_some() {
                return Ok(holder);
            }
        }
        Ok(None)
    }

    /// The room on the disk that the daemon which holds the folder keeps free, in bytes; `None` where there is none, or
    /// it does not say.
    pub fn kept_free(&self) -> Option<u64> {
        self.told_by_holder(KEPT_FREE)?.parse().ok()
    }

    /// The build of the daemon that holds the folder; `None` where there is none, or it does not say.
    pub fn build_of_holder(&self) -> Option<String> {
        self.told_by_holder(OF_BUILD)
    }

    /// What the daemon says behind these words.
    fn told_by_holder(&self, words: &str) -> Option<String> {
        self.holder().ok().flatten()?;
        let text = fs::read_to_string(self.root.join("LOCK")).ok()?;
        let told = text.lines().find_map(|line| line.strip_prefix(words));
        told.map(str::to_owned)
    }

    /// Why nobody writes until a restart, as the process noted that failed; `None` while writing goes
    /// on.
    pub fn stopped_by(&self) -> Result<Option<String>> {
        match fs::read_to_string(self.stop_mark()) {
            Ok(why) => Ok(Some(why.trim_end().to_owned())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(StoreError::io("reading STOPPED", e)),
        }
    }
}

/// The process that has a file locked (flock) for itself. On some file systems the system names another
/// device than the file does: then the process must be the one that the file names.
fn holder_in(locks: &str, device: &str, inode: u64, noted: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", process, place, ..] = fields[..] else {
            return None;
        };
        let (on, number) = place.rsplit_once(':')?;
        let is_it = number.parse() == Ok(inode) && (on == device || process == noted);
        process.parse().ok().filter(|_| is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::build::BUILD;

    #[test]
    fn the_holder_of_a_lock_is_the_process_that_the_system_names() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 12 fe:00:77 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14 fe:00:78 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 15 00:2b:77 0 EOF\n\
                     6: FLOCK  ADVISORY  WRITE 16 fe:00:77 0 EOF\n";
        assert_eq!(holder_in(locks, "fe:00", 77, "16"), Some(16));
        assert_eq!(holder_in(locks, "fe:01", 77, "15"), Some(15));
        assert_eq!(holder_in(locks, "fe:01", 77, "99"), None);
        assert_eq!(holder_in(locks, "fe:00", 79, "16"), None);
    }

    #[test]
    fn a_folder_tells_its_holder_and_why_it_is_stopped() {
        let root = tempfile::tempdir().unwrap();
        assert!(!Folder::was_made(root.path()));
        let (folder, lock) = Folder::open_or_create(root.path()).unwrap();
        assert!(Folder::was_made(root.path()));
        assert_eq!(folder.holder().unwrap(), Some(std::process::id()));
        let build = || folder.build_of_holder();
        assert_eq!((folder.kept_free(), build()), (None, Some(BUILD.clone())));
        lock.note_kept_free(5).unwrap();
        assert_eq!(
            (folder.kept_free(), build()),
            (Some(5), Some(BUILD.clone()))
        );
        drop(lock);
        assert_eq!(folder.holder().unwrap(), None);
        assert_eq!((folder.kept_free(), build()), (None, None));
        assert_eq!(folder.stopped_by().unwrap(), None);
        fs::write(folder.stop_mark(), "a commit failed: disk I/O error\n").unwrap();
        let why = folder.stopped_by().unwrap();
        assert_eq!(why.as_deref(), Some("a commit failed: disk I/O error"));
    }
}
