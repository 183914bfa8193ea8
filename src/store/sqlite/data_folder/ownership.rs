//! Whose a data folder is: nobody but its owner may put anything into it, and nobody else writes there.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::store::{Result, StoreError};

/// What a store is made of, in its folder.
const PARTS: [&str; 14] = [
    "FORMAT",
    "LOCK",
    "STOPPED",
    "high-water",
    "last-backup",
    "last-collection",
    "reserve",
    "restores",
    "store.db",
    "store.db-wal",
    "store.db-shm",
    "blobs",
    "incoming",
    "secrets",
];
/// The group and all others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// True for the name of what may be a part of a store, in its folder.
pub fn is_part(name: &OsStr) -> bool {
    // What takes the place of one has its name with something behind.
    PARTS
        .iter()
        .any(|part| name.as_encoded_bytes().starts_with(part.as_bytes()))
}

/// Refuses a folder in which a part of the store is a link: who made the link could lead every read
/// and write elsewhere.
pub(super) fn refuse_links(root: &Path) -> Result<()> {
    for path in PARTS.map(|part| root.join(part)) {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let reason =
                    "it is a symbolic link; put what it leads to in its place, or mount it there";
                return Err(StoreError::folder(&path, reason));
            }
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(unreadable(root, &path, &e)),
        }
    }
    Ok(())
}

/// Refuses to write into a folder that is another user's, because the owner could not read what this
/// process makes, and one into which others than its owner may write, because what lies there is
/// trusted.
pub(super) fn require_own(root: &Path) -> Result<()> {
    refuse_links(root)?;
    require_owner(root, geteuid().as_raw())?;
    may_write(root).map_err(|e| unwritable(root, e))
}

/// Refuses a folder into which its own owner cannot write, or whose parts are not that owner's alone. Who looks may
/// be another.
pub(super) fn require_writable(root: &Path) -> Result<()> {
    let owner = fs::metadata(root)
        .map_err(|e| unreadable(root, root, &e))?
        .uid();
    require_owner(root, owner)?;
    match may_write(root) {
        // That says nothing of the owner.
        Err(Errno::ACCESS) if owner != geteuid().as_raw() => Ok(()),
        tried => tried.map_err(|e| unwritable(root, e)),
    }
}

fn may_write(root: &Path) -> rustix::io::Result<()> {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, root, rights, AtFlags::EACCESS)
}

fn unwritable(root: &Path, error: Errno) -> StoreError {
    let error = std::io::Error::from(error);
    StoreError::folder(root, format!("nothing can be written here: {error}"))
}

/// Refuses a folder, or a part of it, that is another user's than this, or that others may write.
pub(super) fn require_owner(root: &Path, own: u32) -> Result<()> {
    let parts = PARTS.map(|part| root.join(part));
    for path in std::iter::once(root).chain(parts.iter().map(AsRef::as_ref)) {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(unreadable(root, path, &e)),
        };
        if found.uid() != own {
            let (owner, own) = (User(found.uid()), User(own));
            let advice = if path == root {
                format!(
                    "its owner could not read what is written now; run the command as its owner: \
                     sudo -u '{owner}' siteconf …"
                )
            } else {
                let root = root.display();
                format!("give it to the owner of the folder: chown -R '{own}' '{root}'")
            };
            let reason = format!("it belongs to the user {owner}, and this is {own}: {advice}");
            return Err(StoreError::folder(path, reason));
        }
        let mode = found.permissions().mode() & 0o7777;
        if mode & WRITABLE_BY_OTHERS != 0 {
            let reason = format!(
                "others than its owner may write here (mode {mode:o}): look what they wrote, then \
                 take the right from them: chmod -R go-w '{}'",
                root.display()
            );
            return Err(StoreError::folder(path, reason));
        }
    }
    Ok(())
}

/// The refusal of a folder that this process may not read: whose it is and who this is.
pub(super) fn unreadable(root: &Path, path: &Path, error: &std::io::Error) -> StoreError {
    let mut reason = format!("it cannot be read: {error}");
    if let Ok(found) = fs::metadata(root)
        && error.kind() == ErrorKind::PermissionDenied
    {
        let (owner, own) = (User(found.uid()), User(geteuid().as_raw()));
        reason = format!("{reason}; the folder belongs to {owner}, and this is {own}");
    }
    StoreError::folder(path, reason)
}

/// A user by the name that this machine has for the number, else by the number as `sudo -u` takes it.
struct User(u32);

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let name = users.lines().find_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let number = rest.split(':').nth(1)?.parse::<u32>().ok()?;
            (number == self.0).then_some(name)
        });
        match name {
            Some(name) => f.write_str(name),
            None => write!(f, "#{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_refused_with_the_command_that_its_owner_runs() {
        let root = tempfile::tempdir().unwrap();
        let mine = geteuid().as_raw();
        require_own(root.path()).unwrap();
        let shown = root.path().display().to_string();
        let (owner, other) = (User(mine).to_string(), mine + 1_000_000);
        assert_eq!(
            require_owner(root.path(), other).unwrap_err().to_string(),
            format!(
                "{shown}: it belongs to the user {owner}, and this is #{other}: its owner could not \
                 read what is written now; run the command as its owner: sudo -u '{owner}' siteconf …"
            )
        );
    }

    #[test]
    fn a_user_is_shown_by_name() {
        assert_eq!(User(0).to_string(), "root");
    }
}
