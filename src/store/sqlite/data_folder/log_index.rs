//! The index of the log, `store.db-shm`, which every process that has the database open maps into its memory.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use super::file_system::FileSystem;
use super::private_options;

/// Makes the index beside this database, where there is none, as a file that is written in place, on a file system
/// that otherwise writes each change elsewhere and has that chosen by file: btrfs. There a process is killed when it
/// writes to what it has mapped and the disk is full, one that only reads, too. Elsewhere SQLite makes it.
///
/// It only reduces what a full disk does: whoever cannot make the file leaves it to SQLite.
pub(in crate::store::sqlite) fn make_in_place(database: &Path) {
    let folder = database.parent().unwrap_or(Path::new("."));
    if !database.exists() || !FileSystem::of(folder).is_ok_and(FileSystem::is_btrfs) {
        return;
    }
    match make(database) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            tracing::debug!(%error, "the index of the log is not written in place");
        }
        _ => {}
    }
}

fn make(database: &Path) -> io::Result<()> {
    let mut name = database.as_os_str().to_owned();
    name.push("-shm");
    // Btrfs lets only an empty file choose. Another process that opens it meanwhile finds what SQLite would have made.
    let file = private_options().create_new(true).open(name)?;
    let flags = ioctl_getflags(&file)?;
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
        // The second time it is there.
        for _ in 0..2 {
            make_in_place(&database);
            let flags = File::open(&index).map(|file| ioctl_getflags(&file).unwrap());
            let is_in_place = flags.map(|flags| flags.contains(IFlags::NOCOW));
            let on_btrfs = FileSystem::of(root.path()).unwrap().is_btrfs();
            assert_eq!(is_in_place.ok(), on_btrfs.then_some(true));
        }
    }
}
