//! A part of a listing. What comes before it is skipped unread: inner nodes and directories carry
//! totals, so reaching any place reads one node per level.

use std::ops::ControlFlow;

use super::lookup;
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

/// The files of a directory itself.
fn own_files(counts: &Counts) -> u64 {
    counts.entries.saturating_sub(counts.directories)
}

/// How many files and directories are below this one, at any depth.
pub fn count_recursive(source: &impl NodeSource, root: NodeId) -> Result<u64> {
    Ok(below(&source.node(root)?.counts()))
}

/// How many directories and how many files this directory has itself.
pub fn count(source: &impl NodeSource, root: NodeId) -> Result<(u64, u64)> {
    let sum = source.node(root)?.counts();
    Ok((sum.directories, own_files(&sum)))
}

/// How many entries of [`recursive`] come before what follows a path. What it names may be gone.
pub fn count_recursive_to(source: &impl NodeSource, root: NodeId, path: &str) -> Result<u64> {
    let (name, rest) = match path.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let folder = Key::directory(name);
    let found = lookup::value(source, root, &folder)?;
    if let (Some(Value::Directory(directory)), Some(rest)) = (&found, rest) {
        let passed = count_before(source, root, &folder, &below)?;
        let within = count_recursive_to(source, directory.root, rest)?;
        return Ok(passed.saturating_add(1).saturating_add(within));
    }
    if found.is_some() || rest.is_some() {
        let passed = count_before(source, root, &folder, &below)?;
        return Ok(passed.saturating_add(u64::from(found.is_some())));
    }
    let file = Key::file(name);
    let there = lookup::value(source, root, &file)?.is_some();
    let passed = count_before(source, root, &file, &below)?;
    Ok(passed.saturating_add(u64::from(there)))
}

/// How many of a directory's own files come before what follows this name.
pub fn count_files_to(source: &impl NodeSource, root: NodeId, name: &str) -> Result<u64> {
    let file = Key::file(name);
    let there = lookup::value(source, root, &file)?.is_some();
    let passed = count_before(source, root, &file, &own_files)?;
    Ok(passed.saturating_add(u64::from(there)))
}

/// How many of the entries that `counted` counts come before this key in a directory.
fn count_before(
    source: &impl NodeSource,
    root: NodeId,
    key: &Key,
    counted: &dyn Fn(&Counts) -> u64,
) -> Result<u64> {
    let mut node = source.node(root)?;
    let mut sum: u64 = 0;
    loop {
        let at = node.items.partition_point(|item| item.key < *key);
        for item in &node.items[..at] {
            sum = sum.saturating_add(counted(&item.value.counts()));
        }
        let Some(Value::Subtree(below)) = node.items.get(at).map(|item| item.value) else {
            return Ok(sum);
        };
        node = source.node(below.node)?;
    }
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

/// Visits what a window holds of one directory's own files, in the byte order of their names, until the
/// visitor breaks.
pub fn files(
    source: &impl NodeSource,
    root: NodeId,
    window: &mut Window,
    visit: &mut dyn FnMut(&Key, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    visit_counted(source, root, &own_files, window, visit)
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
    let of_directories = |counts: &Counts| counts.directories;
    let _flow = visit_counted(
        source,
        root,
        &of_directories,
        &mut all,
        &mut |key, value| visit(key, value).map(ControlFlow::Continue),
    )?;
    Ok(())
}

/// Calls `visit` for each entry of a directory that `counted` counts, until it breaks.
fn visit_counted(
    source: &impl NodeSource,
    root: NodeId,
    counted: &dyn Fn(&Counts) -> u64,
    window: &mut Window,
    visit: &mut dyn FnMut(&Key, &Value) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let node = source.node(root)?;
    for Item { key, value } in &node.items {
        let here = counted(&value.counts());
        if window.take == 0 {
            break;
        }
        if here == 0 || window.passes(here) {
            continue;
        }
        let flow = if let Value::Subtree(below) = value {
            visit_counted(source, below.node, counted, window, visit)?
        } else {
            window.take -= 1;
            visit(key, value)?
        };
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}
