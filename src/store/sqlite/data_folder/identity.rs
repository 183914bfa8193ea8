//! Which folder a store was opened in, whatever has its name later.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A folder as it was found under its name. Another may take the name, by a restoration beside a service that was not
/// stopped: what is open stays that of the one, and what is found by the name would be the other's.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Identity {
    root: PathBuf,
    /// Its device and its inode; `None` if it could not be looked at.
    found: Option<(u64, u64)>,
}

impl Identity {
    /// That of the folder which has this name now.
    pub(in crate::store::sqlite) fn of(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            found: found_at(root),
        }
    }

    /// False while another folder, or none, has the name.
    pub(in crate::store::sqlite) fn has_its_name(&self) -> bool {
        found_at(&self.root) == self.found
    }
}

fn found_at(root: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(root).ok()?;
    Some((found.dev(), found.ino()))
}
