//! Finding an entry: by name in a directory, by path in a tree.

use super::nodes::NodeSource;
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::object::node::{DirectoryEntry, FileEntry, Key, Value};
use crate::store::Result;

/// What a name or path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    File(FileEntry),
    /// A directory.
    Directory(DirectoryEntry),
}

/// The value under this key in the directory with this root.
pub fn value(source: &impl NodeSource, root: NodeId, key: &Key) -> Result<Option<Value>> {
    let mut node = source.node(root)?;
    while node.level > 0 {
        let at = node.items.partition_point(|item| item.key < *key);
        let Some(Value::Subtree(below)) = node.items.get(at).map(|item| item.value) else {
            return Ok(None);
        };
        node = source.node(below.node)?;
    }
    Ok(node.get(key).map(|item| item.value))
}

/// The entry of this name, whatever it is.
pub fn entry(source: &impl NodeSource, root: NodeId, name: &str) -> Result<Option<Found>> {
    if let Some(Value::File(file)) = value(source, root, &Key::file(name))? {
        return Ok(Some(Found::File(file)));
    }
    match value(source, root, &Key::directory(name))? {
        Some(Value::Directory(directory)) => Ok(Some(Found::Directory(directory))),
        _ => Ok(None),
    }
}

/// What the path leads to in the tree with this root.
pub fn path(source: &impl NodeSource, root: NodeId, path: &FilePath) -> Result<Option<Found>> {
    let mut here = root;
    let mut segments = path.segments().peekable();
    while let Some(name) = segments.next() {
        if segments.peek().is_none() {
            return entry(source, here, name);
        }
        match value(source, here, &Key::directory(name))? {
            Some(Value::Directory(directory)) => here = directory.root,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// What stands at a path where a file is to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing, and no file above it.
    Free,
    /// A file.
    File(FileEntry),
    /// A directory.
    Directory,
    /// A file stands at this shorter path, where a directory would have to be.
    BelowFile(String),
}

/// What stands at the path in the tree with this root, when a file is to be put there.
pub fn place(source: &impl NodeSource, root: NodeId, path: &FilePath) -> Result<Place> {
    let text = path.as_str();
    let mut here = root;
    let mut end = 0;
    for name in path.segments() {
        end += name.len();
        match entry(source, here, name)? {
            None => return Ok(Place::Free),
            Some(Found::File(file)) if end == text.len() => return Ok(Place::File(file)),
            Some(Found::File(_)) => return Ok(Place::BelowFile(text[..end].to_owned())),
            Some(Found::Directory(directory)) => here = directory.root,
        }
        end += 1;
    }
    Ok(Place::Directory)
}
