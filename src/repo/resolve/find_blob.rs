//! Files by the id git gives their bytes.

use std::collections::HashSet;

use crate::base::id::{GitId, NodeId};
use crate::base::limits::{BLOB_SEARCH_NODES_MAX, PROJECT_SNAPSHOTS_SEARCHED_MAX};
use crate::manifest::NodeSource;
use crate::object::node::{FileEntry, Value};
use crate::repo::{FileView, Project, Result, Revision};

/// Snapshots read at once.
const READ_AT_ONCE: usize = 256;

impl Project {
    /// A file with this git id in any state of the project; `None` if there is none.
    ///
    /// The heads are searched first, then the snapshots of each branch, newest first. States share
    /// their unchanged nodes and each node is looked at once, so all snapshots together cost about
    /// what was ever changed.
    ///
    /// # Limits
    /// After [`BLOB_SEARCH_NODES_MAX`] nodes, or [`PROJECT_SNAPSHOTS_SEARCHED_MAX`] snapshots, the search ends
    /// without a find: in a project of that size the file is in a snapshot long past. No search is made for an id
    /// that was searched for in vain since a branch last changed.
    pub fn find_blob(&self, id: GitId) -> Result<Option<FileView>> {
        // First: a change that comes while it is searched makes the next state.
        let state = self.branches_state()?;
        let absent = &self.projects.shared.absent_ids;
        let text = format!("blob {id}");
        if absent.has(self.number(), &text, state) {
            return Ok(None);
        }
        let found = self.search_blob(id)?;
        if found.is_none() {
            absent.keep(self.number(), &text, state);
        }
        Ok(found)
    }

    fn search_blob(&self, id: GitId) -> Result<Option<FileView>> {
        let mut search = Search {
            project: self,
            wanted: id,
            seen: HashSet::new(),
        };
        let branches = self.branches()?;
        for branch in &branches {
            if let Some(found) = search.state(&branch.head())? {
                return Ok(Some(found));
            }
        }
        let mut left = PROJECT_SNAPSHOTS_SEARCHED_MAX;
        for branch in &branches {
            let mut before = None;
            while left > 0 && !search.is_at_its_end() {
                let snapshots = branch.history(before, Some(left.min(READ_AT_ONCE)))?;
                let Some(oldest) = snapshots.last() else {
                    break;
                };
                before = Some(oldest.version);
                left -= snapshots.len();
                for snapshot in &snapshots {
                    if let Some(found) = search.state(&snapshot.revision)? {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }
}

struct Search<'a> {
    project: &'a Project,
    wanted: GitId,
    seen: HashSet<NodeId>,
}

impl Search<'_> {
    /// True if no more nodes are looked at.
    fn is_at_its_end(&self) -> bool {
        self.seen.len() >= BLOB_SEARCH_NODES_MAX
    }

    fn state(&mut self, revision: &Revision) -> Result<Option<FileView>> {
        if self.is_at_its_end() {
            return Ok(None);
        }
        let found = self.below(revision.root()?)?;
        Ok(found.map(|entry| FileView::new(self.project, entry)))
    }

    fn below(&mut self, root: NodeId) -> Result<Option<FileEntry>> {
        if self.is_at_its_end() || !self.seen.insert(root) {
            return Ok(None);
        }
        let nodes = self.project.projects.nodes();
        let node = nodes.node(root)?;
        let below = node.items.iter().filter_map(|item| item.value.node());
        nodes.read_ahead(&mut below.filter(|id| !self.seen.contains(id)));
        for item in &node.items {
            let found = match &item.value {
                Value::File(file) => (file.git == self.wanted).then_some(*file),
                Value::Directory(directory) => self.below(directory.root)?,
                Value::Subtree(subtree) => self.below(subtree.node)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
