//! The folder that is imported, read through descriptors: whoever replaces a name while it is read
//! can neither lead the import out of the folder nor make it wait.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::{Errno, retry_on_intr};

use crate::repo::{Error, Result};

/// What a data folder holds, by which a copy of one is known.
const DATA_FOLDER_NAMES: [&str; 3] = ["FORMAT", "secrets", "store.db"];

/// A folder to import, held open: what becomes of its name meanwhile changes nothing.
#[derive(Debug)]
pub struct ImportFolder {
    path: PathBuf,
    folder: OpenFolder,
    off_limits: Vec<FolderId>,
}

impl ImportFolder {
    /// Opens a folder to import it into a store that lies in the folder `data`; `None` for a store
    /// that lies in none.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it cannot be read, or when it is, holds or lies in `data`: who may read
    /// the branch would read the service's secrets.
    pub fn open(path: &Path, data: Option<&Path>) -> Result<Self> {
        let folder = OpenFolder::open(path).map_err(|e| unreadable(path, &e))?;
        let mut off_limits = Vec::new();
        if let Some(data) = data {
            let apart = is_apart(&folder, data).map_err(|e| unreadable(path, &e))?;
            if !apart {
                return Err(refused(path));
            }
            off_limits = folders_of(data).map_err(|e| unreadable(data, &e))?;
        }
        Ok(Self {
            path: path.to_owned(),
            folder,
            off_limits,
        })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder once more.
    pub(super) fn another(&self) -> io::Result<Self> {
        let handle = self.folder.handle.try_clone()?;
        Ok(self.of_same_tree(self.path.clone(), OpenFolder { handle }))
    }

    /// A folder in it, never through a link.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        Ok(self.of_same_tree(self.path.join(name), self.folder.enter(name)?))
    }

    fn of_same_tree(&self, path: PathBuf, folder: OpenFolder) -> Self {
        Self {
            path,
            folder,
            off_limits: self.off_limits.clone(),
        }
    }

    pub(super) fn folder(&self) -> &OpenFolder {
        &self.folder
    }

    /// What lies in one of its folders, in the order of a directory's keys: a folder compares as its
    /// name and a slash. The inner error is of that folder, the outer one ends the import.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder at `path` belongs to a data folder.
    pub(super) fn list(&self, folder: &OpenFolder, path: &Path) -> Result<io::Result<Vec<Entry>>> {
        let read = folder.id().and_then(|id| Ok((id, folder.entries()?)));
        let (id, mut entries) = match read {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let holds = |name: &str| entries.iter().any(|entry| entry.name == name);
        if self.off_limits.contains(&id) || DATA_FOLDER_NAMES.iter().all(|name| holds(name)) {
            return Err(refused(path));
        }
        entries.sort_by(Entry::in_tree_order);
        Ok(Ok(entries))
    }
}

/// What an entry of a folder was when the folder was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// An entry of a folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: EntryKind,
}

impl Entry {
    fn in_tree_order(&self, other: &Self) -> Ordering {
        fn key(entry: &Entry) -> impl Iterator<Item = &u8> {
            let slash: &[u8] = match entry.kind {
                EntryKind::Folder => b"/",
                _ => b"",
            };
            entry.name.as_bytes().iter().chain(slash)
        }
        key(self).cmp(key(other))
    }
}

/// A folder held open.
#[derive(Debug)]
pub(super) struct OpenFolder {
    handle: File,
}

/// Which folder it is, whatever name leads to it: its device and its inode.
type FolderId = (u64, u64);

impl OpenFolder {
    /// Opens a folder by a path that the user gave; a link to a folder will do.
    fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(CWD, path.as_os_str(), OFlags::RDONLY)
    }

    /// Opens a folder in this one, never through a link.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_at(&self.handle, name, OFlags::RDONLY | OFlags::NOFOLLOW)
    }

    fn open_at(at: impl AsFd, name: &OsStr, flags: OFlags) -> io::Result<Self> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = retry_on_intr(|| openat(at.as_fd(), name, flags, Mode::empty()))?;
        Ok(Self {
            handle: descriptor.into(),
        })
    }

    /// Opens a regular file in this folder, never through a link. It does not wait: opening a pipe
    /// would, for somebody who writes into it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for what is no regular file.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<(File, Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| openat(&self.handle, name, flags, Mode::empty()));
        let file = match opened {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::LOOP) => return Err(io::Error::new(io::ErrorKind::InvalidInput, LINK)),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if metadata.is_file() {
            Ok((file, metadata))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, NO_FILE))
        }
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.handle.metadata()
    }

    /// Every entry but `.` and `..`, in no order.
    pub(super) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Not every file system says it.
                FileType::Unknown => {
                    let stat = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                known => known,
            };
            entries.push(Entry {
                name: name.to_owned(),
                kind: match kind {
                    FileType::RegularFile => EntryKind::File,
                    FileType::Directory => EntryKind::Folder,
                    FileType::Symlink => EntryKind::Link,
                    _ => EntryKind::Other,
                },
            });
        }
        Ok(entries)
    }

    fn id(&self) -> io::Result<FolderId> {
        let metadata = self.handle.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// This folder and those it lies in, up to the root of the file system.
    fn with_parents(&self) -> io::Result<Vec<FolderId>> {
        let mut ids = vec![self.id()?];
        let mut parent = Self::open_at(&self.handle, OsStr::new(".."), OFlags::PATH)?;
        // The root is its own parent.
        while ids.last() != Some(&parent.id()?) {
            ids.push(parent.id()?);
            parent = Self::open_at(&parent.handle, OsStr::new(".."), OFlags::PATH)?;
        }
        Ok(ids)
    }
}

/// Why a link is left out.
pub(super) const LINK: &str = "it is a symbolic link";
/// Why a device, a pipe or a socket is left out.
pub(super) const NO_FILE: &str = "it is no regular file";

/// True if neither of two folders is or lies in the other.
fn is_apart(folder: &OpenFolder, data: &Path) -> io::Result<bool> {
    let data = OpenFolder::open(data)?;
    let within = folder.with_parents()?.contains(&data.id()?);
    let around = data.with_parents()?.contains(&folder.id()?);
    Ok(!within && !around)
}

/// A data folder and the folders in it: a mount may show any of them elsewhere.
fn folders_of(data: &Path) -> io::Result<Vec<FolderId>> {
    let data = OpenFolder::open(data)?;
    let mut ids = vec![data.id()?];
    for entry in data.entries()? {
        if entry.kind == EntryKind::Folder {
            ids.push(data.enter(&entry.name)?.id()?);
        }
    }
    Ok(ids)
}

fn refused(path: &Path) -> Error {
    Error::invalid(format!(
        "{} is, holds or lies in a data folder of siteconf: whoever may read the branch would read \
         the service's secrets; import a folder apart from it",
        path.display()
    ))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::invalid(format!("reading {}: {error}", path.display()))
}
