//! Changing one directory: the nodes on the way to each change are written anew, split where the
//! content says so, and all others stay as they are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::boundary::Run;
use super::draft::Draft;
use super::nodes::NodeSource;
use crate::base::id::NodeId;
use crate::object::node::{Item, Key, Node, Subtree, Value};
use crate::store::Result;

/// Changes of one level, by key: `Some` puts a value, `None` removes one that may be there.
pub type Edits = BTreeMap<Key, Option<Value>>;

/// Applies changes to the directory with this root (`None` for one that is not there) and gives the
/// new root, `None` if nothing is left. The result depends on the resulting entries alone.
pub fn rewrite(
    draft: &mut Draft<'_>,
    root: Option<NodeId>,
    edits: Edits,
) -> Result<Option<NodeId>> {
    let Some(root) = root else {
        return grow(draft, 0, edits);
    };
    let top = draft.node(root)?;
    let mut edits = edits;
    for level in 0..=top.level {
        edits = rewrite_level(draft, root, &top, level, edits)?;
        if edits.is_empty() {
            return Ok(Some(root));
        }
    }
    // What replaced the old root is all there is at its level.
    let grown = grow(draft, top.level + 1, edits)?;
    grown.map(|root| lowest(draft, root)).transpose()
}

/// Puts levels on top of a complete list of items until one node holds everything.
fn grow(draft: &mut Draft<'_>, level: u8, edits: Edits) -> Result<Option<NodeId>> {
    let mut level = level;
    let mut items: Vec<Item> = edits
        .into_iter()
        .filter_map(|(key, value)| Some(Item { key, value: value? }))
        .collect();
    loop {
        match items.as_slice() {
            [] => return Ok(None),
            [
                Item {
                    value: Value::Subtree(only),
                    ..
                },
            ] => return Ok(Some(only.node)),
            _ => {}
        }
        let mut chunks = Chunks::new(level);
        for item in items {
            chunks.push(draft, item);
        }
        items = chunks.finish(draft);
        level += 1;
    }
}

/// The lowest node that still holds everything.
fn lowest(draft: &Draft<'_>, mut root: NodeId) -> Result<NodeId> {
    loop {
        match draft.node(root)?.items.as_slice() {
            [
                Item {
                    value: Value::Subtree(only),
                    ..
                },
            ] => root = only.node,
            _ => return Ok(root),
        }
    }
}

/// Applies the changes of one level and gives those of the level above. A node is written anew from
/// its start, and so are its successors until one ends where an old one did.
fn rewrite_level(
    draft: &mut Draft<'_>,
    root: NodeId,
    top: &Arc<Node>,
    level: u8,
    edits: Edits,
) -> Result<Edits> {
    let mut above = Edits::new();
    let mut edits = edits.into_iter().peekable();
    while let Some((first, _)) = edits.peek() {
        let mut cursor = Cursor::seek(draft, root, top, level, first)?;
        let mut chunks = Chunks::new(level);
        let mut replaced: HashMap<Key, NodeId> = HashMap::new();
        loop {
            let node = Arc::clone(cursor.node());
            let last_key = node.items.last().map(|item| item.key.clone());
            if let Some(key) = last_key.clone() {
                replaced.insert(key, cursor.id());
            }
            let ends_list = cursor.is_last();
            let mut old = node.items.iter().cloned().peekable();
            loop {
                // The next change belongs here if it is not beyond this node, or nothing comes after.
                let change = edits.next_if(|(key, _)| {
                    (ends_list || last_key.as_ref().is_some_and(|last| key <= last))
                        && old.peek().is_none_or(|item| *key <= item.key)
                });
                match change {
                    Some((key, value)) => {
                        drop(old.next_if(|item| item.key == key));
                        if let Some(value) = value {
                            chunks.push(draft, Item { key, value });
                        }
                    }
                    None => match old.next() {
                        Some(item) => chunks.push(draft, item),
                        None => break,
                    },
                }
            }
            if ends_list || chunks.is_between_nodes() {
                break;
            }
            cursor.advance(draft)?;
        }
        let written = chunks.finish(draft);
        above.extend(replaced.keys().map(|key| (key.clone(), None)));
        for item in written {
            // The level above holds it already, if there is one.
            let unchanged = level < top.level
                && matches!(item.value, Value::Subtree(new)
                    if replaced.get(&item.key) == Some(&new.node));
            if unchanged {
                above.remove(&item.key);
            } else {
                above.insert(item.key, Some(item.value));
            }
        }
    }
    Ok(above)
}

/// Cuts a stream of items into nodes and collects the items that stand for them a level above.
struct Chunks {
    run: Run,
    level: u8,
    open: Vec<Item>,
    written: Vec<Item>,
}

impl Chunks {
    fn new(level: u8) -> Self {
        Self {
            run: Run::new(level),
            level,
            open: Vec::new(),
            written: Vec::new(),
        }
    }

    fn push(&mut self, draft: &mut Draft<'_>, item: Item) {
        let ends = self.run.ends_with(&item.key);
        self.open.push(item);
        if ends {
            self.close(draft);
        }
    }

    fn is_between_nodes(&self) -> bool {
        self.open.is_empty()
    }

    fn close(&mut self, draft: &mut Draft<'_>) {
        let mut items = std::mem::take(&mut self.open);
        // The node stays in memory for long: without room to grow.
        items.shrink_to_fit();
        let Some(last) = items.last() else { return };
        let key = last.key.clone();
        let node = Node {
            level: self.level,
            items,
        };
        let counts = node.counts();
        let node = draft.put_node(node);
        self.written.push(Item {
            key,
            value: Value::Subtree(Subtree { node, counts }),
        });
    }

    fn finish(mut self, draft: &mut Draft<'_>) -> Vec<Item> {
        self.close(draft);
        self.written
    }
}

/// A place among the nodes of one level.
struct Cursor {
    /// From the root down: nodes above the level and the item taken in each.
    above: Vec<(Arc<Node>, usize)>,
    node: Arc<Node>,
    id: NodeId,
}

impl Cursor {
    /// The first node of the level whose last key is not before this key, else the last node.
    fn seek(
        source: &impl NodeSource,
        root: NodeId,
        top: &Arc<Node>,
        level: u8,
        key: &Key,
    ) -> Result<Self> {
        let mut cursor = Self {
            above: Vec::new(),
            node: Arc::clone(top),
            id: root,
        };
        while cursor.node.level > level {
            let at = cursor.node.items.partition_point(|item| item.key < *key);
            let at = at.min(cursor.node.items.len() - 1);
            cursor.descend(source, at)?;
        }
        Ok(cursor)
    }

    fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn id(&self) -> NodeId {
        self.id
    }

    fn is_last(&self) -> bool {
        self.above
            .iter()
            .all(|(node, at)| at + 1 == node.items.len())
    }

    /// Moves to the next node of the level; there must be one.
    fn advance(&mut self, source: &impl NodeSource) -> Result<()> {
        let level = self.node.level;
        while let Some((node, at)) = self.above.pop() {
            if at + 1 < node.items.len() {
                self.node = node;
                self.descend(source, at + 1)?;
                break;
            }
        }
        while self.node.level > level {
            self.descend(source, 0)?;
        }
        Ok(())
    }

    fn descend(&mut self, source: &impl NodeSource, at: usize) -> Result<()> {
        if let Some(Item {
            value: Value::Subtree(below),
            ..
        }) = self.node.items.get(at)
        {
            let id = below.node;
            let node = source.node(id)?;
            self.above
                .push((std::mem::replace(&mut self.node, node), at));
            self.id = id;
        }
        Ok(())
    }
}
