//! The file that a log goes to, which another may take the place of while it is written.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{self, Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Access, OFlags, access};

use crate::base::threads::lock;

/// The mode of a new file: the group reads, so that a collector of logs needs no more.
const MODE: u32 = 0o640;

/// Opens a log to write at its end, and makes it when absent.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let options = options();
    match options.clone().create_new(true).mode(MODE).open(path) {
        Ok(file) => {
            // The mask of the process would take the group's part.
            file.set_permissions(Permissions::from_mode(MODE))?;
            Ok(file)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        Err(e) => Err(e),
    }
}

/// Looks whether a log could be opened, and makes none. A folder that is not there yet is no fault: systemd makes one
/// with the service (`LogsDirectory=`).
///
/// # Errors
/// That of [`open`].
pub(super) fn look(path: &Path) -> io::Result<()> {
    match options().open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let path = path::absolute(path)?;
            match path.parent().filter(|folder| folder.is_dir()) {
                Some(folder) => Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?),
                None => Ok(()),
            }
        }
        opened => opened.map(drop),
    }
}

/// The whole path of a file or folder, without links and dots, also of one that is not there yet.
///
/// # Errors
/// What the system says of an empty path, and where it knows no current folder.
pub(super) fn place(path: &Path) -> io::Result<PathBuf> {
    let whole = path::absolute(path)?;
    for there in whole.ancestors() {
        if let (Ok(mut place), Ok(rest)) = (there.canonicalize(), whole.strip_prefix(there)) {
            // What is not there yet has no links: `..` leads to the folder that stands before it.
            for part in rest.components() {
                if part == Component::ParentDir {
                    place.pop();
                } else {
                    place.push(part);
                }
            }
            return Ok(place);
        }
    }
    Ok(whole)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // Without waiting: a pipe would, for somebody who reads it.
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    options.append(true).custom_flags(nonblock);
    options
}

/// A file, and the one that takes its place with the next write.
#[derive(Debug)]
pub(super) struct Replaceable {
    file: File,
    next: Replacement,
}

/// The way to replace the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacement(Arc<Mutex<Option<File>>>);

impl Replaceable {
    /// Begins with this file.
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            next: Replacement::default(),
        }
    }

    /// The way to replace it.
    pub(super) fn replacement(&self) -> Replacement {
        self.next.clone()
    }
}

impl Replacement {
    /// What is written from now on goes into this file.
    pub(super) fn put(&self, file: File) {
        *lock(&self.0) = Some(file);
    }
}

impl Write for Replaceable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let next = lock(&self.next.0);
        if let Some(file) = { next }.take() {
            self.file = file;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
