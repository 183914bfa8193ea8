//! A folder held open, and what lies in it: whoever replaces a name meanwhile can neither lead who reads
//! out of the folder nor make them wait.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::{Errno, retry_on_intr};

/// What keeps something out of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// It is a symbolic link that is not followed.
    Link,
    /// It is a device, a pipe or a socket.
    Special,
    /// No branch takes its name.
    Name,
    /// It is larger than files may be.
    TooLarge,
    /// It could not be read.
    Unreadable,
}

impl Skip {
    /// True for what a branch takes the like of.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::TooLarge | Self::Unreadable)
    }
}

/// Why a link is left out.
pub(super) const LINK: &str = "it is a symbolic link";
/// Why a device, a pipe or a socket is left out.
pub(super) const NO_FILE: &str = "it is no regular file";

/// What an entry of a folder was when the folder was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    /// Something else, and why that is left out.
    LeftOut(Skip, Cow<'static, str>),
}

/// An entry of a folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: EntryKind,
    /// For a link that is followed, where it leads, below the folder that is imported.
    pub(super) target: Option<PathBuf>,
}

impl Entry {
    /// The order of a directory's keys: a folder compares as its name and a slash.
    pub(super) fn in_tree_order(&self, other: &Self) -> Ordering {
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
    /// Where it lies below the folder that is imported, by the names that lead there without a link.
    below: PathBuf,
}

/// Which folder it is, whatever name leads to it: its device and its inode.
pub(super) type FolderId = (u64, u64);

impl OpenFolder {
    /// Opens a folder by a path that the user gave; a link to a folder will do.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(CWD, path.as_os_str(), OFlags::RDONLY, PathBuf::new())
    }

    /// The same folder once more.
    pub(super) fn another(&self) -> io::Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            below: self.below.clone(),
        })
    }

    /// The same folder as one that is imported itself.
    pub(super) fn into_top(self) -> Self {
        Self {
            below: PathBuf::new(),
            ..self
        }
    }

    /// Opens a folder in this one, never through a link.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        Self::open_at(&self.handle, name, flags, self.below.join(name))
    }

    fn open_at(at: impl AsFd, name: &OsStr, flags: OFlags, below: PathBuf) -> io::Result<Self> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = retry_on_intr(|| openat(at.as_fd(), name, flags, Mode::empty()))?;
        Ok(Self {
            handle: descriptor.into(),
            below,
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

    /// Where it lies below the folder that is imported, by the names that lead there without a link.
    pub(super) fn below(&self) -> &Path {
        &self.below
    }

    /// What something of this name is; of a link, what it is itself.
    pub(super) fn kind_of(&self, name: &OsStr) -> io::Result<FileType> {
        let stat = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// What a link says.
    pub(super) fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let text = readlinkat(&self.handle, name, Vec::new())?;
        Ok(OsString::from_vec(text.into_bytes()).into())
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
                FileType::Unknown => self.kind_of(name)?,
                known => known,
            };
            entries.push(Entry {
                name: name.to_owned(),
                kind: match kind {
                    FileType::RegularFile => EntryKind::File,
                    FileType::Directory => EntryKind::Folder,
                    FileType::Symlink => EntryKind::LeftOut(Skip::Link, LINK.into()),
                    _ => EntryKind::LeftOut(Skip::Special, NO_FILE.into()),
                },
                target: None,
            });
        }
        Ok(entries)
    }

    pub(super) fn id(&self) -> io::Result<FolderId> {
        let metadata = self.handle.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// This folder and those it lies in, up to the root of the file system.
    pub(super) fn with_parents(&self) -> io::Result<Vec<FolderId>> {
        let above =
            |of: &Self| Self::open_at(&of.handle, OsStr::new(".."), OFlags::PATH, PathBuf::new());
        let mut ids = vec![self.id()?];
        let mut parent = above(self)?;
        // The root is its own parent.
        while ids.last() != Some(&parent.id()?) {
            ids.push(parent.id()?);
            parent = above(&parent)?;
        }
        Ok(ids)
    }
}
