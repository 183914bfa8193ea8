//! What is counted of changes.

use super::save::Change;
use crate::base::tally::Count;

/// Changes of branches that were made since the start.
#[derive(Debug, Default)]
pub struct Saves {
    /// Files that were saved one by one.
    pub files: Count,
    /// Files that were deleted one by one.
    pub deletions: Count,
    /// Batches.
    pub batches: Count,
    /// Rollbacks.
    pub rollbacks: Count,
    /// Imports through the service itself; those of a command beside it are that process's.
    pub imports: Count,
}

impl Saves {
    /// The count of a kind of change.
    pub(in crate::repo) fn of(&self, change: &Change) -> &Count {
        match change {
            Change::Put { .. } => &self.files,
            Change::Delete { .. } => &self.deletions,
            Change::DeleteFolder { .. } | Change::Batch { .. } => &self.batches,
            Change::Rollback { .. } => &self.rollbacks,
            Change::Import { .. } => &self.imports,
        }
    }
}
