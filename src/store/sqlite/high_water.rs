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
use super::writability::{Refusal, Writability};
use super::{schema, spawn};
use crate::base::threads::joined::Joined;
use crate::store::{Result, StoreError, Version};

/// How old the mark may be. Each time it is raised costs a sync.
const RAISED_EVERY: Duration = Duration::from_secs(1);

/// The mark of a folder.
#[derive(Debug)]
pub(super) struct HighWater {
    path: PathBuf,
    /// What it was last raised to by this process, or found at by it.
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
        if let Some(refusal) = refusal_of(folder, marked, db)? {
            return Err(refusal);
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
        let (file, marked) = self
            .write(version)
            .map_err(|e| StoreError::io("raising the high-water mark", e))?;
        self.file = Some(file);
        self.raised = marked;
        Ok(())
    }

    /// Writes the mark in place, unless another process has raised it further, or makes it. Gives its file, and what it
    /// names then.
    fn write(&mut self, version: Version) -> io::Result<(File, Version)> {
        let kept = self.file.take().filter(|file| is_at(file, &self.path));
        let opened = match kept {
            Some(file) => Ok(file),
            None => OpenOptions::new().read(true).write(true).open(&self.path),
        };
        match opened {
            Ok(file) => {
                file.lock()?;
                let marked = raise_in(&file, version);
                file.unlock()?;
                let marked = marked?;
                file.sync_data()?;
                Ok((file, marked))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let replacement = Replacement::open(&self.path).map_err(unopened)?;
                Ok((replacement.write(line_of(version).as_bytes())?, version))
            }
            Err(e) => Err(unopened(e)),
        }
    }
}

/// Writes a mark in place, unless it is as high already. Gives what it is then. One that is damaged is made anew.
fn raise_in(file: &File, version: Version) -> io::Result<Version> {
    let line = line_of(version);
    let mut there = vec![0; line.len()];
    let there = file.read_exact_at(&mut there, 0).ok().map(|()| there);
    let marked = there.and_then(|there| version_in(str::from_utf8(&there).ok()?));
    let raised = marked.filter(|marked| *marked >= version);
    if raised.is_none() {
        file.write_all_at(line.as_bytes(), 0)?;
    }
    let length = line.len() as u64;
    if file.metadata()?.len() != length {
        file.set_len(length)?;
    }
    Ok(raised.unwrap_or(version))
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
                    // Of a folder that was moved just then nothing has failed.
                    && writability.refusal() != Some(Refusal::Moved)
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

/// Why nobody may write: commits that are lost, by a mark that is not damaged.
///
/// # Errors
/// Those of reading the records.
pub(super) fn refusal(folder: &Folder, db: &Connection) -> rusqlite::Result<Option<StoreError>> {
    match read(folder) {
        Ok(marked) => refusal_of(folder, marked, db),
        Err(_) => Ok(None),
    }
}

fn refusal_of(
    folder: &Folder,
    marked: Version,
    db: &Connection,
) -> rusqlite::Result<Option<StoreError>> {
    if marked == 0 {
        return Ok(None);
    }
    let reason = lost_since(marked, last_version(db)?);
    Ok(reason.map(|reason| StoreError::Folder {
        path: folder.database(),
        reason: format!(
            "{reason}; restore a backup, or remove the file \"high-water\" to go on without what is lost"
        ),
    }))
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
    version_in(&text).ok_or_else(|| "the high-water mark is damaged".to_owned())
}

/// The version that a mark of this content names, `None` if it is damaged.
fn version_in(text: &str) -> Option<Version> {
    let version = u64::from_str_radix(text.get(..16)?, 16).ok()?;
    (line_of(version) == text).then_some(version)
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
