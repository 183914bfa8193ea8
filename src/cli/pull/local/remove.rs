//! What is wanted no more.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use walkdir::WalkDir;

use super::own;
use crate::cli::pull::fault::{Fault, Pulled};

/// Removes a folder with all that is in it, if it is there.
pub(super) fn remove_tree(path: &Path) -> Pulled<()> {
    let removed = fs::remove_dir_all(path).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        _ => Err(error),
    });
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Fault::of_file("removing", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes a file, if it is there.
pub(super) fn remove_file(path: &Path) -> Pulled<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Fault::of_file("removing", path)(error))
        }
        _ => Ok(()),
    }
}

/// Lets the user change the folders that are theirs, where they had forbidden it to themselves.
fn make_writable(path: &Path) {
    let entries = WalkDir::new(path).into_iter().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_dir()) {
        let inside = entry.path().join("any");
        let inside = inside.strip_prefix(path).unwrap_or(&inside);
        // Through no link that somebody makes meanwhile; what is another user's stays as it is.
        let _made = own::open_parent(path, inside)
            .and_then(|folder| folder.set_permissions(fs::Permissions::from_mode(0o700)));
    }
}
