//! How large nodes are, and how deep trees.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::base::id::{Kind, ManifestId, NodeId};
use crate::manifest::check::unreadable;
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::Value;

/// Sizes of many things, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sizes {
    pub(super) smallest: u64,
    pub(super) median: u64,
    pub(super) p99: u64,
    pub(super) largest: u64,
}

impl Sizes {
    /// Of so many things of each size.
    pub(super) fn of(counts: &BTreeMap<u64, u64>) -> Self {
        let total: u64 = counts.values().sum();
        // The smallest size that so many of a hundred do not exceed.
        let up_to = |percent: u64| {
            let wanted = (total * percent).div_ceil(100).max(1);
            let mut met = 0;
            let mut sizes = counts.iter();
            let size = sizes.find(|(_, count)| {
                met += **count;
                met >= wanted
            });
            size.map_or(0, |(size, _)| *size)
        };
        Self {
            smallest: up_to(0),
            median: up_to(50),
            p99: up_to(99),
            largest: up_to(100),
        }
    }
}

/// How deep trees are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Shape {
    /// Most levels of nodes that one folder has.
    pub(super) levels: u32,
    /// Most nodes from a root to a file: as many as a save there writes.
    pub(super) nodes_to_a_file: u32,
}

/// Measures trees; what they share is looked at once.
pub(super) struct Measure<'a> {
    nodes: &'a Nodes,
    /// Most nodes from this one down, itself counted.
    known: HashMap<NodeId, u32>,
    pub(super) shape: Shape,
    /// What could not be read, a sentence each.
    pub(super) findings: Vec<String>,
}

impl<'a> Measure<'a> {
    pub(super) fn new(nodes: &'a Nodes) -> Self {
        Self {
            nodes,
            known: HashMap::new(),
            shape: Shape::default(),
            findings: Vec::new(),
        }
    }

    /// Measures the tree of a head.
    pub(super) fn head(&mut self, manifest: ManifestId) {
        match self.nodes.manifest(manifest) {
            Ok(manifest) => {
                let down = self.down(manifest.root);
                self.shape.nodes_to_a_file = self.shape.nodes_to_a_file.max(down);
            }
            Err(e) => self
                .findings
                .push(unreadable(Kind::Manifest, manifest.into(), &e)),
        }
    }

    fn down(&mut self, id: NodeId) -> u32 {
        if let Some(down) = self.known.get(&id) {
            return *down;
        }
        let down = match self.nodes.node(id) {
            Ok(node) => {
                self.shape.levels = self.shape.levels.max(u32::from(node.level) + 1);
                let below = node.items.iter().map(|item| match item.value {
                    Value::File(_) => 0,
                    Value::Directory(below) => self.down(below.root),
                    Value::Subtree(below) => self.down(below.node),
                });
                1 + below.max().unwrap_or(0)
            }
            Err(e) => {
                self.findings.push(unreadable(Kind::Node, id.into(), &e));
                0
            }
        };
        self.known.insert(id, down);
        down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_so_many_do_not_exceed() {
        let sizes = |counts: &[(u64, u64)]| {
            let sizes = Sizes::of(&counts.iter().copied().collect());
            [sizes.smallest, sizes.median, sizes.p99, sizes.largest]
        };
        assert_eq!(sizes(&[]), [0; 4]);
        assert_eq!(sizes(&[(7, 1)]), [7; 4]);
        assert_eq!(sizes(&[(1, 50), (2, 49), (9, 1)]), [1, 1, 2, 9]);
        assert_eq!(sizes(&[(1, 49), (2, 49), (9, 2)]), [1, 2, 9, 9]);
    }
}
