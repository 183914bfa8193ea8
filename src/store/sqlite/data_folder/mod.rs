//! The data folder: its format, its lock, its subfolders (`objects-layout.md`, "Data folder").

mod collection_lock;
mod copying;
mod file_lock;
mod file_system;
mod format;
mod holder;
mod identity;
mod last_backup;
mod last_collection;
mod lock;
pub(super) mod log_index;
mod ownership;
mod replacement;
mod restores;
mod restoring;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::failure::unopened;
use super::room::free;
use super::schema;
use crate::store::{Result, StoreError};
pub use collection_lock::CollectionLock;
use copying::{COPY_INTERRUPTED, is_copying};
pub(super) use file_lock::{FileLock, create_locked};
pub(super) use file_system::FileSystem;
pub use format::Format;
pub(super) use identity::Identity;
pub use lock::Lock;
pub use ownership::is_part;
use ownership::{refuse_links, require_own, unreadable};
pub(super) use replacement::Replacement;
pub use replacement::write_durably;
pub(super) use restores::Restore;
pub(super) use restoring::Restoring;
use restoring::{RESTORE_INTERRUPTED, is_restoring, refuse_content};

/// Names that a folder may hold before it has a format: an interrupted creation.
const OWN_NAMES: [&str; 10] = [
    "LOCK",
    "FORMAT.new",
    "blobs",
    "incoming",
    "secrets",
    "store.db",
    "store.db-wal",
    "store.db-shm",
    "store.db-shm.new",
    "lost+found",
];

/// What to do about a store without its format. That of a backup is another, and puts nothing right.
const FORMAT_AGAIN: &str = "put it back with the number that it had, from a copy of the folder or as \
                            objects-layout.md (\"Data folder\") shows it, or restore the store from a backup";

/// A data folder whose format was checked.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
    format: Format,
}

impl Folder {
    /// Opens a folder that holds a store, to read it. It may be of an earlier format.
    ///
    /// # Errors
    /// [`StoreError::Folder`] when there is none, it is of a later format, it has lost its database, or a
    /// part of it is a link.
    pub fn open(root: &Path) -> Result<Self> {
        let refuse = |reason: &str| Err(StoreError::folder(root, reason));
        if is_copying(root) {
            return refuse(COPY_INTERRUPTED);
        }
        if is_restoring(root) {
            return refuse(RESTORE_INTERRUPTED);
        }
        let format = root.join("FORMAT");
        match fs::read_to_string(&format) {
            Ok(text) => match Format::parse(&text) {
                Some(format) if format.is_newer() => Err(format.refuse_newer(root)),
                Some(format) => Self::with_database(root, format),
                None if text.starts_with("siteconf-backup ") => {
                    refuse("it is a backup; \"siteconf restore\" makes a store of it")
                }
                None => refuse(&format!(
                    "FORMAT does not name a format of siteconf; if a store is here, {FORMAT_AGAIN}"
                )),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => refuse(&no_store(root)),
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                refuse("it is no folder; name the folder of the store with --data or SITECONF_DATA")
            }
            Err(e) => Err(unreadable(root, &format, &e)),
        }
    }

    /// Opens a folder that holds a store, to write into it too.
    ///
    /// # Errors
    /// As [`Folder::open`], and [`StoreError::Folder`] when the folder is another user's, others than its
    /// owner may write into it, or it is of an earlier format.
    pub fn open_to_write(root: &Path) -> Result<Self> {
        let folder = Self::open(root)?;
        folder.require_current()?;
        require_own(root)?;
        Ok(folder)
    }

    /// Opens a folder of an earlier format, or of today's, to upgrade it, and takes the daemon's lock.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when a daemon holds it; [`StoreError::Folder`] as [`Folder::open`], when it
    /// is another user's, or lies on a network file system.
    pub(super) fn open_to_upgrade(root: &Path) -> Result<(Self, Lock)> {
        Self::open(root)?;
        refuse_network(root)?;
        require_own(root)?;
        let lock = Lock::take(root)?;
        // Another upgrade may have ended just now.
        let folder = Self::open(root)?;
        folder.complete()?;
        Ok((folder, lock))
    }

    /// Refuses to go on as another user than the folder's owner.
    ///
    /// # Errors
    /// [`StoreError::Folder`] that says whose it is, also where others may write into it.
    pub fn require_owner(&self) -> Result<()> {
        ownership::require_owner(&self.root, geteuid().as_raw())
    }

    /// Refuses a folder into which its own owner cannot write either: one on a network file system or mounted to be
    /// read, and one that others may write. Who looks may be another than the owner.
    ///
    /// # Errors
    /// [`StoreError::Folder`] that says what is wrong.
    pub fn require_writable(&self) -> Result<()> {
        refuse_network(&self.root)?;
        ownership::require_writable(&self.root)
    }

    fn with_database(root: &Path, format: Format) -> Result<Self> {
        refuse_links(root)?;
        let folder = Self {
            root: root.to_owned(),
            format,
        };
        match fs::exists(folder.database()) {
            Ok(true) => Ok(folder),
            Ok(false) => Err(StoreError::folder(
                root,
                "store.db is missing although FORMAT says that a store is here; restore it from a backup",
            )),
            Err(e) => Err(unreadable(root, &folder.database(), &e)),
        }
    }

    /// The format that it had when it was opened.
    pub fn format(&self) -> Format {
        self.format
    }

    fn require_current(&self) -> Result<()> {
        if self.format.is_older() {
            return Err(self.format.refuse_writes(&self.root));
        }
        Ok(())
    }

    /// Gives the folder the format of today.
    pub(super) fn set_current(&self) -> Result<()> {
        self.write_format(Format::CURRENT)
            .map_err(|e| StoreError::io("writing FORMAT", e))
    }

    fn write_format(&self, format: Format) -> io::Result<()> {
        write_durably(&self.root.join("FORMAT"), format.to_text().as_bytes())
    }

    /// Opens a folder, or makes one where there is nothing, and takes its lock. A creation that was
    /// interrupted goes on where it stopped, and empty folders that a copy has lost are made again.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another daemon holds it; [`StoreError::Folder`] as
    /// [`Folder::open_to_write`], and when it holds something else or lies on a network file system.
    pub fn open_or_create(root: &Path) -> Result<(Self, Lock)> {
        make_root(root).map_err(|e| StoreError::folder(root, format!("it cannot be made: {e}")))?;
        refuse_network(root)?;
        // Before the lock, too: it is a file, and none comes into a folder that is refused.
        Self::find(root)?;
        let lock = Lock::take(root)?;
        // Whoever held the lock until now may have left a store, or the beginning of a restore.
        if let Some(folder) = Self::find(root)? {
            folder.complete()?;
            return Ok((folder, lock));
        }
        let folder = Self {
            root: root.to_owned(),
            format: Format::CURRENT,
        };
        folder
            .lay_out()
            .map_err(|e| StoreError::io("creating the data folder", e))?;
        Ok((folder, lock))
    }

    /// The store in a folder; `None` where one is to be made, or its creation goes on.
    fn find(root: &Path) -> Result<Option<Self>> {
        if !matches!(fs::exists(root.join("FORMAT")), Ok(false)) {
            return Self::open_to_write(root).map(Some);
        }
        refuse_other_content(root)?;
        require_own(root)?;
        Ok(None)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.root.join("store.db")
    }

    /// The database's log, while there is one.
    pub(super) fn log(&self) -> PathBuf {
        self.root.join("store.db-wal")
    }

    /// True if the log holds something.
    pub(super) fn has_log(&self) -> bool {
        fs::metadata(self.log()).is_ok_and(|log| log.len() > 0)
    }

    /// The mark of the last commit that is known to be durable.
    pub(super) fn high_water(&self) -> PathBuf {
        self.root.join("high-water")
    }

    /// The file that keeps room on the disk.
    pub(super) fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// The file that is there while nobody may write.
    pub(super) fn stop_mark(&self) -> PathBuf {
        self.root.join("STOPPED")
    }

    /// Finds out whether the disk, and the quota, take so many bytes more.
    ///
    /// # Errors
    /// [`StoreError::Full`] when they do not, [`StoreError::Busy`] for want of file descriptors or memory.
    pub(super) fn try_room(&self, bytes: u64) -> Result<()> {
        let path = self.incoming().join("room");
        // One that was killed has left it.
        let _removed = fs::remove_file(&path);
        // Known without megabytes that are written in vain each time.
        if free::at_most_bytes(&self.root).is_some_and(|free| free < bytes) {
            return Err(StoreError::Full);
        }
        let opened = private_file(&path, true).map_err(unopened);
        let taken = opened.and_then(|mut file| {
            io::copy(&mut io::repeat(1).take(bytes), &mut file)?;
            file.sync_all()
        });
        // A sweep removes what cannot be removed now.
        let _removed = fs::remove_file(&path);
        taken.map_err(|e| StoreError::io("trying for room", e))
    }

    /// The folder of large blobs.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The folder of uploads under way.
    pub fn incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }

    /// The folder of secrets.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// Refuses a store that has lost all its large blobs: new folders would hide it.
    fn require_blobs(&self) -> Result<()> {
        if self.blobs().is_dir() || !schema::names_files(&self.database())? {
            return Ok(());
        }
        let reason = "it is missing although the store has large files; restore it from a backup";
        Err(StoreError::folder(&self.blobs(), reason))
    }

    /// Makes the folders that are missing, and all names in the folder durable; true if any were missing.
    fn make_folders(&self) -> io::Result<bool> {
        let mut made = false;
        for dir in [self.blobs(), self.incoming(), self.secrets()] {
            made |= make_dir(&dir)?;
        }
        for fan in 0..=u8::MAX {
            made |= make_dir(&self.blobs().join(hex::encode([fan])))?;
        }
        // Also where none was: a process that was killed may have made them and not synced.
        sync_dir(&self.blobs())?;
        sync_dir(&self.secrets())?;
        sync_dir(&self.root)?;
        Ok(made)
    }

    /// Makes the empty folders that a copy has lost.
    fn complete(&self) -> Result<()> {
        self.require_blobs()?;
        let made = self.make_folders();
        if made.map_err(|e| StoreError::io("creating the data folder", e))? {
            tracing::warn!(
                "empty folders of the data folder were missing and are made again; `siteconf debug \
                 check` says whether files are missing too"
            );
        }
        Ok(())
    }

    /// Makes everything but the tables. `FORMAT` comes when all else is durable, so that it stands for the
    /// whole.
    fn lay_out(&self) -> io::Result<()> {
        self.lay_out_without_format()?;
        self.write_format(self.format)
    }

    fn lay_out_without_format(&self) -> io::Result<()> {
        private_file(&self.database(), false)?;
        self.make_folders()?;
        Ok(())
    }
}

/// Makes a folder that is its owner's alone, and those it lies in, where they are missing, and their
/// names durable: nothing that comes later syncs the folders above it.
pub(super) fn make_root(root: &Path) -> io::Result<()> {
    let parent = parent_of(root);
    if !fs::exists(root)? {
        make_root(parent)?;
        make_dir(root)?;
        return sync_dir(parent);
    }
    // A process that was killed may have made it and not synced: but not where names cannot be made.
    let refusals = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::InvalidInput,
    ];
    match sync_dir(parent) {
        Err(e) if !refusals.contains(&e.kind()) => Err(e),
        _ => Ok(()),
    }
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Makes what happened to the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Options that open a file to read and write; one that they make is the owner's alone.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn private_file(path: &Path, truncate: bool) -> io::Result<File> {
    private_options().create(true).truncate(truncate).open(path)
}

/// Makes a folder that is its owner's alone, unless it is there; true if it was made. A link is no
/// folder.
fn make_dir(dir: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(dir)?.is_dir() {
                return Ok(false);
            }
            let said = format!("{} is no folder", dir.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, said))
        }
        Err(e) => Err(e),
    }
}

/// What is in the place of a store, and what to do. A name that was mistyped must not lead to a new
/// store: where it is comes first.
fn no_store(root: &Path) -> String {
    if let Some(reason) = lost_format(root) {
        return reason;
    }
    let found = match fs::read_dir(root) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        Err(e) => return format!("it cannot be read: {e}"),
        Ok(mut names) => match names.next() {
            None => "the folder is empty".to_owned(),
            Some(Ok(name)) => {
                return format!(
                    "the folder holds no store (\"{}\" is in it); name the folder of the store with \
                     --data or SITECONF_DATA",
                    name.file_name().to_string_lossy()
                );
            }
            Some(Err(e)) => return format!("it cannot be read: {e}"),
        },
    };
    format!(
        "{found}; name the folder of the store with --data or SITECONF_DATA, or, if there is none yet, \
         have it made with \"siteconf init --data {}\"",
        root.display()
    )
}

/// What is said of a folder without `FORMAT` that has a database; `None` where it has none, or the empty one of a
/// creation that was interrupted.
fn lost_format(root: &Path) -> Option<String> {
    let database = fs::metadata(root.join("store.db"));
    database
        .is_ok_and(|found| found.is_file() && found.len() > 0)
        .then(|| format!("FORMAT is missing although store.db is there; {FORMAT_AGAIN}"))
}

fn refuse_other_content(root: &Path) -> Result<()> {
    if is_restoring(root) {
        return Err(StoreError::folder(root, RESTORE_INTERRUPTED));
    }
    if is_copying(root) {
        return Err(StoreError::folder(root, COPY_INTERRUPTED));
    }
    let names = fs::read_dir(root).map_err(|e| StoreError::io("listing the data folder", e))?;
    for name in names {
        let name = name
            .map_err(|e| StoreError::io("listing the data folder", e))?
            .file_name();
        if !OWN_NAMES.iter().any(|own| name == *own) {
            let reason = lost_format(root).unwrap_or_else(|| {
                format!(
                    "the folder is not empty and holds no store (\"{}\" is in it); name an empty folder",
                    name.to_string_lossy()
                )
            });
            return Err(StoreError::folder(root, reason));
        }
    }
    Ok(())
}

fn refuse_network(root: &Path) -> Result<()> {
    let found =
        FileSystem::of(root).map_err(|e| StoreError::io("asking for the file system", e))?;
    match found.network_name() {
        None => Ok(()),
        Some(name) => {
            let reason =
                format!("the folder lies on {name}; a network file system cannot hold the store");
            Err(StoreError::folder(root, reason))
        }
    }
}
