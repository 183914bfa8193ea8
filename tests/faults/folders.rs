//! Folders of tests.

use std::fs;
use std::path::Path;

use walkdir::WalkDir;

/// A folder in memory, where there is such a place: it costs the disk nothing.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// A folder with the same in it.
pub(crate) fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = scratch();
    copy_into(copy.path(), folder);
    copy
}

/// Copies what is in a folder into another.
pub(crate) fn copy_into(to: &Path, folder: &Path) {
    for entry in WalkDir::new(folder).min_depth(1) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(folder).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
