//! Verifying every invariant of a tree: each fault is named, and the check continues.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::boundary::Run;
use super::nodes::{NodeSource, Nodes};
use super::walk;
use crate::base::id::{BlobId, Kind, ManifestId, NodeId, ObjectId};
use crate::object::node::{DirectoryEntry, FileEntry, Key, Node, Subtree, Totals, Value};
use crate::store::StoreError;

/// Checks trees one after the other; what they share is checked once.
#[derive(Debug)]
pub struct Checker<'a> {
    nodes: &'a Nodes,
    /// Nodes that were checked, and whether they were as they must be where others follow.
    seen: HashSet<(NodeId, Followed)>,
    /// Every blob that a leaf names, with what the first such leaf says of it.
    pub blobs: HashMap<BlobId, FileEntry>,
    /// What is wrong, a sentence each.
    pub findings: Vec<String>,
    /// That nothing can be read any more. It says nothing of the trees, and ends the check of the one under way.
    pub outage: Option<StoreError>,
}

/// True for a node that is not the last of its level in its directory: it must end at a boundary.
type Followed = bool;

/// Says in a sentence that an object cannot be read.
pub fn unreadable(kind: Kind, id: ObjectId, error: &StoreError) -> String {
    match error {
        StoreError::Missing { .. } | StoreError::Damaged { .. } => error.to_string(),
        other => format!("{kind} {id} cannot be read: {other}"),
    }
}

impl<'a> Checker<'a> {
    /// Starts with nothing checked.
    pub fn new(nodes: &'a Nodes) -> Self {
        Self {
            nodes,
            seen: HashSet::new(),
            blobs: HashMap::new(),
            findings: Vec::new(),
            outage: None,
        }
    }

    /// Checks a manifest and everything below it. Gives what it says that is in it, `None` if it
    /// cannot be read. Whether all below it could be is told by [`Checker::outage`].
    pub fn manifest(&mut self, id: ManifestId) -> Option<Totals> {
        match self.nodes.manifest(id) {
            Ok(manifest) => {
                self.directory(&DirectoryEntry {
                    root: manifest.root,
                    totals: manifest.totals,
                });
                Some(manifest.totals)
            }
            Err(e) => {
                self.fault(Kind::Manifest, id.into(), e);
                None
            }
        }
    }

    /// Notes that an object cannot be read.
    fn fault(&mut self, kind: Kind, id: ObjectId, error: StoreError) {
        if error.is_outage() {
            self.outage = Some(error);
        } else {
            self.findings.push(unreadable(kind, id, &error));
        }
    }

    fn directory(&mut self, entry: &DirectoryEntry) {
        let is_new =
            !self.seen.contains(&(entry.root, false)) && !self.seen.contains(&(entry.root, true));
        let Some(root) = self.node(entry.root, None, false) else {
            return;
        };
        if root.counts().totals != entry.totals {
            self.wrong(
                entry.root,
                "its directory's totals are not the sum of its entries",
            );
        }
        if root.level > 0 && root.items.len() == 1 {
            self.wrong(entry.root, "it is a root above a single node");
        }
        if is_new {
            self.names(entry.root);
        }
    }

    /// Checks a node; `expected` is what its parent says of it. Gives the node, `None` if it cannot be
    /// read.
    fn node(
        &mut self,
        id: NodeId,
        expected: Option<(u8, &Key, &Subtree)>,
        followed: Followed,
    ) -> Option<Arc<Node>> {
        if self.outage.is_some() {
            return None;
        }
        let node = match self.nodes.node(id) {
            Ok(node) => node,
            Err(e) => {
                if self.seen.insert((id, followed)) {
                    self.fault(Kind::Node, id.into(), e);
                }
                return None;
            }
        };
        if let Some((level, key, subtree)) = expected {
            if node.level != level {
                self.wrong(id, "its level is not the one below its parent's");
            }
            if node.counts() != subtree.counts {
                self.wrong(id, "its parent's totals are not the sum of its items");
            }
            if node.items.last().map(|item| &item.key) != Some(key) {
                self.wrong(id, "its parent's key is not the last of its own");
            }
        }
        if !self.seen.insert((id, followed)) {
            return Some(node);
        }
        let ends = self.boundaries(id, &node);
        if followed && !ends {
            self.wrong(id, "it ends before a boundary, and others follow");
        }
        let mut before: Option<&Key> = None;
        let mut items = node.items.iter().peekable();
        while let Some(item) = items.next() {
            let followed = followed || items.peek().is_some();
            match &item.value {
                Value::File(file) => self.file(id, file),
                Value::Directory(entry) if entry.totals == Totals::default() => {
                    self.wrong(id, "it holds an empty directory");
                }
                Value::Directory(entry) => self.directory(entry),
                Value::Subtree(below) => {
                    let level = node.level.saturating_sub(1);
                    let _below = self.node(below.node, Some((level, &item.key, below)), followed);
                    if let (Some(before), Some(first)) = (before, self.first_key(below.node))
                        && first <= *before
                    {
                        self.wrong(below.node, "its keys are not behind those before it");
                    }
                }
            }
            before = Some(&item.key);
        }
        Some(node)
    }

    /// Looks for a boundary inside a node; true if it ends at one.
    fn boundaries(&mut self, id: NodeId, node: &Node) -> bool {
        let mut run = Run::new(node.level);
        let mut ended = false;
        for item in &node.items {
            if ended {
                self.wrong(id, "it goes on behind a boundary");
                break;
            }
            ended = run.ends_with(&item.key);
        }
        ended
    }

    fn file(&mut self, id: NodeId, file: &FileEntry) {
        let known = self.blobs.entry(file.blob).or_insert(*file);
        if (known.size, known.md5, known.git) != (file.size, file.md5, file.git) {
            self.wrong(
                id,
                "it says another length or digest of a blob than another node",
            );
        }
    }

    /// The first key in the leaves below a node, `None` where it cannot be read.
    fn first_key(&self, id: NodeId) -> Option<Key> {
        let mut node = self.nodes.node(id).ok()?;
        loop {
            let first = node.items.first()?;
            let Value::Subtree(below) = &first.value else {
                return Some(first.key.clone());
            };
            node = self.nodes.node(below.node).ok()?;
        }
    }

    /// Looks for names that a directory has twice, as a file's and as a directory's.
    fn names(&mut self, root: NodeId) {
        // Between a file `a` and a directory `a` there are only names that begin with `a`.
        let mut files: Vec<Box<str>> = Vec::new();
        let mut twice = false;
        let _read = walk::directory(self.nodes, root, &mut |key, _| {
            while files
                .pop_if(|file| !key.name.starts_with(&**file))
                .is_some()
            {}
            if key.directory {
                twice |= files.contains(&key.name);
            } else {
                files.push(key.name.clone());
            }
            Ok(ControlFlow::Continue(()))
        });
        if twice {
            self.wrong(root, "its directory has a file and a directory of one name");
        }
    }

    fn wrong(&mut self, id: NodeId, what: &str) {
        self.findings.push(format!("node {id}: {what}"));
    }
}
