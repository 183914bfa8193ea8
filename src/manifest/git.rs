//! The ids git gives a tree's directories.

use std::ops::ControlFlow;

use quick_cache::sync::Cache;
use sha1::{Digest, Sha1};

use super::nodes::NodeSource;
use super::walk;
use crate::base::cache::CacheUse;
use crate::base::id::{GitId, NodeId};
use crate::base::limits::DIGEST_CACHE_ENTRIES;
use crate::object::node::{DirectoryEntry, Value, git_mode};
use crate::store::Result;

/// Git's tree ids, kept by node: after a save only the directories on its path are hashed again.
#[derive(Debug)]
pub struct TreeIds {
    known: Cache<NodeId, GitId>,
}

impl Default for TreeIds {
    fn default() -> Self {
        Self {
            known: Cache::new(DIGEST_CACHE_ENTRIES),
        }
    }
}

impl TreeIds {
    /// What is kept in memory, and how often it was what was wanted.
    pub fn cache_use(&self) -> CacheUse {
        CacheUse::counted("git_tree_ids", &self.known)
    }

    /// The id git gives the tree of the directory with this root. Entries are in git's order already.
    pub fn of(&self, source: &impl NodeSource, root: NodeId) -> Result<GitId> {
        if let Some(id) = self.known.get(&root) {
            return Ok(id);
        }
        let mut tree = Vec::new();
        let mut add = |mode: &str, name: &str, id: GitId| {
            tree.extend_from_slice(mode.as_bytes());
            tree.push(b' ');
            tree.extend_from_slice(name.as_bytes());
            tree.push(0);
            tree.extend_from_slice(id.as_bytes());
        };
        let _whole = walk::directory(source, root, &mut |key, value| {
            match value {
                Value::File(file) => add(git_mode(file.executable), &key.name, file.git),
                // Git writes this mode without its leading zero.
                Value::Directory(DirectoryEntry { root, .. }) => {
                    add("40000", &key.name, self.of(source, *root)?);
                }
                Value::Subtree(_) => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut hasher = Sha1::new();
        hasher.update(format!("tree {}\0", tree.len()));
        hasher.update(&tree);
        let id = GitId::from_bytes(hasher.finalize().into());
        self.known.insert(root, id);
        Ok(id)
    }
}
