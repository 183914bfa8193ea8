//! How a branch stands to the older system that it was moved in from.

use crate::base::branch_name::BranchName;
use crate::base::snapshot_version::SnapshotVersion;
use crate::repo::{Branch, Error, Missing, Project, Result, Revision, optional};

impl Branch {
    /// True if it was brought from an older system.
    pub fn is_moved(&self) -> bool {
        self.record.moved.is_some()
    }

    /// The number of the last snapshot that the older system had taken when the branch was last brought
    /// from it. Snapshots above were taken here.
    pub fn last_there(&self) -> u64 {
        self.record.last_there()
    }
}

/// Whether a branch is as moving in left it.
#[derive(Clone, Debug)]
pub enum Standing {
    /// There is no such branch.
    Absent,
    /// Nobody has changed it since.
    AsMoved(Branch),
    /// It was changed here since.
    Changed {
        /// The branch as it is now.
        branch: Branch,
        /// The state that it had then; `None` when that was pruned.
        left: Option<Revision>,
    },
    /// It was made here.
    Own(Branch),
}

impl Project {
    /// How the branch of this name stands to the older system.
    pub fn standing(&self, name: &BranchName) -> Result<Standing> {
        let branch = match self.branch(name) {
            Err(Error::NotFound {
                what: Missing::Branch,
            }) => return Ok(Standing::Absent),
            found => found?,
        };
        let Some(snapshots) = branch.record.moved else {
            return Ok(Standing::Own(branch));
        };
        if snapshots == branch.snapshot_count() {
            return Ok(Standing::AsMoved(branch));
        }
        let left = optional(branch.snapshot(SnapshotVersion::new(snapshots + 1)))?;
        Ok(Standing::Changed { branch, left })
    }
}
