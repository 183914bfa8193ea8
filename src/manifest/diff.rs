//! Comparing two trees: equal subtrees are skipped unread.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{FileEntry, Item, Value};
use crate::store::Result;

/// A file that differs. At least one side is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The full path.
    pub path: String,
    /// As it was, `None` if it was not there.
    pub old: Option<FileEntry>,
    /// As it is, `None` if it is no longer there.
    pub new: Option<FileEntry>,
}

/// The files that differ between two trees, in the byte order of their paths.
pub fn diff(source: &impl NodeSource, old: NodeId, new: NodeId) -> Result<Vec<FileChange>> {
    diff_at_most(source, old, new, usize::MAX)
}

/// The first files that differ between two trees, at most this many.
pub fn diff_at_most(
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
    limit: usize,
) -> Result<Vec<FileChange>> {
    let mut changes = Vec::new();
    if limit > 0 {
        let _flow = each(source, old, new, &mut |change| {
            changes.push(change);
            if changes.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
    }
    Ok(changes)
}

/// Visits the files that differ between two trees, in the byte order of their paths.
pub fn each(
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
    visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    directories(source, Some(old), Some(new), &mut String::new(), visit)
}

/// The path of the first file that differs between two trees.
pub fn first(source: &impl NodeSource, old: NodeId, new: NodeId) -> Result<Option<String>> {
    let mut first = diff_at_most(source, old, new, 1)?;
    Ok(first.pop().map(|change| change.path))
}

/// One side of a comparison: what is left of a directory, nearest last.
struct Side<'a, S> {
    source: &'a S,
    left: Vec<Item>,
}

impl<'a, S: NodeSource> Side<'a, S> {
    fn new(source: &'a S, root: Option<NodeId>) -> Result<Self> {
        let mut side = Self {
            source,
            left: Vec::new(),
        };
        if let Some(root) = root {
            side.push_node(root)?;
        }
        Ok(side)
    }

    fn push_node(&mut self, node: NodeId) -> Result<()> {
        let node = self.source.node(node)?;
        self.left.extend(node.items.iter().rev().cloned());
        Ok(())
    }

    /// The node that comes next, if one does.
    fn subtree(&self) -> Option<NodeId> {
        match self.left.last()?.value {
            Value::Subtree(below) => Some(below.node),
            Value::File(_) | Value::Directory(_) => None,
        }
    }

    /// Puts the items of the node that comes next in its place.
    fn open(&mut self) -> Result<()> {
        if let Some(node) = self.subtree() {
            self.left.pop();
            self.push_node(node)?;
        }
        Ok(())
    }
}

fn directories(
    source: &impl NodeSource,
    old: Option<NodeId>,
    new: Option<NodeId>,
    prefix: &mut String,
    visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    if old == new {
        return Ok(ControlFlow::Continue(()));
    }
    let mut old = Side::new(source, old)?;
    let mut new = Side::new(source, new)?;
    loop {
        match (old.subtree(), new.subtree()) {
            (Some(a), Some(b)) if a == b => {
                old.left.pop();
                new.left.pop();
                continue;
            }
            (None, None) => {}
            _ => {
                old.open()?;
                new.open()?;
                continue;
            }
        }
        let order = match (old.left.last(), new.left.last()) {
            (None, None) => return Ok(ControlFlow::Continue(())),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.key.cmp(&b.key),
        };
        let before = if order.is_le() { old.left.pop() } else { None };
        let after = if order.is_ge() { new.left.pop() } else { None };
        let Some(name) = before
            .as_ref()
            .or(after.as_ref())
            .map(|item| item.key.name.clone())
        else {
            continue;
        };
        let start = prefix.len();
        prefix.push_str(&name);
        let flow = match (before.map(|item| item.value), after.map(|item| item.value)) {
            (Some(Value::File(a)), Some(Value::File(b))) if a == b => ControlFlow::Continue(()),
            (a @ (Some(Value::File(_)) | None), b @ (Some(Value::File(_)) | None)) => {
                visit(FileChange {
                    path: prefix.clone(),
                    old: as_file(a),
                    new: as_file(b),
                })
            }
            (a, b) => {
                prefix.push('/');
                directories(source, as_directory(a), as_directory(b), prefix, visit)?
            }
        };
        prefix.truncate(start);
        if flow.is_break() {
            return Ok(flow);
        }
    }
}

fn as_file(value: Option<Value>) -> Option<FileEntry> {
    match value {
        Some(Value::File(file)) => Some(file),
        _ => None,
    }
}

fn as_directory(value: Option<Value>) -> Option<NodeId> {
    match value {
        Some(Value::Directory(directory)) => Some(directory.root),
        _ => None,
    }
}
