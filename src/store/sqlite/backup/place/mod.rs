//! What takes the files of a backup: a folder, a file or a stream.

pub(super) mod folder;
pub(super) mod stream;
pub(super) mod target;

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::error::{BackupError, Result};
use super::manifest::{Manifest, require_streamable};
use super::part::Part;

/// A place for the files of a backup. Dropped before [`Place::finish`] has returned, it leaves the last
/// whole backup, if there was one, and nothing else. The defaults are those of a stream, which gives nothing
/// back.
pub(super) trait Place: fmt::Debug {
    /// What of the last whole backup lies there in its length.
    fn last(&self) -> Option<&Manifest> {
        None
    }

    /// The whole backup that [`Place::finish`] puts this one in the place of, `None` where there is none.
    fn replaces(&self) -> Option<&Manifest> {
        self.last()
    }

    /// A folder for what must wait before it is put.
    fn scratch(&self) -> &Path;

    /// Takes a file of so many bytes.
    fn put(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()>;

    /// True if a file can be taken back after it was put.
    fn takes_back(&self) -> bool {
        false
    }

    /// Removes a file that was put.
    fn take_back(&mut self, _part: &Part) -> Result<()> {
        Ok(())
    }

    /// A file of the last backup, `None` if it is not sound.
    fn read(&self, _part: &Part) -> Option<Vec<u8>> {
        None
    }

    /// A file of `secrets/` of the last backup, `None` if there is none that is sound.
    fn last_secret(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }

    /// Refuses a manifest of so many bytes where a reader would refuse it.
    ///
    /// # Errors
    /// [`BackupError::Refused`].
    fn refuse_long_manifest(&self, bytes: u64) -> Result<()> {
        require_streamable(bytes).map_err(BackupError::Refused)
    }

    /// Makes what was put, with the files of the last backup that the manifest names, the backup.
    ///
    /// # Errors
    /// As [`Place::refuse_long_manifest`].
    ///
    /// # Durability
    /// When it returns, all of it is on the disk, where it is one.
    fn finish(&mut self, manifest: &Manifest) -> Result<()>;
}
