//! The folder beside the folder: of one user, and for one pull at a time.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::process::geteuid;

use crate::cli::output::visible_path;
use crate::cli::{Error, Result};

/// Makes the folder beside the folder, or takes the one that is there if nobody else can write into it.
pub(super) fn make_private(side: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(side) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(|error| unwritable("making", side, error))?,
    }
    let metadata = fs::symlink_metadata(side).map_err(Error::file("looking at", side))?;
    // No right of its group or of others: the last six bits.
    let is_ours = metadata.is_dir()
        && metadata.uid() == geteuid().as_raw()
        && metadata.mode().trailing_zeros() >= 6;
    if !is_ours {
        return Err(Error::Failed(format!(
            "{} is not a folder of mode 0700 of the user who pulls: pull as its user, or remove it",
            visible_path(side)
        )));
    }
    Ok(())
}

/// Why nothing can be made in the folder that the folder lies in, nor beside it.
fn unwritable(action: &'static str, path: &Path, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "",
        // As a unit has it with `ProtectSystem=strict`.
        io::ErrorKind::ReadOnlyFilesystem => {
            "; where a unit of systemd makes it so, it needs a line ReadWritePaths= with the folder that this lies in"
        }
        _ => return Error::file(action, path)(error),
    };
    Error::Failed(format!(
        "a folder is replaced as a whole, so its user must be able to write beside it: {action} {}: {error}{hint}",
        visible_path(path)
    ))
}

/// True if what [`lock`] gave still holds the folder: neither was removed or moved away.
pub(super) fn is_held(lock: &File, side: &Path) -> bool {
    let is_removed = lock.metadata().is_ok_and(|found| found.nlink() == 0);
    !is_removed && fs::exists(side.join("lock")).unwrap_or(true)
}

/// Holds it for one pull at a time, for as long as what this gives is open.
pub(super) fn lock(dir: &Path, side: &Path) -> Result<File> {
    let path = side.join("lock");
    let io = || Error::file("locking", &path);
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| unwritable("locking", &path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(io())?;
            let holder = match holder.trim_end() {
                "" => "another siteconf pull",
                known => known,
            };
            return Err(Error::Failed(format!(
                "{} is being pulled by {holder}",
                visible_path(dir)
            )));
        }
        Err(TryLockError::Error(error)) => return Err(io()(error)),
    }
    file.set_len(0).map_err(io())?;
    file.rewind().map_err(io())?;
    writeln!(file, "siteconf with process id {}", std::process::id()).map_err(io())?;
    Ok(file)
}
