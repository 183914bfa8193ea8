//! A data folder that another store is copied into.

use std::fs;
use std::io;
use std::path::Path;

use super::{
    Folder, Format, Lock, Restore, make_root, refuse_content, refuse_network, require_own,
    sync_dir, write_durably,
};
use crate::store::{Result, StoreError};

/// The file that is there until a copy is whole. It holds the name of what is copied.
const COPYING: &str = "COPYING";
/// What may be there before: what is left where a copy ended before it began.
const BEFORE: [&str; 2] = ["LOCK", "COPYING.new"];
/// Why a folder is refused in which it is.
pub(super) const COPY_INTERRUPTED: &str =
    "a copy into it is running, or was interrupted; run \"siteconf copy\" again";

/// True while a store is copied into a folder, and where that was interrupted.
pub(super) fn is_copying(root: &Path) -> bool {
    root.join(COPYING).exists()
}

impl Folder {
    /// Takes a folder that is empty, or not there, or holds what an earlier copy of the same has left. Nobody
    /// takes it for a store before [`Folder::finish_copy`].
    ///
    /// # Errors
    /// [`StoreError::Folder`] for a folder that holds something else, another user's, or on a network file
    /// system; [`StoreError::Locked`] beside another copy.
    pub(in crate::store::sqlite) fn begin_copy(root: &Path, of: &str) -> Result<(Self, Lock)> {
        let cannot = |e: io::Error| StoreError::folder(root, format!("it cannot be made: {e}"));
        make_root(root).map_err(cannot)?;
        refuse_network(root)?;
        // Before the lock, too: it is a file, and none comes into a folder that is refused.
        is_begun(root, of)?;
        require_own(root)?;
        let lock = Lock::take(root)?;
        let failed = |e| StoreError::io("beginning the copy", e);
        // Only by who has the lock: who lost it to a service would leave a store that nobody opens.
        if !is_begun(root, of)? {
            write_durably(&root.join(COPYING), of.as_bytes()).map_err(failed)?;
        }
        let folder = Self {
            root: root.to_owned(),
            format: Format::CURRENT,
        };
        folder.lay_out_without_format().map_err(failed)?;
        Ok((folder, lock))
    }

    /// Makes it a data folder; everything in it is on the disk. A backup that was made before may hold what the
    /// store that is copied never had, if that was restored: the copy's need another place.
    pub(in crate::store::sqlite) fn finish_copy(&self) -> Result<()> {
        self.note_restores(&[Restore::of(0)])?;
        let finish = || {
            // In this order: as long as there is the mark, it is no store, whatever else there is.
            self.write_format(self.format)?;
            fs::remove_file(self.root.join(COPYING))?;
            sync_dir(&self.root)
        };
        finish().map_err(|e| StoreError::io("finishing the copy", e))
    }
}

/// True if a folder holds what an earlier copy of the same has left; false if it is empty.
fn is_begun(root: &Path, of: &str) -> Result<bool> {
    match fs::read_to_string(root.join(COPYING)) {
        Ok(known) if known == of => Ok(true),
        Ok(_) => {
            let reason = "it holds the beginning of a copy of another store; remove the folder, or copy \
                          into another one";
            Err(StoreError::folder(root, reason))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            refuse_content(root, "a store is copied into", &BEFORE)?;
            Ok(false)
        }
        Err(e) => Err(StoreError::io("beginning the copy", e)),
    }
}
