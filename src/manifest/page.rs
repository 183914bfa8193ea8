//! A part of a listing. What comes before it is skipped unread: inner nodes and directories carry
//! totals, so reaching any place reads one node per level.

use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{Counts, Item, Key, Value};
use crate::store::Result;

/// Which entries of a listing are wanted: so many are left out, then so many taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Entries that are still to be left out.
    pub skip: u64,
    /// Entries that are still to be taken.
    pub take: u64,
}

impl Window {
    /// Passes over this many entries if they all come before the window.
    fn passes(&mut self, entries: u64) -> bool {
        match self.skip.checked_sub(entries) {
            Some(left) => {
                self.skip = left;
                true
            }
            None => false,
        }
    }
}

/// Everything that is below a directory, counted: files and directories at any depth.
fn below(counts: &Counts) -> u64 {
    let totals = counts.totals;
    totals.files.saturating_add(totals.directories)
}

/// How many files and directories are below this one, at any depth.
pub fn count_recursive(source: &impl NodeSource, root: NodeId) -> Result<u64> {
    Ok(below(&source.node(root)?.counts()))
}

/// How many directories and how many files this directory has itself.
pub fn count(source: &impl NodeSource, root: NodeId) -> Result<(u64, u64)> {
    let sum = source.node(root)?.counts();
    let files = sum.entries.saturating_sub(sum.directories);
    Ok((sum.directories, files))
}

/// Visits what a window holds of everything below a directory, in the order of
/// [`super::walk::recursive`]. Paths begin with `prefix`, which is empty or ends in a slash, and is
/// left as it was.
pub fn recursive(
    source: &impl NodeSource,
    root: NodeId,
    prefix: &mut String,
    window: &mut Window,
    visit: &mut dyn FnMut(&str, &Value) -> Result<()>,
) -> Result<()> {
    let start = prefix.len();
    let node = source.node(root)?;
    for item in &node.items {
        if window.take == 0 {
            break;
        }
        if window.passes(below(&item.value.counts())) {
            continue;
        }
        if let Value::Subtree(below) = &item.value {
            recursive(source, below.node, prefix, window, visit)?;
            continue;
        }
        prefix.push_str(&item.key.name);
        if !window.passes(1) {
            visit(prefix, &item.value)?;
            window.take -= 1;
        }
        if let Value::Directory(entry) = &item.value {
            prefix.push('/');
            recursive(source, entry.root, prefix, window, visit)?;
        }
        prefix.truncate(start);
    }
    Ok(())
}

/// Visits what a window holds of one directory's own files, in the byte order of their names.
pub fn files(
    source: &impl NodeSource,
    root: NodeId,
    window: &mut Window,
    visit: &mut dyn FnMut(&Key, &Value) -> Result<()>,
) -> Result<()> {
    let own = |counts: &Counts| counts.entries.saturating_sub(counts.directories);
    visit_counted(source, root, &own, window, visit)
}

/// Visits one directory's own directories in the order of their keys, in which a directory compares
/// as `name/`. Runs of files between them are not read.
pub fn directories(
    source: &impl NodeSource,
    root: NodeId,
    visit: &mut dyn FnMut(&Key, &Value) -> Result<()>,
) -> Result<()> {
    let mut all = Window {
        skip: 0,
        take: u64::MAX,
    };
    visit_counted(source, root, &|counts| counts.directories, &mut all, visit)
}

/// Calls `visit` for each entry of a directory that `counted` counts.
fn visit_counted(
    source: &impl NodeSource,
    root: NodeId,
    counted: &dyn Fn(&Counts) -> u64,
    window: &mut Window,
    visit: &mut dyn FnMut(&Key, &Value) -> Result<()>,
) -> Result<()> {
    let node = source.node(root)?;
    for Item { key, value } in &node.items {
        let here = counted(&value.counts());
        if window.take == 0 {
            break;
        }
        if here == 0 || window.passes(here) {
            continue;
        }
        if let Value::Subtree(below) = value {
            visit_counted(source, below.node, counted, window, visit)?;
        } else {
            visit(key, value)?;
            window.take -= 1;
        }
    }
    Ok(())
}
