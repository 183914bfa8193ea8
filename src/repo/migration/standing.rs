//! How a branch stands to the older system that it was moved in from.

use crate::base::branch_name::BranchName;
use crate::base::snapshot_version::SnapshotVersion;
use crate::repo::{Branch, Project, Result, Revision, optional};

impl Branch {
    /// True if it was brought from an older system.
    pub fn is_migrated(&self) -> bool {
        self.record.migrated_snapshots.is_some()
    }

    /// The number of the last snapshot that the older system had taken when the branch was last brought
    /// from it. Snapshots above were taken here.
    pub fn last_there(&self) -> u64 {
        self.record.last_there()
    }

    /// The name that it has in the older system, if it was brought from there; else that which it has here.
    pub fn name_there(&self) -> &BranchName {
        self.record.name_there()
    }
}

/// What has become here of a branch of the older system: whether it is as moving in left it.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It is not here.
    Absent,
    /// It is not here, and was deleted here.
    Deleted,
    /// It is not here, and its name is that of another one that was brought from there.
    Taken(Branch),
    /// Nobody has changed it since.
    AsMigrated(Branch),
    /// It was changed here since.
    Changed {
        /// The branch as it is now.
        branch: Branch,
        /// The state that it had then; `None` when that was pruned.
        left: Option<Revision>,
    },
    /// One of its name was made here.
    Own(Branch),
}

impl Standing {
    /// The branch, if it is here.
    pub fn branch(&self) -> Option<&Branch> {
        match self {
            Self::AsMigrated(branch) | Self::Changed { branch, .. } | Self::Own(branch) => {
                Some(branch)
            }
            Self::Absent | Self::Deleted | Self::Taken(_) => None,
        }
    }
}

impl Project {
    /// How the branch that has this name in the older system stands here, whatever it is called here.
    ///
    /// # Limits
    /// Where no branch that was brought has the name, time grows with the branches of the project, and where none has
    /// it at all, also with its deleted ones.
    pub fn standing(&self, there: &BranchName) -> Result<Standing> {
        let Some(branch) = self.branch_from(there)? else {
            // Asked last: one that is deleted between the two is found.
            return Ok(if self.was_deleted(there)? {
                Standing::Deleted
            } else {
                Standing::Absent
            });
        };
        if branch.name_there() != there {
            return Ok(Standing::Taken(branch));
        }
        let Some(snapshots) = branch.record.migrated_snapshots else {
            return Ok(Standing::Own(branch));
        };
        if snapshots == branch.snapshot_count() {
            return Ok(Standing::AsMigrated(branch));
        }
        let left = optional(branch.snapshot(SnapshotVersion::new(snapshots + 1)))?;
        Ok(Standing::Changed { branch, left })
    }
}
