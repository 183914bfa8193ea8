//! Folders and files as they lie on a disk.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The number of a file or folder, whatever names it has.
pub(super) type Node = usize;

/// The folder in which everything lies.
const TOP: Node = 0;

/// What a file or folder holds.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Behind the bytes come zeros up to the length.
    File {
        bytes: Vec<u8>,
        length: usize,
    },
    Folder(BTreeMap<OsString, Node>),
}

impl Content {
    pub(super) fn empty_file() -> Self {
        Self::File {
            bytes: Vec::new(),
            length: 0,
        }
    }

    pub(super) fn empty_folder() -> Self {
        Self::Folder(BTreeMap::new())
    }
}

/// What a call changes of one file or folder.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write {
        file: Node,
        at: usize,
        bytes: Vec<u8>,
    },
    /// Makes a file longer, and where it `cuts` also shorter.
    Resize {
        file: Node,
        length: usize,
        cuts: bool,
    },
    /// What stands under names from now on.
    Names {
        folder: Node,
        names: Vec<(OsString, Option<Node>)>,
    },
}

impl Change {
    /// What has to be synced for it.
    pub(super) fn node(&self) -> Node {
        match self {
            Self::Write { file, .. } | Self::Resize { file, .. } => *file,
            Self::Names { folder, .. } => *folder,
        }
    }
}

/// All files and folders, also those without a name. A copy shares what neither changes.
#[derive(Clone, Debug)]
pub(super) struct Tree(Vec<Arc<Content>>);

impl Tree {
    /// One empty folder.
    pub(super) fn new() -> Self {
        Self(vec![Arc::new(Content::empty_folder())])
    }

    /// All that is in a folder of the system and `wanted` by its name.
    pub(super) fn of(folder: &Path, wanted: fn(&OsStr) -> bool) -> Self {
        let mut tree = Self::new();
        tree.read_node(TOP, folder, wanted);
        tree
    }

    fn read_node(&mut self, node: Node, folder: &Path, wanted: fn(&OsStr) -> bool) {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if !wanted(&entry.file_name()) {
                continue;
            }
            let path = entry.path();
            let is_folder = entry.file_type().unwrap().is_dir();
            let child = if is_folder {
                self.add(Content::empty_folder())
            } else {
                let bytes = fs::read(&path).unwrap();
                let length = bytes.len();
                self.add(Content::File { bytes, length })
            };
            if is_folder {
                self.read_node(child, &path, wanted);
            }
            names.push((entry.file_name(), Some(child)));
        }
        self.apply(&Change::Names {
            folder: node,
            names,
        });
    }

    pub(super) fn add(&mut self, content: Content) -> Node {
        self.0.push(Arc::new(content));
        self.0.len() - 1
    }

    /// What lies at a path, seen from the top.
    pub(super) fn at(&self, path: &Path) -> Option<Node> {
        path.iter()
            .try_fold(TOP, |node, name| match &*self.0[node] {
                Content::Folder(names) => names.get(name).copied(),
                Content::File { .. } => None,
            })
    }

    pub(super) fn apply(&mut self, change: &Change) {
        let content = Arc::make_mut(&mut self.0[change.node()]);
        match (content, change) {
            (
                Content::File { bytes, length },
                Change::Write {
                    at, bytes: written, ..
                },
            ) => {
                let end = at + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(written);
                *length = end.max(*length);
            }
            (
                Content::File { bytes, length },
                Change::Resize {
                    length: wanted,
                    cuts,
                    ..
                },
            ) => {
                if *cuts {
                    bytes.truncate(*wanted);
                    *length = *wanted;
                }
                *length = (*length).max(*wanted);
            }
            (Content::Folder(own), Change::Names { names, .. }) => {
                for (name, node) in names {
                    match node {
                        Some(node) => own.insert(name.clone(), *node),
                        None => own.remove(name),
                    };
                }
            }
            (content, change) => panic!("{change:?} of {content:?}"),
        }
    }

    /// Writes everything into an empty folder.
    pub(super) fn write_to(&self, folder: &Path) {
        self.write_node(TOP, folder);
    }

    fn write_node(&self, node: Node, folder: &Path) {
        let Content::Folder(names) = &*self.0[node] else {
            return;
        };
        for (name, node) in names {
            let path = folder.join(name);
            match &*self.0[*node] {
                Content::File { bytes, length } => {
                    let mut file = File::create(path).unwrap();
                    file.write_all(bytes).unwrap();
                    file.set_len(*length as u64).unwrap();
                }
                Content::Folder(_) => {
                    fs::create_dir(&path).unwrap();
                    self.write_node(*node, &path);
                }
            }
        }
    }

    /// Where a folder of the system holds something else than this; what is not `wanted` by its name does
    /// not count.
    pub(super) fn difference(&self, folder: &Path, wanted: fn(&OsStr) -> bool) -> Option<String> {
        self.difference_of(TOP, folder, wanted)
    }

    fn difference_of(&self, node: Node, at: &Path, wanted: fn(&OsStr) -> bool) -> Option<String> {
        match &*self.0[node] {
            Content::File { bytes, length } => {
                let found = fs::read(at).unwrap();
                let (same, zeros) = found.split_at(bytes.len().min(found.len()));
                let is_same = found.len() == *length
                    && *same == bytes[..same.len()]
                    && zeros.iter().all(|byte| *byte == 0);
                (!is_same).then(|| {
                    let place = same.iter().zip(bytes).position(|(one, other)| one != other);
                    let (shown, found) = (at.display(), found.len());
                    format!("{shown}: {found} bytes, expected {length}, other from {place:?} on")
                })
            }
            Content::Folder(names) => {
                let found = fs::read_dir(at).unwrap();
                let mut found: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
                found.retain(|name| wanted(name));
                found.sort();
                if found.iter().ne(names.keys()) {
                    let (shown, expected) = (at.display(), names.keys());
                    return Some(format!("{shown}: {found:?}, expected {expected:?}"));
                }
                let mut names = names.iter();
                names.find_map(|(name, node)| self.difference_of(*node, &at.join(name), wanted))
            }
        }
    }
}
