//! From which backups a store was restored, one after the other (`objects-layout.md`, "Data folder"): by these it is
//! known whether it goes on with what another backup of it holds.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Folder, write_durably};
use crate::store::{Result, StoreError, Version};

/// A restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::sqlite) struct Restore {
    /// Random: two restores of one backup are two stores.
    id: u64,
    /// The last write of the backup.
    pub(in crate::store::sqlite) version: Version,
}

impl Restore {
    /// A new one, of a backup that ends with this write.
    pub(in crate::store::sqlite) fn of(version: Version) -> Self {
        Self {
            id: rand::random(),
            version,
        }
    }

    /// Its line: 16 hexadecimal digits and the version.
    pub(in crate::store::sqlite) fn to_text(self) -> String {
        format!("{:016x} {}", self.id, self.version)
    }
}

impl FromStr for Restore {
    type Err = ();

    fn from_str(line: &str) -> std::result::Result<Self, ()> {
        let (id, version) = line.split_once(' ').ok_or(())?;
        let restore = Self {
            id: u64::from_str_radix(id, 16).map_err(drop)?,
            version: version.parse().map_err(drop)?,
        };
        (restore.to_text() == line).then_some(restore).ok_or(())
    }
}

impl Folder {
    /// The restores that the store goes back to, the last one last; none of one that was never restored.
    ///
    /// # Errors
    /// [`StoreError::Io`] when they cannot be read; [`StoreError::Folder`] when they are damaged.
    pub(in crate::store::sqlite) fn restores(&self) -> Result<Vec<Restore>> {
        let text = match fs::read_to_string(self.restores_note()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|e| StoreError::io("reading what was restored", e))?,
        };
        let lines: std::result::Result<_, ()> = text.lines().map(str::parse).collect();
        lines.map_err(|()| {
            StoreError::folder(
                &self.restores_note(),
                "it is damaged; remove it, and name another place for backups",
            )
        })
    }

    /// Notes them in a folder that is restored.
    pub(in crate::store::sqlite) fn note_restores(&self, restores: &[Restore]) -> Result<()> {
        let mut text = String::new();
        for restore in restores {
            writeln!(text, "{}", restore.to_text()).expect("a string takes all");
        }
        write_durably(&self.restores_note(), text.as_bytes())
            .map_err(|e| StoreError::io("noting what was restored", e))
    }

    fn restores_note(&self) -> PathBuf {
        self.root.join("restores")
    }
}
