//! The authority to change a project, and every way to use it.

mod branches;
mod permit;
mod project;
mod rules;
mod unmet;

pub use permit::Permit;

use std::ops::Deref;
use std::sync::Arc;

use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::id::{BlobId, GitId, ManifestId, Md5};
use crate::base::limits::COMMIT_ATTEMPTS_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::key;
#[cfg(doc)]
use crate::repo::Error;
#[cfg(doc)]
use crate::repo::Missing;
use crate::repo::save::{BatchAction, Change, Condition, Job, Proven};
use crate::repo::save::{apply, prove};
use crate::repo::upload::NewFile;
use crate::repo::validation::check::Proofs;
use crate::repo::validation::effort::Effort;
use crate::repo::{Message, Project, Result, Revision};
use crate::store::StoreError;

/// An opened project that may be changed, and who changes it. To hold one is the permission to use it.
#[derive(Clone, Debug)]
pub struct ProjectWriter {
    project: Project,
    actor: Actor,
    /// See [`ProjectWriter::permitted_by`].
    permit: Permit,
    /// See [`ProjectWriter::saying`].
    message: Option<Message>,
    /// See [`ProjectWriter::passing_over_rules`].
    passes_over_rules: bool,
}

/// A save that was made.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Length in bytes.
    pub size: u64,
    /// MD5 of the bytes.
    pub md5: Md5,
    /// The id git gives the bytes.
    pub git_id: GitId,
    /// The bytes' own id: the file's entity tag.
    pub blob: BlobId,
    /// The snapshot taken just before.
    pub snapshot: SnapshotVersion,
    /// True if there was no file before.
    pub created: bool,
    /// True if the file was just so before.
    pub unchanged: bool,
    /// The new state.
    pub revision: Revision,
}

/// A deletion, batch, rollback or import that was made.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The snapshot taken just before.
    pub snapshot: SnapshotVersion,
    /// True if the new state is the old one.
    pub unchanged: bool,
    /// The new state.
    pub revision: Revision,
}

impl Deref for ProjectWriter {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl ProjectWriter {
    /// Grants the permission. The name of `actor` is the author that histories show.
    pub fn new(project: Project, actor: impl Into<Actor>) -> Self {
        Self {
            project,
            actor: actor.into(),
            permit: Permit::default(),
            message: None,
            passes_over_rules: false,
        }
    }

    /// Makes changes only while this permits it.
    ///
    /// # Errors
    /// Those changes then also end in [`Error::Forbidden`] and [`Error::LoggedOut`].
    #[must_use]
    pub fn permitted_by(self, permit: Permit) -> Self {
        Self { permit, ..self }
    }

    /// Makes changes only while the project has the identifier and the owner with which it was opened. Takes the place
    /// of an earlier permit: it is for commands, which need none.
    ///
    /// # Errors
    /// Those changes then also end in [`Error::Invalid`], which says that the project was renamed or given away.
    #[must_use]
    pub fn while_as_opened(self) -> Self {
        let permit = Permit::as_opened(self.owner(), self.repo_id().clone());
        self.permitted_by(permit)
    }

    /// With `true` changes pass over the rules that the project has for its contents, which the audit log
    /// then says. Who may do so the caller checks.
    #[must_use]
    pub fn passing_over_rules(self, passes_over_rules: bool) -> Self {
        Self {
            passes_over_rules,
            ..self
        }
    }

    /// Has histories show a message with the changes of branches.
    #[must_use]
    pub fn saying(self, message: Option<Message>) -> Self {
        Self { message, ..self }
    }

    /// Who makes the changes.
    pub fn actor(&self) -> &Actor {
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
        let branch = self.branch(branch)?;
        apply::may_put_file(&branch, path, condition).map_err(|refused| branch.refusal(refused))
    }

    /// Saves a file. A snapshot is taken first; the last of several writers wins and none is lost.
    ///
    /// # Errors
    /// [`Missing::Branch`]; [`Error::Precondition`];
    /// [`Error::Invalid`] when the path needs a file as a folder or the reverse. Nothing is changed
    /// then.
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
        let change = Change::Put {
            path: path.clone(),
            file,
            condition,
        };
        let proven = self.to_prove(&change);
        let (done, created) = self.submit_job(branch, None, Arc::new(change), proven)?;
        Ok(Saved {
            size: digests.size,
            md5: digests.md5,
            git_id: digests.git,
            blob: digests.blob,
            snapshot: done.snapshot,
            created,
            unchanged: done.unchanged,
            revision: done.revision,
        })
    }

    /// Deletes a file. A snapshot is taken first.
    ///
    /// # Errors
    /// [`Missing::Branch`], [`Missing::File`], [`Error::Precondition`].
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
    }

    /// Deletes a folder with all that is below it, as one change. A snapshot is taken first. Histories
    /// show it as a batch.
    ///
    /// # Errors
    /// [`Missing::Branch`]; [`Missing::Folder`] when nothing or a file is there.
    pub fn delete_folder(&self, branch: &BranchName, path: &FilePath) -> Result<Applied> {
        let path = path.clone();
        self.submit(branch, Change::DeleteFolder { path })
    }

    /// Says whether [`ProjectWriter::batch`] could succeed now, before the actions are read.
    ///
    /// # Errors
    /// [`Missing::Branch`], [`Error::Precondition`].
    pub fn check_batch(&self, branch: &BranchName, condition: &Condition) -> Result<()> {
        self.branch(branch)?.require(condition)?;
        Ok(())
    }

    /// Makes several changes as one, with one snapshot: all or none. The condition is of the branch; it is judged
    /// together with the change: nobody comes between.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the first action that cannot be done, [`Error::Precondition`] the first
    /// whose condition does not hold, or the branch, of which it has the present tag.
    pub fn batch(
        &self,
        branch: &BranchName,
        actions: Vec<BatchAction>,
        condition: &Condition,
    ) -> Result<Applied> {
        self.submit_required(branch, Change::Batch { actions }, condition)
    }

    /// Restores a snapshot: whole, or where there are `paths` only what is at them. A pre-rollback snapshot is taken
    /// first. The condition is as of [`ProjectWriter::batch`].
    ///
    /// # Errors
    /// [`Missing::Branch`], [`Missing::Snapshot`]; [`Missing::File`] when neither the snapshot nor the head has
    /// anything at a path; [`Error::Precondition`].
    pub fn rollback(
        &self,
        branch: &BranchName,
        to: SnapshotVersion,
        paths: &[FilePath],
        condition: &Condition,
    ) -> Result<Applied> {
        let change = Change::Rollback {
            to,
            paths: paths.to_vec(),
        };
        self.submit_required(branch, change, condition)
    }

    /// As [`ProjectWriter::submit`], while the condition holds of the branch.
    fn submit_required(
        &self,
        branch: &BranchName,
        change: Change,
        condition: &Condition,
    ) -> Result<Applied> {
        let proven = self.to_prove(&change);
        let change = Arc::new(change);
        for _ in 0..COMMIT_ATTEMPTS_MAX {
            let head = self.branch(branch)?.require(condition)?;
            match self.submit_job(branch, head, Arc::clone(&change), proven.clone()) {
                // Another was faster. The condition may hold of what it has made of the branch, too.
                Err(error) if head.is_some() && error.conflict().is_some() => {}
                done => return Ok(done?.0),
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Brings a change to a branch, in one commit with others that wait for the same branch.
    pub(in crate::repo) fn submit(&self, branch: &BranchName, change: Change) -> Result<Applied> {
        let proven = self.to_prove(&change);
        Ok(self.submit_job(branch, None, Arc::new(change), proven)?.0)
    }

    /// What a change has to prove, in as long as the checks of all its attempts may take together. An import comes from
    /// a command, which takes as long as it takes.
    fn to_prove(&self, change: &Change) -> Proven {
        if self.passes_over_rules {
            return Proven::PassesOver;
        }
        let effort = match change {
            Change::Import { .. } => Effort::unlimited(),
            Change::Rollback { .. } => Effort::of_rollback(self.projects.clock()),
            _ => Effort::of_change(self.projects.clock()),
        };
        Proven::These(Proofs::within(effort), None)
    }

    /// As [`ProjectWriter::submit`], to a branch in this state; true if the file that was saved was not
    /// there before.
    fn submit_job(
        &self,
        branch: &BranchName,
        head: Option<ManifestId>,
        change: Arc<Change>,
        proven: Proven,
    ) -> Result<(Applied, bool)> {
        let saves = &self.projects.shared.saves;
        let mut job = Job {
            branch: branch.clone(),
            actor: self.actor.clone(),
            permit: self.permit.clone(),
            message: self.message.as_ref().map(Message::to_string),
            head,
            change,
            proven,
        };
        let project_key = key::project(self.number());
        let mut attempts = 1..COMMIT_ATTEMPTS_MAX;
        let (number, done) = loop {
            let head = self.branch(branch)?;
            let number = head.number;
            prove::change(&head, &mut job)?;
            let run = |jobs: Vec<Job>| apply::run(&self.project, number, &jobs);
            match saves.submit(number, job.clone(), run) {
                // Its rules, or its branch, have changed since it was proven.
                Err(error) if error.conflict() == Some(&project_key) => {
                    attempts.next().ok_or(StoreError::Busy)?;
                }
                done => break (number, done),
            }
        };
        let done = done.map_err(|refused| match self.branch(branch) {
            Ok(branch) => branch.refusal(refused),
            Err(_) => refused,
        })?;
        let revision = Revision::new(&self.project, number, done.manifest, done.totals);
        let applied = Applied {
            snapshot: done.snapshot,
            unchanged: done.unchanged,
            revision: if done.unchanged {
                revision
            } else {
                revision.just_made()
            },
        };
        Ok((applied, done.created))
    }
}
