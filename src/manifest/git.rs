//! The ids git gives a tree's directories.

use std::ops::ControlFlow;

use quick_cache::sync::Cache;
use sha1::{Digest, Sha1};

use super::nodes::NodeSource;
use super::walk;
use crate::base::cache::{CacheUse, get_or_make};
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

    /// The id git gives the tree of the directory with this root. Whoever asks for one that is being computed waits for
    /// it.
    ///
    /// # Limits
    /// Memory for the nodes on the way to an entry, however many there are: git's text of a directory is hashed as it
    /// is made.
    pub fn of(&self, source: &impl NodeSource, root: NodeId) -> Result<GitId> {
        let mut is_above_others = false;
        let id = get_or_make(&self.known, &root, || {
            self.compute(source, root, &mut is_above_others)
        })?;
        if is_above_others {
            // A look keeps it where others must make room: to make it again would take all trees below it.
            let _ = self.known.get(&root);
        }
        Ok(id)
    }

    /// Sets `is_above_others` where the directory has directories in it.
    fn compute(
        &self,
        source: &impl NodeSource,
        root: NodeId,
        is_above_others: &mut bool,
    ) -> Result<GitId> {
        // Git tells the length first.
        let mut length = 0;
        each_entry(source, root, |mode, name, entry| {
            length += mode.len() + 1 + name.len() + 1 + size_of::<GitId>();
            *is_above_others |= matches!(entry, Entry::Directory(_));
            Ok(())
        })?;
        let mut hasher = Sha1::new();
        hasher.update(format!("tree {length}\0"));
        // Entries are in git's order already.
        each_entry(source, root, |mode, name, value| {
            let id = match value {
                Entry::File(id) => id,
                Entry::Directory(root) => self.of(source, root)?,
            };
            for part in [mode.as_bytes(), b" ", name.as_bytes(), b"\0", id.as_bytes()] {
                hasher.update(part);
            }
            Ok(())
        })?;
        Ok(GitId::from_bytes(hasher.finalize().into()))
    }
}

/// What an entry of a directory leads to.
enum Entry {
    File(GitId),
    Directory(NodeId),
}

/// Visits the entries of a directory with git's mode for each.
fn each_entry(
    source: &impl NodeSource,
    root: NodeId,
    mut visit: impl FnMut(&str, &str, Entry) -> Result<()>,
) -> Result<()> {
    let _whole = walk::directory(source, root, &mut |key, value| {
        match value {
            Value::File(file) => {
                visit(git_mode(file.executable), &key.name, Entry::File(file.git))?;
            }
            // Git writes this mode without its leading zero.
            Value::Directory(DirectoryEntry { root, .. }) => {
                visit("40000", &key.name, Entry::Directory(*root))?;
            }
            Value::Subtree(_) => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}
