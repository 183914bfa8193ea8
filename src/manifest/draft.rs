//! New nodes that are not committed yet, and can be read already.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::nodes::{NodeSource, Nodes};
use crate::base::digest::{byte_count, manifest_id, node_id};
use crate::base::id::{Kind, ManifestId, NodeId};
use crate::base::limits::{COMMIT_ATTEMPTS_MAX, SPILL_BYTES, SPILL_FILES, SPILL_OBJECTS};
use crate::object::manifest::Manifest;
use crate::object::node::{DirectoryEntry, Node, Totals};
use crate::store::{Batch, NewBody, NewObject, Result, StoreError};

/// Pause before a commit is repeated because too many waited.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Collects the objects that edits make. Later edits of the same draft see them.
#[derive(Debug)]
pub struct Draft<'a> {
    nodes: &'a Nodes,
    new: HashMap<NodeId, Arc<Node>>,
    manifests: Vec<(ManifestId, Manifest)>,
    objects: Vec<NewObject>,
    /// Sum of the objects that are in memory.
    bytes: usize,
    /// How many of them are files of large blobs.
    files: usize,
}

impl<'a> Draft<'a> {
    /// An empty draft over the nodes of a store.
    pub fn new(nodes: &'a Nodes) -> Self {
        Self {
            nodes,
            new: HashMap::new(),
            manifests: Vec::new(),
            objects: Vec::new(),
            bytes: 0,
            files: 0,
        }
    }

    /// How many bytes of objects it has in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a node and names it.
    pub fn put_node(&mut self, node: Node) -> NodeId {
        let bytes = node.encode();
        let id = node_id(&bytes);
        if self.new.insert(id, Arc::new(node)).is_none() {
            self.put(Kind::Node, id.into(), bytes);
        }
        id
    }

    /// Adds a manifest and names it.
    pub fn put_manifest(&mut self, manifest: &Manifest) -> ManifestId {
        let bytes = manifest.encode();
        let id = manifest_id(&bytes);
        self.put(Kind::Manifest, id.into(), bytes);
        self.manifests.push((id, *manifest));
        id
    }

    /// Adds the manifest of a tree with this root, and names it. `None` is a tree without files, whose root is
    /// added, too.
    pub fn put_root(&mut self, root: Option<DirectoryEntry>) -> (ManifestId, Manifest) {
        let root = root.unwrap_or_else(|| DirectoryEntry {
            root: self.put_node(Node::empty()),
            totals: Totals::default(),
        });
        let manifest = Manifest {
            root: root.root,
            totals: root.totals,
        };
        (self.put_manifest(&manifest), manifest)
    }

    /// Adds an object that nodes will name, a file's blob.
    pub fn put_object(&mut self, object: NewObject) {
        match object.inline() {
            Some(bytes) => self.bytes += bytes.len(),
            None => self.files += 1,
        }
        self.objects.push(object);
    }

    /// The objects to commit. The draft stays readable.
    pub fn take_objects(&mut self) -> Vec<NewObject> {
        (self.bytes, self.files) = (0, 0);
        std::mem::take(&mut self.objects)
    }

    /// Commits the objects so far if they are many, so that memory does not grow with a large change.
    /// They stay unreferenced if the change is not made in the end.
    ///
    /// # Limits
    /// [`SPILL_OBJECTS`], [`SPILL_BYTES`] or [`SPILL_FILES`] are many.
    pub fn spill(&mut self) -> Result<()> {
        let many = self.objects.len() >= SPILL_OBJECTS || self.bytes >= SPILL_BYTES;
        if many || self.files >= SPILL_FILES {
            self.spill_all()?;
        }
        Ok(())
    }

    /// Commits all objects so far, ahead of what names them. The caller holds a pin.
    pub fn spill_all(&mut self) -> Result<()> {
        let objects = self.take_objects();
        if objects.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            objects,
            ahead: true,
            ..Batch::default()
        };
        let store = self.nodes.objects().store();
        let mut outcome = store.commit(batch.clone());
        for _ in 1..COMMIT_ATTEMPTS_MAX {
            if !matches!(outcome, Err(StoreError::Busy | StoreError::LockInTheWay)) {
                break;
            }
            // The store's queue is full. Waiting costs nothing here, so the commit is repeated.
            thread::sleep(BUSY_PAUSE);
            outcome = store.commit(batch.clone());
        }
        outcome?;
        // They are read from the store from now on.
        self.new.clear();
        Ok(())
    }

    /// Puts nodes and manifests into the cache, once they are in the store.
    pub fn publish(self) {
        for (id, node) in &self.new {
            self.nodes.remember(*id, node);
        }
        for (id, manifest) in &self.manifests {
            self.nodes.remember_manifest(*id, *manifest);
        }
    }

    /// Gives up the changes, and keeps what has to be read of them.
    pub fn into_nodes(self) -> DraftNodes {
        DraftNodes { new: self.new }
    }

    fn put(&mut self, kind: Kind, id: crate::base::id::ObjectId, bytes: Vec<u8>) {
        let size = byte_count(&bytes);
        let body = NewBody::Inline(Bytes::from(bytes));
        self.put_object(NewObject {
            id,
            kind,
            size,
            sha256: None,
            body,
        });
    }
}

impl NodeSource for Draft<'_> {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        over(&self.new, self.nodes).node(id)
    }

    fn read_ahead(&self, ids: &mut dyn Iterator<Item = NodeId>) {
        over(&self.new, self.nodes).read_ahead(ids);
    }
}

/// The nodes of a draft that was given up.
#[derive(Debug, Default)]
pub struct DraftNodes {
    new: HashMap<NodeId, Arc<Node>>,
}

impl DraftNodes {
    /// These nodes, and those of the store over which they were drafted.
    pub fn over<'a>(&'a self, nodes: &'a Nodes) -> impl NodeSource + 'a {
        over(&self.new, nodes)
    }
}

/// New nodes and those of a store.
struct Over<'a> {
    new: &'a HashMap<NodeId, Arc<Node>>,
    nodes: &'a Nodes,
}

fn over<'a>(new: &'a HashMap<NodeId, Arc<Node>>, nodes: &'a Nodes) -> Over<'a> {
    Over { new, nodes }
}

impl NodeSource for Over<'_> {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        match self.new.get(&id) {
            Some(node) => Ok(Arc::clone(node)),
            None => self.nodes.node(id),
        }
    }

    fn read_ahead(&self, ids: &mut dyn Iterator<Item = NodeId>) {
        self.nodes
            .read_ahead(&mut ids.filter(|id| !self.new.contains_key(id)));
    }
}
