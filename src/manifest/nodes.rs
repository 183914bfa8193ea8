//! Nodes and manifests by their ids: decoded, checked, and kept in memory.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::id::{Kind, ManifestId, NodeId, ObjectId};
use crate::base::limits::{MANIFEST_CACHE_ENTRIES, NODE_CACHE_BYTES, NODES_READ_AHEAD_MAX};
use crate::object::DecodeError;
use crate::object::manifest::Manifest;
use crate::object::node::{Item, Node};
use crate::store::objects::Objects;
use crate::store::{Result, StoreError};

/// A source of nodes by their ids.
pub trait NodeSource {
    /// The node with this id.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`].
    fn node(&self, id: NodeId) -> Result<Arc<Node>>;

    /// Says that each of these nodes is about to be asked for, so that they can be read at once. What of
    /// them cannot be read is told to who asks.
    fn read_ahead(&self, _ids: &mut dyn Iterator<Item = NodeId>) {}
}

/// The nodes of a store. What was decoded once is kept within a bound of bytes; nothing kept ever
/// becomes invalid.
#[derive(Debug)]
pub struct Nodes {
    objects: Arc<Objects>,
    cache: ByteCache<NodeId, Arc<Node>>,
    manifests: Cache<ManifestId, Manifest>,
}

impl Nodes {
    /// Reads through to these objects.
    pub fn new(objects: Arc<Objects>) -> Self {
        Self {
            objects,
            cache: byte_cache(NODE_CACHE_BYTES, NODE_CACHE_BYTES / 8192, |_, node| {
                node_bytes(node)
            }),
            manifests: Cache::new(MANIFEST_CACHE_ENTRIES),
        }
    }

    /// The objects below.
    pub fn objects(&self) -> &Arc<Objects> {
        &self.objects
    }

    /// What is kept in memory, and how often it was what was wanted.
    pub fn cache_uses(&self) -> Vec<CacheUse> {
        let mut uses = self.objects.cache_uses();
        uses.extend([
            CacheUse::weighed("nodes", &self.cache),
            CacheUse::counted("manifests", &self.manifests),
        ]);
        uses
    }

    /// The manifest with this id.
    ///
    /// # Errors
    /// As [`NodeSource::node`].
    pub fn manifest(&self, id: ManifestId) -> Result<Manifest> {
        if let Some(manifest) = self.manifests.get(&id) {
            return Ok(manifest);
        }
        let bytes = self.objects.structure(Kind::Manifest, id.into())?;
        let manifest =
            Manifest::decode(&bytes).map_err(|e| undecodable(Kind::Manifest, id.into(), e))?;
        self.manifests.insert(id, manifest);
        Ok(manifest)
    }

    /// Puts a manifest that was just made into the cache.
    pub fn remember_manifest(&self, id: ManifestId, manifest: Manifest) {
        self.manifests.insert(id, manifest);
    }

    /// Puts a node that was just made into the cache.
    pub fn remember(&self, id: NodeId, node: &Arc<Node>) {
        self.cache.insert(id, Arc::clone(node));
    }
}

impl NodeSource for Nodes {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        if let Some(node) = self.cache.get(&id) {
            return Ok(node);
        }
        let bytes = self.objects.structure(Kind::Node, id.into())?;
        let node = Node::decode(&bytes).map_err(|e| undecodable(Kind::Node, id.into(), e))?;
        let node = Arc::new(node);
        self.cache.insert(id, Arc::clone(&node));
        Ok(node)
    }

    fn read_ahead(&self, ids: &mut dyn Iterator<Item = NodeId>) {
        // Elsewhere a walk that ends early would read all that is below each node it has visited.
        if !self.objects.store().is_remote() {
            return;
        }
        let unknown = ids.filter(|id| self.cache.peek(id).is_none());
        let unknown: Vec<ObjectId> = unknown.map(ObjectId::from).collect();
        for some in unknown.chunks(NODES_READ_AHEAD_MAX) {
            let Ok(found) = self.objects.sound_structures(Kind::Node, some) else {
                return;
            };
            for (id, bytes) in found {
                if let Ok(node) = Node::decode(&bytes) {
                    let id = NodeId::from_bytes(*id.as_bytes());
                    self.cache.insert(id, Arc::new(node));
                }
            }
        }
    }
}

/// What a node takes in memory.
fn node_bytes(node: &Node) -> usize {
    let names: usize = node.items.iter().map(|item| item.key.name.len() + 16).sum();
    128 + names + node.items.len() * size_of::<Item>()
}

fn undecodable(kind: Kind, id: ObjectId, error: DecodeError) -> StoreError {
    StoreError::Damaged {
        kind,
        id,
        reason: error.to_string(),
    }
}
