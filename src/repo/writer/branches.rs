//! Branches made and deleted, and projects deleted. How both come back is in [`crate::repo::deleted`].

use super::ProjectWriter;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::name_error::check_new;
use crate::manifest::{Draft, Editor};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, DeletedRecord, ProjectRecord};
use crate::repo::{Branch, Condition, Error, Missing, Result, audit};
use crate::store::Expect;

impl ProjectWriter {
    /// Makes a branch: empty, or in the state that `from` names, which costs one record. A state that is named by its
    /// commit id is looked for among the snapshots of its branch first.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Missing::Revision`] when `from` names nothing; [`Error::Unfinished`] as of
    /// [`crate::repo::Project::resolve`]; [`Error::Invalid`] when the project has as many branches as it may have, or
    /// nobody could see all of the name; [`Error::TooManyDeleted`].
    pub fn create_branch(&self, name: &BranchName, from: Option<&str>) -> Result<Branch> {
        self.create_branch_at(name, from, self.projects.clock().now())
    }

    /// As [`ProjectWriter::create_branch`], for one that counts as made at this time.
    ///
    /// # Errors
    /// As there.
    pub fn create_branch_at(
        &self,
        name: &BranchName,
        from: Option<&str>,
        now: Timestamp,
    ) -> Result<Branch> {
        check_new("branch name", name.as_str())?;
        let projects = &self.projects;
        let store = projects.store().as_ref();
        let mut draft = Draft::new(projects.nodes());
        // With its place: that is looked for once, however often the commit is repeated.
        let state = from
            .map(|reference| self.resolve(Some(reference))?.placed())
            .transpose()?;
        let (manifest, totals) = match &state {
            Some(revision) => (revision.manifest(), revision.totals()),
            None => (Editor::empty().finish(&mut draft)?.0, Totals::default()),
        };
        let objects = draft.take_objects();
        let by = self.actor().name().to_owned();
        let record = BranchRecord::new(name.clone(), manifest, totals, now, by);
        let name_key = key::branch_name(self.number(), name.as_str());
        let exists = || Ok::<_, Error>(store.record(&name_key)?.is_some());
        // Before the commit, as with projects.
        if exists()? {
            return Err(Error::Exists { what: "branch" });
        }
        self.check_branch_count()?;
        self.check_deleted_branches()?;
        let number = store.commit_prepared(|batch| {
            let now = self.hold_permitted(&self.permit, batch)?;
            if exists()? {
                return Err(Error::Exists { what: "branch" });
            }
            if let Some(revision) = &state {
                let kept = revision.kept_by()?;
                batch
                    .expected
                    .push(kept.ok_or(Error::missing(Missing::Revision))?);
            }
            let number = store.next_number(key::BRANCH_COUNTER, batch)?;
            batch.objects.clone_from(&objects);
            batch.required.push(manifest.into());
            batch.write(name_key.clone(), Expect::Absent, &number);
            batch.write(key::branch(self.number(), number), Expect::Absent, &record);
            let record = AuditRecord {
                detail: from.and_then(|from| audit::detail(format!("from {from}"))),
                ..now.branch_audit_record(self.actor(), Action::BranchCreated, (number, name))
            };
            audit::add(batch, &record);
            Ok(number)
        })?;
        self.changed_branch(number)
    }

    /// A branch that was just changed.
    ///
    /// # Errors
    /// As [`Error::after_change`].
    fn changed_branch(&self, number: u64) -> Result<Branch> {
        let branch = self
            .branch_by_number(number)
            .and_then(|branch| branch.ok_or(Error::missing(Missing::Branch)));
        branch.map_err(Error::after_change)
    }

    /// Gives a branch another name. Its snapshots stay with it; the old name is free at once. Its own name
    /// is no change. The condition is as of [`ProjectWriter::batch`].
    ///
    /// # Errors
    /// [`Missing::Branch`]; [`Error::Exists`]; [`Error::Precondition`]; [`Error::Invalid`] when nobody could see
    /// all of the new name.
    pub fn rename_branch(
        &self,
        name: &BranchName,
        new_name: &BranchName,
        condition: &Condition,
    ) -> Result<Branch> {
        let store = self.projects.store().as_ref();
        let new_key = key::branch_name(self.number(), new_name.as_str());
        let number = store.commit_prepared(|batch| {
            let now = self.hold_permitted(&self.permit, batch)?;
            let branch = self.branch(name)?;
            branch.require(condition)?;
            if name == new_name {
                return Ok(branch.number);
            }
            check_new("branch name", new_name.as_str())?;
            if store.record(&new_key)?.is_some() {
                return Err(Error::Exists { what: "branch" });
            }
            let record = BranchRecord::clone(&branch.record).renamed(new_name);
            let old_key = key::branch_name(self.number(), name.as_str());
            batch.delete(old_key, Expect::Anything);
            batch.write(new_key.clone(), Expect::Absent, &branch.number);
            batch.write(
                key::branch(self.number(), branch.number),
                Expect::Version(branch.version),
                &record,
            );
            let renamed = AuditRecord {
                detail: audit::detail(format!("was {name}")),
                ..now.branch_audit_record(
                    self.actor(),
                    Action::BranchRenamed,
                    (branch.number, new_name),
                )
            };
            audit::add(batch, &renamed);
            Ok(branch.number)
        })?;
        self.changed_branch(number)
    }

    /// Deletes a branch with its snapshots; for a time it can be restored, see
    /// [`crate::repo::Projects::restore_branch`]. The condition is as of [`ProjectWriter::batch`].
    ///
    /// # Errors
    /// [`Missing::Branch`]; [`Error::Precondition`].
    pub fn delete_branch(&self, name: &BranchName, condition: &Condition) -> Result<()> {
        let store = self.projects.store().as_ref();
        let deleted_at = self.projects.steady_clock().now();
        store.commit_prepared(|batch| {
            let now = self.hold_permitted(&self.permit, batch)?;
            let branch = self.branch(name)?;
            branch.require(condition)?;
            let record = DeletedRecord {
                record: BranchRecord::clone(&branch.record),
                deleted_at,
                deleted_by: self.actor().name().to_owned(),
                forgetting: false,
            };
            batch.uses_reserve = true;
            batch.delete(
                key::branch_name(self.number(), name.as_str()),
                Expect::Anything,
            );
            batch.delete(
                key::branch(self.number(), branch.number),
                Expect::Version(branch.version),
            );
            batch.write(
                key::deleted_branch(self.number(), branch.number),
                Expect::Absent,
                &record,
            );
            let record =
                now.branch_audit_record(self.actor(), Action::BranchDeleted, (branch.number, name));
            audit::add(batch, &record);
            Ok::<_, Error>(())
        })?;
        store.settle();
        Ok(())
    }

    /// Deletes the project with its branches; for a time it can be restored, see
    /// [`crate::repo::Projects::restore_project`]. The branches stay as they are, so this costs the same
    /// however many there are.
    ///
    /// # Errors
    /// [`Missing::Project`], also when it has another identifier or owner by now.
    pub fn delete_project(self) -> Result<()> {
        let store = self.projects.store().as_ref();
        let deleted_at = self.projects.steady_clock().now();
        store.commit_prepared(|batch| {
            let kept = self.require_as_opened(batch)?;
            let record = DeletedRecord {
                record: ProjectRecord::clone(&kept.value),
                deleted_at,
                deleted_by: self.actor().name().to_owned(),
                forgetting: false,
            };
            batch.uses_reserve = true;
            let id_key = key::project_id(kept.value.repo_id.as_str());
            batch.delete(id_key, Expect::Anything);
            batch.delete(key::project(self.number()), kept.expect());
            let deleted_key = key::deleted_project(self.number());
            batch.write(deleted_key, Expect::Absent, &record);
            audit::add(
                batch,
                &self.audit_record(self.actor(), Action::ProjectDeleted),
            );
            Ok::<_, Error>(())
        })?;
        store.settle();
        Ok(())
    }
}
