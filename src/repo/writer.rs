//! The authority to change a project, and every way to use it.

use std::ops::Deref;

use super::save;
use super::save::{Applied, BatchAction, Change, Condition, Job, Outcome, RolledBack, Saved};
use super::upload::NewFile;
use super::{FileDifference, Project, Result};
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::snapshot_version::SnapshotVersion;

/// An opened project that may be changed, and who changes it. Whoever holds one may use it.
#[derive(Clone, Debug)]
pub struct ProjectWriter {
    project: Project,
    actor: String,
}

impl Deref for ProjectWriter {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl ProjectWriter {
    /// Grants it. `actor` is what histories show as the author.
    pub fn new(project: Project, actor: &str) -> Self {
        Self {
            project,
            actor: actor.to_owned(),
        }
    }

    /// Who makes the changes.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Says whether [`ProjectWriter::save`] could succeed now, before the body is read.
    ///
    /// # Errors
    /// Those of [`ProjectWriter::save`].
    pub fn check_save(
        &self,
        branch: &BranchName,
        path: &FilePath,
        condition: &Condition,
    ) -> Result<()> {
        save::check_put(&self.branch(branch)?, path, condition)
    }

    /// Saves a file. A snapshot is taken first; the last of several writers wins and none is lost.
    ///
    /// # Errors
    /// [`super::Missing::Branch`]; [`super::Error::Precondition`]; [`super::Error::Invalid`] when the path
    /// needs a file as a folder or the reverse. Nothing is changed then.
    ///
    /// # Durability
    /// When it returns, the save is durable and every later read sees it.
    pub fn save(
        &self,
        branch: &BranchName,
        path: &FilePath,
        file: NewFile,
        condition: Condition,
    ) -> Result<Saved> {
        let digests = file.digests;
        let done = self.submit(
            branch,
            Change::Put {
                path: path.clone(),
                file,
                condition,
            },
        )?;
        Ok(Saved {
            size: digests.size,
            md5: digests.md5,
            git_id: digests.git,
            snapshot: done.snapshot,
            created: done.created,
            revision: done.revision,
        })
    }

    /// Deletes a file. A snapshot is taken first.
    ///
    /// # Errors
    /// [`super::Missing::Branch`], [`super::Missing::File`], [`super::Error::Precondition`].
    pub fn delete(
        &self,
        branch: &BranchName,
        path: &FilePath,
        condition: Condition,
    ) -> Result<Applied> {
        self.submit(
            branch,
            Change::Delete {
                path: path.clone(),
                condition,
            },
        )
        .map(to_applied)
    }

    /// Makes several changes as one, with one snapshot: all or none.
    ///
    /// # Errors
    /// [`super::Error::Invalid`] names the first action that cannot be done.
    pub fn batch(
        &self,
        branch: &BranchName,
        actions: Vec<BatchAction>,
        message: Option<String>,
    ) -> Result<Applied> {
        self.submit(branch, Change::Batch { actions, message })
            .map(to_applied)
    }

    /// Restores a snapshot, whole or only what is at `path`. A pre-rollback snapshot is taken first.
    ///
    /// # Errors
    /// [`super::Missing::Branch`], [`super::Missing::Snapshot`]; [`super::Missing::File`] when neither
    /// the snapshot nor the head has anything at `path`.
    pub fn rollback(
        &self,
        branch: &BranchName,
        to: SnapshotVersion,
        path: Option<&FilePath>,
    ) -> Result<RolledBack> {
        let done = self.submit(
            branch,
            Change::Rollback {
                to,
                path: path.cloned(),
            },
        )?;
        Ok(RolledBack {
            restored: to,
            snapshot: done.snapshot,
            revision: done.revision,
        })
    }

    /// Says what [`ProjectWriter::rollback`] would change, and changes nothing.
    ///
    /// # Errors
    /// Those of [`ProjectWriter::rollback`].
    pub fn preview_rollback(
        &self,
        branch: &BranchName,
        to: SnapshotVersion,
        path: Option<&FilePath>,
    ) -> Result<Vec<FileDifference>> {
        save::preview_rollback(&self.branch(branch)?, to, path)
    }

    /// Brings a change to a branch, together with others that wait for the same branch.
    pub(super) fn submit(&self, branch: &BranchName, change: Change) -> Result<Outcome> {
        let branch = self.branch(branch)?.number;
        let job = Job {
            actor: self.actor.clone(),
            change,
        };
        let lanes = &self.projects.shared.lanes;
        lanes.submit(branch, job, |jobs| save::run(&self.project, branch, &jobs))
    }
}

fn to_applied(done: Outcome) -> Applied {
    Applied {
        snapshot: done.snapshot,
        revision: done.revision,
    }
}
