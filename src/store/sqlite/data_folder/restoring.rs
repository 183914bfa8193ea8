//! A data folder that a store is restored into.

use std::fs;
use std::io;
use std::path::Path;

use super::copying::{COPY_INTERRUPTED, is_copying};
use super::{
    Folder, Format, Lock, make_root, private_options, refuse_network, require_own, sync_dir,
};
use crate::store::{Result, StoreError};

/// The file that is there while a store is restored. No store has it, so none is taken for whole.
const RESTORING: &str = "RESTORING";
/// Why a folder is refused in which it is.
pub(super) const RESTORE_INTERRUPTED: &str = "a restore into it is running, or was interrupted; in that case \
                                          remove the folder, and restore again";

/// True while a store is restored into a folder, and where that was interrupted.
pub(super) fn is_restoring(root: &Path) -> bool {
    root.join(RESTORING).exists()
}

/// A folder that is filled. Dropped before [`Restoring::finish`], it is as it was.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Restoring {
    folder: Folder,
    /// True if it was not there.
    made: bool,
    /// Nothing is put into the folder, nor removed from it, without it.
    _lock: Lock,
    finished: bool,
}

impl Restoring {
    /// Takes a folder that is empty, or makes one.
    ///
    /// # Errors
    /// [`StoreError::Folder`] for a folder that is not empty, another user's, or on a network file system;
    /// [`StoreError::Locked`] for one that a service, another restore or a copy has taken.
    pub(in crate::store::sqlite) fn begin(root: &Path) -> Result<Self> {
        let cannot = |e: io::Error| StoreError::folder(root, format!("it cannot be made: {e}"));
        let made = !fs::exists(root).map_err(cannot)?;
        make_root(root).map_err(cannot)?;
        refuse_network(root)?;
        let refuse = || {
            refuse_content(root, "a store is restored into", &["LOCK"])?;
            require_own(root)
        };
        // Before the lock, too: it is a file, and none comes into a folder that is refused.
        refuse()?;
        let lock = Lock::take(root)?;
        // Whoever held the lock until now may have left a store, which must stay.
        refuse()?;
        let folder = Folder {
            root: root.to_owned(),
            format: Format::CURRENT,
        };
        let restoring = Self {
            folder,
            made,
            _lock: lock,
            finished: false,
        };
        let begin = || {
            let mut options = private_options();
            options.create_new(true).open(root.join(RESTORING))?;
            sync_dir(root)?;
            restoring.folder.make_folders()
        };
        begin().map_err(|e| StoreError::io("beginning the restore", e))?;
        Ok(restoring)
    }

    pub(in crate::store::sqlite) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Makes it a data folder of a format; everything in it is on the disk.
    pub(in crate::store::sqlite) fn finish(mut self, format: Format) -> Result<()> {
        self.folder.format = format;
        let finish = || {
            self.folder.lay_out_without_format()?;
            // In this order: as long as there is the mark, it is no store, whatever else there is.
            self.folder.write_format(format)?;
            fs::remove_file(self.folder.root.join(RESTORING))?;
            sync_dir(&self.folder.root)
        };
        finish().map_err(|e| StoreError::io("finishing the restore", e))?;
        self.finished = true;
        Ok(())
    }

    /// Removes what was made. The daemon's lock is held until then.
    fn clean(&self) -> io::Result<()> {
        let root = &self.folder.root;
        for name in ["blobs", "incoming", "secrets"] {
            remove(fs::remove_dir_all(root.join(name)))?;
        }
        for name in [
            "store.db",
            "store.db-wal",
            "store.db-shm",
            "high-water",
            "high-water.new",
            "restores",
            "restores.new",
            "FORMAT",
            "FORMAT.new",
            "LOCK",
            RESTORING,
        ] {
            remove(fs::remove_file(root.join(name)))?;
        }
        if self.made {
            fs::remove_dir(root)?;
        }
        Ok(())
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = self.clean()
        {
            tracing::warn!(%error, "a restore that was not finished could not be removed");
        }
    }
}

fn remove(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Refuses a folder that holds more than these names, with what would come into it.
pub(super) fn refuse_content(root: &Path, what: &str, before: &[&str]) -> Result<()> {
    if is_restoring(root) {
        return Err(StoreError::folder(root, RESTORE_INTERRUPTED));
    }
    if is_copying(root) {
        return Err(StoreError::folder(root, COPY_INTERRUPTED));
    }
    let failed = |e| StoreError::io("listing the folder", e);
    for name in fs::read_dir(root).map_err(failed)? {
        let name = name.map_err(failed)?.file_name();
        if name != "lost+found" && before.iter().all(|known| name != *known) {
            let reason = format!(
                "the folder is not empty (\"{}\" is in it); {what} an empty folder, or one that is not \
                 there",
                name.display()
            );
            return Err(StoreError::folder(root, reason));
        }
    }
    Ok(())
}
