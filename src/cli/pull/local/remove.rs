//! What is wanted no more.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::pull::fault::{Fault, Pulled};

/// Removes a folder with all that is in it, if it is there.
pub(super) fn remove_tree(path: &Path) -> Pulled<()> {
    match fs::remove_dir_all(path) {
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
