//! A small file that takes its place as a whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{parent_of, private_file};

/// A file beside its place, which it will take.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Replacement<'a> {
    path: &'a Path,
    staged: PathBuf,
    file: File,
    parent: File,
}

impl<'a> Replacement<'a> {
    /// Opens all that it needs. What lies in its place stays as it is.
    pub(in crate::store::sqlite) fn open(path: &'a Path) -> io::Result<Self> {
        let parent = parent_of(path);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let staged = parent.join(name);
        Ok(Self {
            path,
            file: private_file(&staged, true)?,
            staged,
            parent: File::open(parent)?,
        })
    }

    /// Writes it and has it take its place. Gives the file.
    ///
    /// # Durability
    /// As that of [`write_durably`].
    pub(in crate::store::sqlite) fn write(mut self, bytes: &[u8]) -> io::Result<File> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        fs::rename(&self.staged, self.path)?;
        self.parent.sync_all()?;
        Ok(self.file)
    }
}

/// Writes a small file so that after a crash it is there whole or not at all: a temporary file
/// beside it, synced, renamed, the folder synced. Mode 0600.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Replacement::open(path)?.write(bytes).map(drop)
}
