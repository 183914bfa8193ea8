//! The names that forgotten projects and branches have in the older system which they came from: by these
//! it is known that they were deleted here, and are not to come again by themselves.

use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::object::key;
use crate::object::record::{BranchRecord, DeletedRecord, ProjectRecord};
use crate::repo::{Error, Project, Projects, Result};
use crate::store::{Batch, Expect};

impl Projects {
    /// True if a project that has this identifier in an older system was deleted here: one that can be restored, or
    /// one that came from there and is forgotten.
    ///
    /// # Limits
    /// Time grows with the deleted projects that can be restored.
    pub fn was_deleted(&self, there: &RepoId) -> Result<bool> {
        let mut is_kept = false;
        self.each_deleted(
            key::DELETED_PROJECTS,
            |_, kept: &DeletedRecord<ProjectRecord>| {
                let project = &kept.record;
                is_kept |= project.repo_id_there.as_ref().unwrap_or(&project.repo_id) == there;
                Ok::<_, Error>(())
            },
        )?;
        // After it: what begins to be forgotten gets this record with its mark.
        Ok(is_kept || self.is_forgotten(&key::forgotten_project(there.as_str()))?)
    }

    /// True if there is the record under this key of what is forgotten.
    fn is_forgotten(&self, key: &str) -> Result<bool> {
        Ok(self.store().record(key)?.is_some())
    }

    /// Has a batch remove the record under this key of what is made anew.
    pub(in crate::repo) fn make_anew(&self, key: String, batch: &mut Batch) -> Result<()> {
        if self.is_forgotten(&key)? {
            batch.delete(key, Expect::Anything);
        }
        Ok(())
    }
}

impl Project {
    /// True if a branch that has this name in an older system was deleted here, as [`Projects::was_deleted`] says.
    ///
    /// # Limits
    /// Time grows with the deleted branches of the project that can be restored.
    pub fn was_deleted(&self, there: &BranchName) -> Result<bool> {
        let mut is_kept = false;
        self.projects.each_deleted(
            &key::deleted_branches(self.number()),
            |_, kept: &DeletedRecord<BranchRecord>| {
                is_kept |= kept.record.name_there() == there;
                Ok::<_, Error>(())
            },
        )?;
        let forgotten = key::forgotten_branch(self.number(), there.as_str());
        Ok(is_kept || self.projects.is_forgotten(&forgotten)?)
    }
}

/// Has a batch that begins to forget a project keep its identifier there, if it came from there.
pub(super) fn keep_project(batch: &mut Batch, number: u64, project: &ProjectRecord) {
    if let Some(there) = &project.repo_id_there {
        keep(batch, key::forgotten_project(there.as_str()), number);
    }
}

/// The same for a branch and its name.
pub(super) fn keep_branch(batch: &mut Batch, project: u64, number: u64, branch: &BranchRecord) {
    if branch.migrated_snapshots.is_some() {
        let there = branch.name_there().as_str();
        keep(batch, key::forgotten_branch(project, there), number);
    }
}

fn keep(batch: &mut Batch, key: String, number: u64) {
    // Of two that came one after the other under one name, one record tells; a batch writes a key once.
    if batch.writes.iter().all(|write| write.key != key) {
        batch.write(key, Expect::Anything, &number);
    }
}
