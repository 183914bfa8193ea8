//! The index of the log, `store.db-shm`, which every process that has the database open maps into its memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, IFlags, RenameFlags, ioctl_getflags, ioctl_setflags, renameat_with};

use super::file_system::FileSystem;
use super::{parent_of, private_options};

/// Makes the index beside this database, where there is none, as a file that is written in place, on a file system
/// that otherwise writes each change elsewhere and has that chosen by file: btrfs. There a process is killed when it
/// writes to what it has mapped and the disk is full, one that only reads, too. Elsewhere SQLite makes it.
///
/// It only reduces what a full disk does: where the file cannot be made, it is left to SQLite, and the log tells.
pub(in crate::store::sqlite) fn make_in_place(database: &Path) {
    if !database.exists() || !FileSystem::of(parent_of(database)).is_ok_and(FileSystem::is_btrfs) {
        return;
    }
    let named = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let (index, staged) = (named("-shm"), named("-shm.new"));
    if index.symlink_metadata().is_ok() {
        return;
    }
    let made = make(&staged).and_then(|()| {
        // Where another process has made one meanwhile, that stays.
        Ok(renameat_with(
            CWD,
            &staged,
            CWD,
            &index,
            RenameFlags::NOREPLACE,
        )?)
    });
    if let Err(error) = made {
        let _removed = fs::remove_file(&staged);
        if index.symlink_metadata().is_err() {
            tracing::warn!(%error, "the index of the log is not written in place: a full disk may end this process");
        }
    }
}

/// Makes an empty file that is written in place, instead of one that a killed process has left. It is closed before it
/// has its name: SQLite's locks on the index would go with any descriptor of it that this process closes.
fn make(path: &Path) -> io::Result<()> {
    let made = || private_options().create_new(true).open(path);
    let file = match made() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            made()?
        }
        file => file?,
    };
    // Btrfs lets only an empty file choose, and one that is compressed not at all: a folder hands that down.
    let flags = ioctl_getflags(&file)? - IFlags::COMPRESSED;
    ioctl_setflags(&file, flags)?;
    Ok(ioctl_setflags(&file, flags | IFlags::NOCOW)?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn on_btrfs_it_is_written_in_place_and_elsewhere_left_to_sqlite() {
        let root = tempfile::tempdir().unwrap();
        let database = root.path().join("store.db");
        let index = root.path().join("store.db-shm");
        make_in_place(&database);
        assert!(!index.exists(), "there is no database");
        File::create(&database).unwrap();
        let on_btrfs = FileSystem::of(root.path()).unwrap().is_btrfs();
        if on_btrfs {
            // As a process leaves it that is killed here.
            fs::write(root.path().join("store.db-shm.new"), "left").unwrap();
        }
        // The second time it is there.
        for _ in 0..2 {
            make_in_place(&database);
            let flags = File::open(&index).map(|file| ioctl_getflags(&file).unwrap());
            let is_in_place = flags.map(|flags| flags.contains(IFlags::NOCOW));
            assert_eq!(is_in_place.ok(), on_btrfs.then_some(true));
            assert!(!root.path().join("store.db-shm.new").exists());
        }
    }
}
