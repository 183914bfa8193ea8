//! Laying one tree over another. What only one of them has, and what both share, is reused unread.

use super::directory_builder::DirectoryBuilder;
use super::draft::Draft;
use super::edit::EditError;
use super::lookup;
use super::lookup::Found;
use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{DirectoryEntry, Item, Key, Totals, Value};
use crate::store::Result;

/// Lays the directory `over` over the directory `under`, both given by their roots: every file of the
/// upper one, and those of the lower one at other paths. `None` if both are empty.
///
/// # Errors
/// [`EditError::NotDirectory`] and [`EditError::IsDirectory`] where one has a file and the other a
/// directory. The draft may have spilled nodes then that nothing refers to.
///
/// # Limits
/// Memory as of [`DirectoryBuilder::put`], for each directory on the way to one.
pub fn overlay(
    draft: &mut Draft<'_>,
    under: NodeId,
    over: NodeId,
) -> std::result::Result<Option<DirectoryEntry>, EditError> {
    directory(draft, under, over, &mut String::new())
}

/// `prefix` is the path of the directory, empty or with a slash at its end; left as it was but for an
/// error.
fn directory(
    draft: &mut Draft<'_>,
    under: NodeId,
    over: NodeId,
    prefix: &mut String,
) -> std::result::Result<Option<DirectoryEntry>, EditError> {
    let lower = draft.node(under)?;
    if under == over || lower.items.is_empty() {
        let counts = draft.node(over)?.counts();
        return Ok(
            (counts.totals != Totals::default()).then_some(DirectoryEntry {
                root: over,
                totals: counts.totals,
            }),
        );
    }
    let mut builder = DirectoryBuilder::new(Some(under));
    node(draft, under, over, &mut builder, prefix)?;
    Ok(builder.finish(draft)?)
}

/// Lays what is in one node of the upper directory.
fn node(
    draft: &mut Draft<'_>,
    under: NodeId,
    over: NodeId,
    builder: &mut DirectoryBuilder,
    prefix: &mut String,
) -> std::result::Result<(), EditError> {
    let upper = draft.node(over)?;
    for Item { key, value } in &upper.items {
        if let Value::Subtree(below) = value {
            if !shares(draft, under, upper.level - 1, key, below.node)? {
                node(draft, under, below.node, builder, prefix)?;
            }
            continue;
        }
        let start = prefix.len();
        prefix.push_str(&key.name);
        if let Some(value) = entry(draft, under, key, *value, prefix)? {
            builder.put(draft, &key.name, value)?;
        }
        prefix.truncate(start);
    }
    Ok(())
}

/// What an entry of the upper directory, at this path, puts into the lower one; `None` if it is there
/// already.
fn entry(
    draft: &mut Draft<'_>,
    under: NodeId,
    key: &Key,
    value: Value,
    path: &mut String,
) -> std::result::Result<Option<Value>, EditError> {
    let there = lookup::entry(draft, under, &key.name)?;
    Ok(match (there, value) {
        (None, value) => Some(value),
        (Some(Found::File(old)), Value::File(new)) => (old != new).then_some(value),
        (Some(Found::Directory(old)), Value::Directory(new)) if old.root == new.root => None,
        (Some(Found::Directory(old)), Value::Directory(new)) => {
            path.push('/');
            directory(draft, old.root, new.root, path)?.map(Value::Directory)
        }
        (Some(Found::File(_)), _) => {
            let path = path.clone();
            return Err(EditError::NotDirectory { path });
        }
        (Some(Found::Directory(_)), _) => {
            let path = path.clone();
            return Err(EditError::IsDirectory { path });
        }
    })
}

/// True if the directory with this root has this very node, of this level and with this last key.
fn shares(
    source: &impl NodeSource,
    root: NodeId,
    level: u8,
    key: &Key,
    wanted: NodeId,
) -> Result<bool> {
    let mut here = root;
    loop {
        if here == wanted {
            return Ok(true);
        }
        let node = source.node(here)?;
        let at = node.items.partition_point(|item| item.key < *key);
        match node.items.get(at).map(|item| item.value) {
            Some(Value::Subtree(below)) if node.level > level => here = below.node,
            _ => return Ok(false),
        }
    }
}
