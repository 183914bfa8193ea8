//! Visiting a tree's entries in the byte order of their full paths.

use std::ops::ControlFlow;

use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{Item, Key, Value};
use crate::store::Result;

/// Visits the entries of one directory in the order of their keys, those below it not.
pub fn directory(
    source: &impl NodeSource,
    root: NodeId,
    visit: &mut impl FnMut(&Key, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let node = source.node(root)?;
    for item in &node.items {
        let flow = match &item.value {
            Value::Subtree(below) => directory(source, below.node, visit)?,
            entry => visit(&item.key, entry)?,
        };
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Visits everything below a directory, each directory before what is in it. Paths begin with
/// `prefix`, which is empty or ends in a slash, and is left as it was.
pub fn recursive(
    source: &impl NodeSource,
    root: NodeId,
    prefix: &mut String,
    visit: &mut dyn FnMut(&str, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let start = prefix.len();
    let node = source.node(root)?;
    read_ahead(source, &node.items);
    for item in &node.items {
        if let Value::Subtree(below) = &item.value {
            if recursive(source, below.node, prefix, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            continue;
        }
        prefix.push_str(&item.key.name);
        let mut flow = visit(prefix, &item.value)?;
        if let (Value::Directory(entry), ControlFlow::Continue(())) = (&item.value, flow) {
            prefix.push('/');
            flow = recursive(source, entry.root, prefix, visit)?;
        }
        prefix.truncate(start);
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Has the nodes below these items read at once.
fn read_ahead(source: &impl NodeSource, items: &[Item]) {
    source.read_ahead(&mut items.iter().filter_map(|item| item.value.node()));
}

/// Visits what [`recursive`] would, but only what is not before the path `from`, and the directories
/// that lead to it.
pub fn recursive_from(
    source: &impl NodeSource,
    root: NodeId,
    from: &str,
    visit: &mut dyn FnMut(&str, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    below_from(source, root, from, &mut String::new(), visit)
}

/// `from` is what is left of the path below `prefix`.
fn below_from(
    source: &impl NodeSource,
    root: NodeId,
    from: &str,
    prefix: &mut String,
    visit: &mut dyn FnMut(&str, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    if from.is_empty() {
        return recursive(source, root, prefix, visit);
    }
    let start = prefix.len();
    let node = source.node(root)?;
    let first = node
        .items
        .partition_point(|item| is_before(&item.key, from));
    read_ahead(source, &node.items[first..]);
    for (at, item) in node.items.iter().enumerate().skip(first) {
        // Only the first can hold what is before the path.
        let from = if at == first { from } else { "" };
        if let Value::Subtree(below) = &item.value {
            if below_from(source, below.node, from, prefix, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            continue;
        }
        prefix.push_str(&item.key.name);
        let mut flow = visit(prefix, &item.value)?;
        if let (Value::Directory(entry), ControlFlow::Continue(())) = (&item.value, flow) {
            let rest = from
                .strip_prefix(&*item.key.name)
                .and_then(|rest| rest.strip_prefix('/'));
            prefix.push('/');
            flow = below_from(source, entry.root, rest.unwrap_or(""), prefix, visit)?;
        }
        prefix.truncate(start);
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// True if everything that this key stands for is before the path.
fn is_before(key: &Key, path: &str) -> bool {
    if !key.directory {
        return *key.name < *path;
    }
    match path.strip_prefix(&*key.name) {
        // The path lies in the directory, or is what the directory's own path begins with.
        Some(rest) => !rest.is_empty() && !rest.starts_with('/') && "/" < rest,
        None => *key.name < *path,
    }
}
