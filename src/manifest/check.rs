//! Verifying every promise of a tree: what is not as it must be is named, and the rest goes on.

use std::collections::HashSet;

use super::load::{NodeSource, Nodes};
use super::split::Run;
use crate::base::id::{BlobId, ManifestId, NodeId};
use crate::object::node::{DirectoryEntry, Subtree, Totals, Value};

/// Checks trees one after the other; what they share is checked once.
#[derive(Debug)]
pub struct Checker<'a> {
    nodes: &'a Nodes,
    seen: HashSet<NodeId>,
    /// Every blob that a sound leaf names.
    pub blobs: HashSet<BlobId>,
    /// What is wrong, a sentence each.
    pub findings: Vec<String>,
}

impl<'a> Checker<'a> {
    /// Starts with nothing checked.
    pub fn new(nodes: &'a Nodes) -> Self {
        Self {
            nodes,
            seen: HashSet::new(),
            blobs: HashSet::new(),
            findings: Vec::new(),
        }
    }

    /// Checks a manifest and everything below it.
    pub fn manifest(&mut self, id: ManifestId) {
        match self.nodes.manifest(id) {
            Ok(manifest) => self.directory(&DirectoryEntry {
                root: manifest.root,
                totals: manifest.totals,
            }),
            Err(e) => self.findings.push(e.to_string()),
        }
    }

    fn directory(&mut self, entry: &DirectoryEntry) {
        if let Some(found) = self.node(entry.root, None)
            && found.totals != entry.totals
        {
            self.wrong(
                entry.root,
                "its directory's totals are not the sum of its entries",
            );
        }
    }

    /// Checks a node; `expected` is what its parent says of it. Gives its own sums, `None` where
    /// there is nothing to sum up. A node that was seen is not looked at again, only summed up.
    fn node(&mut self, id: NodeId, expected: Option<(u8, Subtree)>) -> Option<Subtree> {
        let node = match self.nodes.node(id) {
            Ok(node) => node,
            Err(e) => {
                if self.seen.insert(id) {
                    self.findings.push(e.to_string());
                }
                return None;
            }
        };
        let summary = node.summary(id);
        if let Some((level, subtree)) = expected {
            if node.level != level {
                self.wrong(id, "its level is not the one below its parent's");
            }
            if summary != subtree {
                self.wrong(id, "its parent's totals are not the sum of its items");
            }
        }
        if !self.seen.insert(id) {
            return Some(summary);
        }
        let mut run = Run::new(node.level);
        let mut ended = false;
        for item in &node.items {
            if ended {
                self.wrong(id, "it goes on behind a boundary");
                break;
            }
            ended = run.ends_with(&item.key);
        }
        for item in &node.items {
            match &item.value {
                Value::File(file) => drop(self.blobs.insert(file.blob)),
                Value::Directory(entry) if entry.totals == Totals::default() => {
                    self.wrong(id, "it holds an empty directory");
                }
                Value::Directory(entry) => self.directory(entry),
                Value::Subtree(below) => {
                    let _sums = self.node(below.node, Some((node.level.saturating_sub(1), *below)));
                }
            }
        }
        Some(summary)
    }

    fn wrong(&mut self, id: NodeId, what: &str) {
        self.findings.push(format!("node {id}: {what}"));
    }
}
