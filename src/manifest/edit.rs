//! Changing a tree by paths: changes are staged directory by directory and written at the end.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::lookup;
use super::lookup::Found;
use super::nodes::NodeSource;
use super::rewrite::{Edits, rewrite};
use crate::base::file_path::FilePath;
use crate::base::id::{ManifestId, NodeId};
use crate::object::manifest::Manifest;
use crate::object::node::{DirectoryEntry, FileEntry, Key, Totals, Value};
use crate::store::StoreError;

/// Why a change cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A file stands where the path needs a directory.
    #[error("\"{path}\" is a file, not a folder")]
    NotDirectory {
        /// The file.
        path: String,
    },
    /// A directory stands where the path needs a file.
    #[error("\"{path}\" is a folder, not a file")]
    IsDirectory {
        /// The directory.
        path: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Edits a tree. Nothing of it is in the store before the draft's objects are committed.
#[derive(Debug)]
pub struct Editor {
    root: Directory,
}

/// A directory that is being changed.
#[derive(Debug, Default)]
struct Directory {
    /// Its root in the store, if it has one.
    stored: Option<NodeId>,
    staged: BTreeMap<Box<str>, Staged>,
}

/// The staged change of a name.
#[derive(Debug)]
enum Staged {
    Removed,
    File(FileEntry),
    Directory(DirectoryEntry),
    Open(Directory),
}

impl Editor {
    /// Starts from a tree.
    pub fn new(manifest: &Manifest) -> Self {
        Self {
            root: Directory {
                stored: Some(manifest.root),
                staged: BTreeMap::new(),
            },
        }
    }

    /// Starts from nothing.
    pub fn empty() -> Self {
        Self {
            root: Directory::default(),
        }
    }

    /// The file at this path, changes so far included.
    pub fn file(
        &self,
        source: &impl NodeSource,
        path: &FilePath,
    ) -> Result<Option<FileEntry>, EditError> {
        match self.find(source, path)? {
            Some(Found::File(file)) => Ok(Some(file)),
            _ => Ok(None),
        }
    }

    /// Puts a file, in the place of one that may be there.
    pub fn put_file(
        &mut self,
        source: &impl NodeSource,
        path: &FilePath,
        file: FileEntry,
    ) -> Result<(), EditError> {
        if self.is_directory(source, path)? {
            return Err(EditError::IsDirectory {
                path: path.to_string(),
            });
        }
        let (parent, name) = self.open_parent(source, path)?;
        parent.staged.insert(name, Staged::File(file));
        Ok(())
    }

    /// Puts a whole directory, in the place of one that may be there. No directory is empty: to put
    /// one removes what is there.
    pub fn put_directory(
        &mut self,
        source: &impl NodeSource,
        path: &FilePath,
        directory: DirectoryEntry,
    ) -> Result<(), EditError> {
        if let Some(Found::File(_)) = self.find(source, path)? {
            return Err(EditError::NotDirectory {
                path: path.to_string(),
            });
        }
        let staged = if source.node(directory.root)?.items.is_empty() {
            Staged::Removed
        } else {
            Staged::Directory(directory)
        };
        let (parent, name) = self.open_parent(source, path)?;
        parent.staged.insert(name, staged);
        Ok(())
    }

    /// Removes a file or a directory; false if there is nothing at this path. Directories that
    /// become empty vanish.
    pub fn remove(&mut self, source: &impl NodeSource, path: &FilePath) -> Result<bool, EditError> {
        let there = self.find(source, path)?.is_some() || self.is_directory(source, path)?;
        if there {
            let (parent, name) = self.open_parent(source, path)?;
            parent.staged.insert(name, Staged::Removed);
        }
        Ok(there)
    }

    /// The directory at this path, changes so far included; what was changed in it is written into the
    /// draft. `None` if there is none.
    pub fn directory(
        &mut self,
        draft: &mut Draft<'_>,
        path: &FilePath,
    ) -> Result<Option<DirectoryEntry>, EditError> {
        if !self.is_directory(draft, path)? {
            return Ok(None);
        }
        let (parent, name) = self.open_parent(draft, path)?;
        let entry = match parent.staged.remove(&name) {
            Some(Staged::Open(open)) => write(draft, open)?,
            Some(Staged::Directory(entry)) => Some(entry),
            _ => match stored_entry(draft, parent.stored, &name)? {
                Some(Found::Directory(entry)) => Some(entry),
                _ => None,
            },
        };
        let staged = entry.map_or(Staged::Removed, Staged::Directory);
        parent.staged.insert(name, staged);
        Ok(entry)
    }

    /// Writes the changed nodes and the manifest into the draft.
    pub fn finish(self, draft: &mut Draft<'_>) -> Result<(ManifestId, Manifest), StoreError> {
        let root = write(draft, self.root)?;
        Ok(draft.put_root(root))
    }

    /// True if there is a directory at this path, changes so far included.
    pub fn is_directory(
        &self,
        source: &impl NodeSource,
        path: &FilePath,
    ) -> Result<bool, EditError> {
        let mut here = &self.root;
        for (depth, name) in path.segments().enumerate() {
            match here.staged.get(name) {
                Some(Staged::Open(next)) => here = next,
                Some(Staged::Removed | Staged::File(_)) => return Ok(false),
                Some(Staged::Directory(entry)) => {
                    return stored_is_directory(source, entry.root, path, depth + 1);
                }
                None => {
                    let Some(stored) = here.stored else {
                        return Ok(false);
                    };
                    return stored_is_directory(source, stored, path, depth);
                }
            }
        }
        Ok(!is_empty(source, here)?)
    }

    fn find(&self, source: &impl NodeSource, path: &FilePath) -> Result<Option<Found>, EditError> {
        let mut here = &self.root;
        let count = path.segments().count();
        for (depth, name) in path.segments().enumerate() {
            let last = depth + 1 == count;
            match here.staged.get(name) {
                Some(Staged::Open(next)) => here = next,
                Some(Staged::File(file)) if last => return Ok(Some(Found::File(*file))),
                Some(Staged::Directory(entry)) if last => {
                    return Ok(Some(Found::Directory(*entry)));
                }
                Some(Staged::Removed | Staged::File(_)) => return Ok(None),
                Some(Staged::Directory(entry)) => {
                    return stored_find(source, entry.root, path, depth + 1);
                }
                None => {
                    let Some(stored) = here.stored else {
                        return Ok(None);
                    };
                    return stored_find(source, stored, path, depth);
                }
            }
        }
        Ok(None)
    }

    /// Opens every directory above the path, making those that are missing.
    fn open_parent(
        &mut self,
        source: &impl NodeSource,
        path: &FilePath,
    ) -> Result<(&mut Directory, Box<str>), EditError> {
        let mut here = &mut self.root;
        let mut above = String::new();
        let mut segments = path.segments().peekable();
        while let Some(name) = segments.next() {
            if segments.peek().is_none() {
                return Ok((here, name.into()));
            }
            above.push_str(name);
            here = open(source, here, name)?.ok_or_else(|| EditError::NotDirectory {
                path: above.clone(),
            })?;
            above.push('/');
        }
        unreachable!("a path has at least one segment")
    }
}

/// Opens the directory of this name for changes, making it where there is nothing; `None` where a
/// file stands.
fn open<'d>(
    source: &impl NodeSource,
    parent: &'d mut Directory,
    name: &str,
) -> Result<Option<&'d mut Directory>, EditError> {
    let stored = match parent.staged.get(name) {
        Some(Staged::Open(_)) => None,
        Some(Staged::File(_)) => return Ok(None),
        Some(Staged::Removed) => Some(None),
        Some(Staged::Directory(entry)) => Some(Some(entry.root)),
        None => match stored_entry(source, parent.stored, name)? {
            Some(Found::File(_)) => return Ok(None),
            Some(Found::Directory(entry)) => Some(Some(entry.root)),
            None => Some(None),
        },
    };
    if let Some(stored) = stored {
        let opened = Directory {
            stored,
            staged: BTreeMap::new(),
        };
        parent.staged.insert(name.into(), Staged::Open(opened));
    }
    match parent.staged.get_mut(name) {
        Some(Staged::Open(directory)) => Ok(Some(directory)),
        _ => unreachable!("it was opened just now"),
    }
}

/// True if nothing would be left of the directory. Asked only where a path names an open directory:
/// it looks at every change.
fn is_empty(source: &impl NodeSource, directory: &Directory) -> Result<bool, EditError> {
    let mut removed = 0;
    for (name, staged) in &directory.staged {
        match staged {
            Staged::Removed => {
                removed += u64::from(stored_entry(source, directory.stored, name)?.is_some());
            }
            Staged::Open(below) if is_empty(source, below)? => {
                removed += u64::from(stored_entry(source, directory.stored, name)?.is_some());
            }
            Staged::File(_) | Staged::Directory(_) | Staged::Open(_) => return Ok(false),
        }
    }
    match directory.stored {
        None => Ok(true),
        Some(root) => Ok(source.node(root)?.counts().entries == removed),
    }
}

/// Writes a changed directory; `None` if nothing is left of it.
fn write(
    draft: &mut Draft<'_>,
    directory: Directory,
) -> Result<Option<DirectoryEntry>, StoreError> {
    let mut edits = Edits::new();
    for (name, staged) in directory.staged {
        let stored = stored_entry(draft, directory.stored, &name)?;
        let value = match staged {
            Staged::Removed => None,
            Staged::File(file) => Some(Value::File(file)),
            Staged::Directory(entry) => Some(Value::Directory(entry)),
            Staged::Open(below) => write(draft, below)?.map(Value::Directory),
        };
        // What was stored under either key is removed first.
        match stored {
            Some(Found::File(_)) => drop(edits.insert(Key::file(&name), None)),
            Some(Found::Directory(_)) => drop(edits.insert(Key::directory(&name), None)),
            None => {}
        }
        match value {
            Some(value @ Value::File(_)) => drop(edits.insert(Key::file(&name), Some(value))),
            Some(value) => drop(edits.insert(Key::directory(&name), Some(value))),
            None => {}
        }
    }
    let root = if edits.is_empty() {
        directory.stored
    } else {
        rewrite(draft, directory.stored, edits)?
    };
    let Some(root) = root else { return Ok(None) };
    let counts = draft.node(root)?.counts();
    Ok((counts.entries > 0).then_some(DirectoryEntry {
        root,
        totals: counts.totals,
    }))
}

fn stored_entry(
    source: &impl NodeSource,
    root: Option<NodeId>,
    name: &str,
) -> Result<Option<Found>, StoreError> {
    root.map_or(Ok(None), |root| lookup::entry(source, root, name))
}

/// Follows the rest of a path from its segment `depth` on.
fn stored_find(
    source: &impl NodeSource,
    root: NodeId,
    path: &FilePath,
    depth: usize,
) -> Result<Option<Found>, EditError> {
    let mut found = Found::Directory(DirectoryEntry {
        root,
        totals: Totals::default(),
    });
    for name in path.segments().skip(depth) {
        let Found::Directory(directory) = found else {
            return Ok(None);
        };
        let Some(next) = lookup::entry(source, directory.root, name)? else {
            return Ok(None);
        };
        found = next;
    }
    Ok(Some(found))
}

fn stored_is_directory(
    source: &impl NodeSource,
    root: NodeId,
    path: &FilePath,
    depth: usize,
) -> Result<bool, EditError> {
    Ok(matches!(
        stored_find(source, root, path, depth)?,
        Some(Found::Directory(_))
    ))
}
