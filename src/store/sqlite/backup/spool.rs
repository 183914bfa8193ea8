//! What is read while a transaction is open, kept until it is closed: a slow disk or reader must not
//! hold the store's log.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::error::{BackupError, Result};
use super::part::Part;
use crate::base::secret::random_hex;
use crate::store::sqlite::data_folder::private_options;

/// How the name of a temporary file begins, for as long as it has one.
pub(super) const TEMPORARY: &str = ".siteconf-";
const WRITING: &str = "writing a temporary file in";

/// Files one behind the other in one that has no name.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// For messages: the one whose disk takes it.
    folder: PathBuf,
    length: u64,
    /// Each with its place and its length.
    pub(super) parts: Vec<(Part, u64, usize)>,
}

impl Spool {
    /// Makes one on the disk of this folder.
    pub(super) fn in_folder(folder: &Path) -> Result<Self> {
        let file = nameless(folder).map_err(BackupError::file(WRITING, folder))?;
        Ok(Self {
            file,
            folder: folder.to_owned(),
            length: 0,
            parts: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, part: Part, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all(bytes)
            .map_err(BackupError::file(WRITING, &self.folder))?;
        self.parts.push((part, self.length, bytes.len()));
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn read(&self, place: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, place)
            .map_err(BackupError::file(
                "reading a temporary file in",
                &self.folder,
            ))?;
        Ok(bytes)
    }
}

fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Not every file system makes files without a name.
    let path = folder.join(format!("{TEMPORARY}{}", random_hex()));
    let file = private_options().create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}
