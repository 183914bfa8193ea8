//! Comparing two trees: equal subtrees are skipped unread.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{FileEntry, Item, Key, Node, Totals, Value};
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

/// How many files differ between two trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Those that only the new tree has.
    pub added: u64,
    /// Those that both have, with other bytes or another mode.
    pub modified: u64,
    /// Those that only the old tree has.
    pub deleted: u64,
}

impl ChangeCounts {
    /// How many files differ.
    pub fn all(self) -> u64 {
        let changed = self.added.saturating_add(self.modified);
        changed.saturating_add(self.deleted)
    }
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
        let _flow = each(source, old, new, None, &mut |change| {
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

/// Visits the files that differ between two trees, in the byte order of their paths, until the visitor
/// breaks; where a comparison begins in their midst, what comes before is skipped unread.
pub fn each(
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
    start: Option<Start<'_>>,
    mut visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let (old, new) = (Some(old), Some(new));
    directories(source, old, new, start, &mut String::new(), &mut visit)
}

/// Where a comparison begins. No file need be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// At this path.
    At(&'a str),
    /// Behind it.
    After(&'a str),
}

impl Start<'_> {
    /// True for an item all of whose paths come before the start. That of a node has the key of its last.
    fn passes(self, key: &Key) -> bool {
        let (Self::At(path) | Self::After(path)) = self;
        match (path.split_once('/'), self) {
            (Some((folder, _)), _) => *key < Key::directory(folder),
            (None, Self::At(name)) => *key < Key::file(name),
            (None, Self::After(name)) => *key <= Key::file(name),
        }
    }

    /// Where the comparison of a folder begins that is not passed; `None` at its beginning.
    fn within(self, key: &Key) -> Option<Self> {
        let (Self::At(path) | Self::After(path)) = self;
        let (folder, rest) = path.split_once('/')?;
        (*key == Key::directory(folder)).then_some(match self {
            Self::At(_) => Self::At(rest),
            Self::After(_) => Self::After(rest),
        })
    }
}

/// Counts the files that differ between two trees. What only one of them has is counted by its totals,
/// unread. `None` when more than `visited_max` files have to be looked at.
pub fn counts(
    source: &impl NodeSource,
    old: NodeId,
    new: NodeId,
    visited_max: u64,
) -> Result<Option<ChangeCounts>> {
    let mut counting = Counting {
        counts: ChangeCounts::default(),
        left: visited_max,
    };
    let (old, new) = (Some(old), Some(new));
    let flow = directories(source, old, new, None, &mut String::new(), &mut counting)?;
    Ok(flow.is_continue().then_some(counting.counts))
}

/// Who is told what differs.
trait Visitor {
    /// A file differs.
    fn file(&mut self, change: FileChange) -> ControlFlow<()>;

    /// Takes what only one of the trees has as a whole; else its files are visited.
    fn takes_whole(&mut self, _side: Only, _totals: Totals) -> bool {
        false
    }
}

/// Which of two trees alone has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    Old,
    New,
}

impl Visitor for &mut dyn FnMut(FileChange) -> ControlFlow<()> {
    fn file(&mut self, change: FileChange) -> ControlFlow<()> {
        self(change)
    }
}

struct Counting {
    counts: ChangeCounts,
    /// Files that may still be visited.
    left: u64,
}

impl Visitor for Counting {
    fn file(&mut self, change: FileChange) -> ControlFlow<()> {
        let Some(left) = self.left.checked_sub(1) else {
            return ControlFlow::Break(());
        };
        self.left = left;
        match (change.old, change.new) {
            (None, _) => self.counts.added += 1,
            (Some(_), Some(_)) => self.counts.modified += 1,
            (Some(_), None) => self.counts.deleted += 1,
        }
        ControlFlow::Continue(())
    }

    fn takes_whole(&mut self, side: Only, totals: Totals) -> bool {
        let files = match side {
            Only::Old => &mut self.counts.deleted,
            Only::New => &mut self.counts.added,
        };
        *files = files.saturating_add(totals.files);
        true
    }
}

/// The path of the first file that differs between two trees.
pub fn first(source: &impl NodeSource, old: NodeId, new: NodeId) -> Result<Option<String>> {
    let mut first = diff_at_most(source, old, new, 1)?;
    Ok(first.pop().map(|change| change.path))
}

/// One side of a comparison: what is left of a directory.
struct Side<'a, S> {
    source: &'a S,
    /// The nodes of which something is left; the current one is last.
    nodes: Vec<Position>,
}

/// A node, and how many of its items have been passed: not all of them.
struct Position {
    node: Arc<Node>,
    passed: usize,
}

impl<'a, S: NodeSource> Side<'a, S> {
    fn new(source: &'a S, root: Option<NodeId>) -> Result<Self> {
        let mut side = Self {
            source,
            nodes: Vec::new(),
        };
        if let Some(root) = root {
            side.push_node(root)?;
        }
        Ok(side)
    }

    fn push_node(&mut self, node: NodeId) -> Result<()> {
        let node = self.source.node(node)?;
        if !node.items.is_empty() {
            self.nodes.push(Position { node, passed: 0 });
        }
        Ok(())
    }

    /// The item that comes next.
    fn peek(&self) -> Option<&Item> {
        let current = self.nodes.last()?;
        current.node.items.get(current.passed)
    }

    /// Leaves out the item that comes next.
    fn pass(&mut self) {
        let Some(current) = self.nodes.last_mut() else {
            return;
        };
        current.passed += 1;
        if current.passed == current.node.items.len() {
            self.nodes.pop();
        }
    }

    /// Leaves out what comes before the start.
    fn skip_to(&mut self, start: Start<'_>) {
        while self.peek().is_some_and(|item| start.passes(&item.key)) {
            self.pass();
        }
    }

    /// The node that comes next, if one does.
    fn subtree(&self) -> Option<NodeId> {
        match self.peek()?.value {
            Value::Subtree(below) => Some(below.node),
            Value::File(_) | Value::Directory(_) => None,
        }
    }

    /// Has a visitor take the node that comes next, which the other side has nothing beside.
    fn is_taken(&mut self, side: Only, visit: &mut dyn Visitor) -> bool {
        let Some(Value::Subtree(below)) = self.peek().map(|item| item.value) else {
            return false;
        };
        let taken = visit.takes_whole(side, below.counts.totals);
        if taken {
            self.pass();
        }
        taken
    }

    /// Puts the items of the node that comes next in its place.
    fn open(&mut self) -> Result<()> {
        if let Some(node) = self.subtree() {
            self.pass();
            self.push_node(node)?;
        }
        Ok(())
    }
}

fn directories(
    source: &impl NodeSource,
    old: Option<NodeId>,
    new: Option<NodeId>,
    start: Option<Start<'_>>,
    prefix: &mut String,
    visit: &mut dyn Visitor,
) -> Result<ControlFlow<()>> {
    if old == new {
        return Ok(ControlFlow::Continue(()));
    }
    let mut old = Side::new(source, old)?;
    let mut new = Side::new(source, new)?;
    loop {
        if let Some(start) = start {
            old.skip_to(start);
            new.skip_to(start);
        }
        match (old.subtree(), new.subtree()) {
            (Some(a), Some(b)) if a == b => {
                old.pass();
                new.pass();
                continue;
            }
            (None, None) => {}
            (Some(_), None) if new.peek().is_none() && old.is_taken(Only::Old, visit) => continue,
            (None, Some(_)) if old.peek().is_none() && new.is_taken(Only::New, visit) => continue,
            _ => {
                old.open()?;
                new.open()?;
                continue;
            }
        }
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(ControlFlow::Continue(())),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.key.cmp(&b.key),
        };
        let before = old.peek().filter(|_| order.is_le());
        let after = new.peek().filter(|_| order.is_ge());
        let Some(Item { key, .. }) = before.or(after) else {
            continue;
        };
        let length = prefix.len();
        prefix.push_str(&key.name);
        let flow = match (before.map(|item| item.value), after.map(|item| item.value)) {
            (Some(Value::File(a)), Some(Value::File(b))) if a == b => ControlFlow::Continue(()),
            (Some(Value::Directory(a)), None) if visit.takes_whole(Only::Old, a.totals) => {
                ControlFlow::Continue(())
            }
            (None, Some(Value::Directory(b))) if visit.takes_whole(Only::New, b.totals) => {
                ControlFlow::Continue(())
            }
            (a @ (Some(Value::File(_)) | None), b @ (Some(Value::File(_)) | None)) => {
                visit.file(FileChange {
                    path: prefix.clone(),
                    old: as_file(a),
                    new: as_file(b),
                })
            }
            (a, b) => {
                prefix.push('/');
                let (a, b) = (as_directory(a), as_directory(b));
                let start = start.and_then(|start| start.within(key));
                directories(source, a, b, start, prefix, visit)?
            }
        };
        prefix.truncate(length);
        if flow.is_break() {
            return Ok(flow);
        }
        if order.is_le() {
            old.pass();
        }
        if order.is_ge() {
            new.pass();
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
