//! Filling one directory with more entries than memory should hold.

use super::draft::Draft;
use super::lookup;
use super::nodes::NodeSource;
use super::rewrite::{Edits, rewrite};
use crate::base::id::NodeId;
use crate::base::limits::BUILDER_ENTRIES_MAX;
use crate::object::node::{DirectoryEntry, Key, Value};
use crate::store::Result;

/// A directory that is being filled. Its nodes are written and spilled while entries come; the result
/// depends on the entries alone, but entries in the order of their keys write each node about once.
#[derive(Debug, Default)]
pub struct DirectoryBuilder {
    root: Option<NodeId>,
    edits: Edits,
}

impl DirectoryBuilder {
    /// Fills the directory with this root, or a new one.
    pub fn new(root: Option<NodeId>) -> Self {
        Self {
            root,
            edits: Edits::new(),
        }
    }

    /// Puts an entry, in the place of one of the same name.
    ///
    /// # Limits
    /// [`BUILDER_ENTRIES_MAX`] entries are in memory, and what the draft may hold before it spills.
    pub fn put(&mut self, draft: &mut Draft<'_>, name: &str, value: Value) -> Result<()> {
        let (key, other) = match &value {
            Value::File(_) => (Key::file(name), Key::directory(name)),
            Value::Directory(_) | Value::Subtree(_) => (Key::directory(name), Key::file(name)),
        };
        let stands = match (self.edits.get(&other), self.root) {
            (Some(edit), _) => edit.is_some(),
            (None, Some(root)) => lookup::value(draft, root, &other)?.is_some(),
            (None, None) => false,
        };
        if stands {
            self.edits.insert(other, None);
        }
        self.edits.insert(key, Some(value));
        if self.edits.len() >= BUILDER_ENTRIES_MAX {
            self.flush(draft)?;
        }
        Ok(())
    }

    /// The directory with all entries; `None` if it has none.
    pub fn finish(mut self, draft: &mut Draft<'_>) -> Result<Option<DirectoryEntry>> {
        self.flush(draft)?;
        let Some(root) = self.root else {
            return Ok(None);
        };
        let counts = draft.node(root)?.counts();
        draft.spill()?;
        Ok((counts.entries > 0).then_some(DirectoryEntry {
            root,
            totals: counts.totals,
        }))
    }

    fn flush(&mut self, draft: &mut Draft<'_>) -> Result<()> {
        let edits = std::mem::take(&mut self.edits);
        if !edits.is_empty() {
            self.root = rewrite(draft, self.root, edits)?;
            draft.spill()?;
        }
        Ok(())
    }
}
