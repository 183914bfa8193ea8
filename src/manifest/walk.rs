//! Visiting a tree's entries in the byte order of their full paths.

use std::ops::ControlFlow;

use super::load::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{Key, Value};
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
