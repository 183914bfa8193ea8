//! Looking into a folder that is not imported as a whole: what lies in it, and one step down. As in an
//! import, no link is followed.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::open_folder::{Entry, EntryKind, OpenFolder};
use super::source::{ImportFolder, unreadable};
use crate::base::clock::Timestamp;
use crate::base::limits::PATH_SEGMENTS_MAX;
use crate::repo::Result;

/// What an entry of a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LyingKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, a device, a pipe or a socket; why it is left out, as a sentence.
    LeftOut(Cow<'static, str>),
}

impl ImportFolder {
    /// What lies in the folder, in the byte order of the names; a folder compares as its name and a slash.
    ///
    /// # Errors
    /// [`crate::repo::Error::Invalid`] when it cannot be read, or belongs to a data folder.
    pub fn contents(&self) -> Result<Vec<(OsString, LyingKind)>> {
        let listed = self.list(self.folder(), self.path())?;
        let listed = listed.map_err(|e| unreadable(self.path(), &e))?;
        let lying = |Entry { name, kind, .. }| {
            let kind = match kind {
                EntryKind::File => LyingKind::File,
                EntryKind::Folder => LyingKind::Folder,
                EntryKind::LeftOut(_, why) => LyingKind::LeftOut(why),
            };
            (name, kind)
        };
        Ok(listed.into_iter().map(lying).collect())
    }

    /// The folder at a path below this one.
    ///
    /// # Errors
    /// Those of opening each folder on the way: a link is none.
    pub fn below(&self, path: &Path) -> io::Result<Self> {
        let mut below = self.another()?;
        for name in path {
            below = below.child(name)?;
        }
        Ok(below)
    }

    /// The bytes of a file in the folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for what is no regular file; [`io::ErrorKind::FileTooLarge`] for
    /// more than `bytes_max`.
    pub fn small_file(&self, name: &OsStr, bytes_max: u64) -> io::Result<Vec<u8>> {
        let (file, _) = self.folder().open_file(name)?;
        let mut bytes = Vec::new();
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max) {
            return Ok(bytes);
        }
        let message = format!("it is larger than {bytes_max} bytes");
        Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
    }

    /// When the folder itself was last modified: something was put into it, taken from it or renamed.
    ///
    /// # Errors
    /// What the system says.
    pub fn modified_at(&self) -> io::Result<Timestamp> {
        Ok(modified_at(&self.folder().metadata()?))
    }

    /// When anything in the folder, or the folder itself, was last modified; what cannot be read counts
    /// with its own time.
    ///
    /// # Errors
    /// What the system says of the folder itself.
    pub fn newest_at(&self) -> io::Result<Timestamp> {
        newest_in(self.folder(), PATH_SEGMENTS_MAX)
    }
}

/// The newest time in a folder, at most so many folders deep: what is deeper is in no branch.
fn newest_in(folder: &OpenFolder, depth: usize) -> io::Result<Timestamp> {
    let mut newest = modified_at(&folder.metadata()?);
    for Entry { name, kind, .. } in folder.entries()? {
        let found = match kind {
            EntryKind::File => folder.open_file(&name).map(|(_, of)| modified_at(&of)),
            EntryKind::Folder if depth > 0 => folder
                .enter(&name)
                .and_then(|below| newest_in(&below, depth - 1)),
            _ => continue,
        };
        newest = newest.max(found.unwrap_or(newest));
    }
    Ok(newest)
}

fn modified_at(metadata: &Metadata) -> Timestamp {
    let ms = metadata.mtime().saturating_mul(1000);
    let ms = ms.saturating_add(metadata.mtime_nsec() / 1_000_000);
    Timestamp::from_ms(ms.max(0))
}
