//! Where a backup goes: a folder, a file or a stream.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Place;
use super::folder::FolderPlace;
use super::stream::{FilePlace, StreamPlace};
use crate::store::sqlite::Folder;
use crate::store::sqlite::backup::error::{BackupError, Result};

/// Where a backup goes.
#[derive(Debug)]
pub struct Target<'a>(pub(in crate::store::sqlite::backup) Box<dyn Place + 'a>);

impl<'a> Target<'a> {
    /// A folder with an earlier backup of the same store, an empty one, or one that is made.
    ///
    /// # Errors
    /// [`BackupError::Refused`] for a folder with something else in it, and one inside the data folder.
    pub fn folder(path: &Path, data: &Folder) -> Result<Self> {
        refuse_inside(path, data)?;
        Ok(Self(Box::new(FolderPlace::open(path)?)))
    }

    /// A file; an earlier backup in it is replaced at the end.
    ///
    /// # Errors
    /// [`BackupError::Refused`] for a file that holds something else, and one inside the data folder.
    pub fn file(path: &Path, data: &Folder) -> Result<Self> {
        refuse_inside(path, data)?;
        Ok(Self(Box::new(FilePlace::open(path)?)))
    }

    /// A stream. What must wait before it is sent lies in `scratch`, without a name.
    pub fn stream(to: &'a mut dyn Write, name: &str, scratch: &Path) -> Self {
        Self(Box::new(StreamPlace::new(to, name, scratch)))
    }
}

/// Refuses a path in the data folder: what lies there would be taken for a part of the store.
fn refuse_inside(path: &Path, data: &Folder) -> Result<()> {
    let root = data.root();
    let root = root
        .canonicalize()
        .map_err(BackupError::file("reading", root))?;
    if canonical(path).starts_with(&root) {
        return Err(BackupError::Refused(format!(
            "{} lies in the data folder; name another place for the backup, best on another disk",
            path.display()
        )));
    }
    Ok(())
}

/// The path without links as far as it exists.
pub(in crate::store::sqlite::backup) fn canonical(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut rest = Vec::new();
    let mut at = whole.as_path();
    loop {
        if let Ok(found) = at.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return whole;
        };
        rest.push(name);
        at = parent;
    }
}
