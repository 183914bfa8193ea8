//! The folder that is imported.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::links::{Target, Top, open_below};
use super::open_folder::{Entry, EntryKind, FolderId, NO_FILE, OpenFolder, Skip};
use crate::repo::{Error, Result};

/// What a data folder holds, by which one is known, and a copy of one.
pub const DATA_FOLDER_NAMES: [&str; 3] = ["FORMAT", "secrets", "store.db"];

/// A folder to import, held open: what becomes of its name meanwhile changes nothing.
#[derive(Debug)]
pub struct ImportFolder {
    path: PathBuf,
    folder: OpenFolder,
    off_limits: Vec<FolderId>,
    links: Links,
    /// True for one that holds what a branch has.
    is_of_branch: bool,
}

/// What becomes of symbolic links.
#[derive(Clone, Debug)]
enum Links {
    LeftOut,
    /// Those that lead to something in the folder are followed; where the folder lies, as it was named
    /// and without links.
    Followed {
        named: PathBuf,
        real: PathBuf,
    },
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
            links: Links::LeftOut,
            is_of_branch: false,
        })
    }

    /// Opens a folder in which the files of a branch were laid out, to digest it: no path and no content of a branch
    /// is refused, also if none would be saved any more.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it cannot be read.
    pub fn of_branch(path: &Path) -> Result<Self> {
        let folder = Self::open(path, None)?;
        Ok(Self {
            is_of_branch: true,
            ..folder
        })
    }

    /// The same folder, whose symbolic links are followed where they lead to a file or folder in it. What
    /// such a link leads to is taken at the link's path.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the system does not say where the folder lies.
    pub fn following_links(self) -> Result<Self> {
        let unreadable = |e| unreadable(&self.path, &e);
        let links = Links::Followed {
            named: std::path::absolute(&self.path).map_err(unreadable)?,
            real: self.path.canonicalize().map_err(unreadable)?,
        };
        Ok(Self { links, ..self })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if links are followed.
    pub(super) fn follows_links(&self) -> bool {
        matches!(self.links, Links::Followed { .. })
    }

    /// The same folder once more.
    pub(super) fn another(&self) -> io::Result<Self> {
        let folder = self.folder.another()?;
        Ok(self.of_same_tree(self.path.clone(), folder))
    }

    /// A folder in it, never through a link. No links are followed in it.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        Ok(self.of_same_tree(self.path.join(name), self.folder.enter(name)?.into_top()))
    }

    fn of_same_tree(&self, path: PathBuf, folder: OpenFolder) -> Self {
        Self {
            path,
            folder,
            off_limits: self.off_limits.clone(),
            links: Links::LeftOut,
            is_of_branch: self.is_of_branch,
        }
    }

    /// True if it holds what a branch has.
    pub(super) fn is_of_branch(&self) -> bool {
        self.is_of_branch
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
        let holds = |name: &&str| entries.iter().any(|entry| entry.name == **name);
        let is_data_folder = || DATA_FOLDER_NAMES.iter().all(holds);
        if self.off_limits.contains(&id) || (!self.is_of_branch && is_data_folder()) {
            return Err(refused(path));
        }
        for entry in &mut entries {
            self.resolve(folder, entry);
        }
        entries.sort_by(Entry::in_tree_order);
        Ok(Ok(entries))
    }

    /// Has an entry be what it leads to, if it is a link that is followed.
    fn resolve(&self, folder: &OpenFolder, entry: &mut Entry) {
        let Links::Followed { named, real } = &self.links else {
            return;
        };
        if !matches!(entry.kind, EntryKind::LeftOut(Skip::Link, _)) {
            return;
        }
        let top = Top {
            folder: &self.folder,
            named,
            real,
        };
        (entry.kind, entry.target) = match top.target(folder, &entry.name) {
            Ok(Target::File(path)) => (EntryKind::File, Some(path)),
            Ok(Target::Folder(path)) => (EntryKind::Folder, Some(path)),
            Ok(Target::Special) => (EntryKind::LeftOut(Skip::Special, NO_FILE.into()), None),
            Ok(Target::None(why)) => (EntryKind::LeftOut(Skip::Link, why.into()), None),
            Err(error) => {
                let why = error.to_string().into();
                (EntryKind::LeftOut(Skip::Unreadable, why), None)
            }
        };
    }

    /// Opens an entry that is a folder.
    pub(super) fn enter(&self, folder: &OpenFolder, entry: &Entry) -> io::Result<OpenFolder> {
        match &entry.target {
            Some(target) => open_below(&self.folder, target),
            None => folder.enter(&entry.name),
        }
    }

    /// Opens an entry that is a file.
    pub(super) fn open_file(
        &self,
        folder: &OpenFolder,
        entry: &Entry,
    ) -> io::Result<(File, Metadata)> {
        let Some(target) = &entry.target else {
            return folder.open_file(&entry.name);
        };
        let (Some(above), Some(name)) = (target.parent(), target.file_name()) else {
            return folder.open_file(&entry.name);
        };
        open_below(&self.folder, above)?.open_file(name)
    }
}

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
