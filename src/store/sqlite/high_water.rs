//! The mark of the last commit that is known to be durable, kept outside of the database and its log
//! (`objects-layout.md`, "High-water mark").
//!
//! SQLite takes a log that was cut, or damaged in its middle, for one that ends there, and a folder with
//! an older copy of the database is whole in itself. The mark exposes both: what it names must be there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rusqlite::Connection;

use super::data_folder::{Folder, Replacement, write_durably};
use super::external_writes::ExternalWrites;
use super::failure::unopened;
use super::writability::Writability;
use super::{schema, spawn};
use crate::base::threads::joined::Joined;
use crate::store::{Result, StoreError, Version};

/// How old the mark may be. Each time it is raised costs a sync.
const RAISED_EVERY: Duration = Duration::from_secs(1);

/// The mark of a folder.
#[derive(Debug)]
pub(super) struct HighWater {
    path: PathBuf,
    /// What it was last raised to by this process, or found at.
    raised: Version,
    /// Kept open once it was raised: no want of file descriptors keeps it where it is.
    file: Option<File>,
}

impl HighWater {
    /// Reads the mark of a folder and holds it against the database.
    ///
    /// # Errors
    /// [`StoreError::Folder`] when the database ends before it.
    pub(super) fn open(folder: &Folder, db: &Connection) -> Result<Self> {
        // In this order: a process beside may commit and raise the mark.
        let marked = read(folder).unwrap_or_else(|fault| {
            tracing::error!("{fault}; nothing tells whether the last commits are there");
            0
        });
        let fault = if marked > 0 {
            lost_since(marked, last_version(db)?)
        } else {
            None
        };
        if let Some(reason) = fault {
            let path = folder.database();
            return Err(StoreError::Folder {
                path,
                reason: format!(
                    "{reason}; restore a backup, or remove the file \"high-water\" to go on without \
                     what is lost"
                ),
            });
        }
        Ok(Self {
            path: folder.high_water(),
            raised: marked,
            file: None,
        })
    }

    /// Raises the mark to a version that is durable. Costs nothing when it is there already.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when it cannot be opened for want of file descriptors or memory.
    pub(super) fn raise(&mut self, version: Version) -> Result<()> {
        if self.raised >= version && self.path.exists() {
            return Ok(());
        }
        let file = self
            .write(line_of(version).as_bytes())
            .map_err(|e| StoreError::io("raising the high-water mark", e))?;
        self.file = Some(file);
        self.raised = version;
        Ok(())
    }

    /// Writes the mark in place, or makes it. Gives its file.
    fn write(&mut self, line: &[u8]) -> io::Result<File> {
        let kept = self.file.take().filter(|file| is_at(file, &self.path));
        let opened = match kept {
            Some(file) => Ok(file),
            None => OpenOptions::new().write(true).open(&self.path),
        };
        match opened {
            Ok(file) => {
                file.write_all_at(line, 0)?;
                file.sync_data()?;
                Ok(file)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let replacement = Replacement::open(&self.path).map_err(unopened)?;
                replacement.write(line)
            }
            Err(e) => Err(unopened(e)),
        }
    }
}

/// The thread that raises the mark, beside what takes long. Dropped, it raises it once more and ends.
#[derive(Debug)]
pub(super) struct Raiser {
    /// Before the thread, which ends without it.
    _stays: SyncSender<()>,
    _thread: Joined,
}

impl Raiser {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`StoreError::Io`] when none can be started.
    pub(super) fn start(
        mut high_water: HighWater,
        writability: Arc<Writability>,
        external: Arc<ExternalWrites>,
    ) -> Result<Self> {
        let (stays, ends) = sync_channel::<()>(0);
        let thread = spawn("store-high-water", move || {
            loop {
                let waited = ends.recv_timeout(RAISED_EVERY);
                if writability.is_sound()
                    && let Err(failure) = high_water.raise(external.last())
                {
                    writability.judge("raising the high-water mark", &failure);
                }
                if waited == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        })?;
        Ok(Self {
            _stays: stays,
            _thread: thread,
        })
    }
}

/// True if an open file is the one of this name. Another process may have removed it, and made it anew.
fn is_at(file: &File, path: &Path) -> bool {
    let which = |found: Metadata| (found.dev(), found.ino());
    let named = fs::metadata(path).map(which);
    named.is_ok_and(|named| file.metadata().map(which).is_ok_and(|own| own == named))
}

/// Makes the mark of a folder whose database ends at this version.
pub(super) fn set(folder: &Folder, version: Version) -> Result<()> {
    write_durably(&folder.high_water(), line_of(version).as_bytes())
        .map_err(|e| StoreError::io("making the high-water mark", e))
}

/// What is wrong with the mark of a folder or with a database that ends before it, if anything.
pub(super) fn fault(folder: &Folder, db: &Connection) -> Option<String> {
    match read(folder) {
        // Where the records cannot be read, that is told when they are.
        Ok(marked) => lost_since(marked, last_version(db).ok()?),
        Err(fault) => Some(fault),
    }
}

/// The version that the mark of a folder names, 0 where there is none.
fn read(folder: &Folder) -> std::result::Result<Version, String> {
    let text = match fs::read_to_string(folder.high_water()) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(format!("the high-water mark cannot be read: {e}")),
    };
    let version = text
        .get(..16)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    version
        .filter(|version| line_of(*version) == text)
        .ok_or_else(|| "the high-water mark is damaged".to_owned())
}

/// The last version, 0 in a database that has lost its tables.
fn last_version(db: &Connection) -> rusqlite::Result<Version> {
    if schema::has_tables(db)? {
        schema::last_version(db)
    } else {
        Ok(0)
    }
}

fn lost_since(marked: Version, last: Version) -> Option<String> {
    (marked > last).then(|| {
        format!(
            "the database ends at version {last}, but version {marked} was acknowledged: its log was \
             cut or damaged, or an older copy took its place"
        )
    })
}

/// The content of the mark: the version and a checksum, in hexadecimal digits.
fn line_of(version: Version) -> String {
    let hash = blake3::hash(&version.to_le_bytes());
    format!("{version:016x} {}\n", hex::encode(&hash.as_bytes()[..8]))
}
