//! What is said of a project itself, changed: its identifier and its owner.

use super::ProjectWriter;
use crate::base::name_error::check_new;
use crate::base::repo_id::RepoId;
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::ProjectRecord;
use crate::repo::{Error, Missing, Project, Result, audit};
use crate::store::{Batch, Expect, Versioned};

impl ProjectWriter {
    /// Gives the project another identifier. Its number stays, and with it branches, snapshots and tokens;
    /// the old identifier is free at once.
    ///
    /// # Errors
    /// [`Missing::Project`], also when it has another identifier or owner than when it was opened;
    /// [`Error::Exists`] when the identifier is taken, also by this project; [`Error::Invalid`] of a name that is not
    /// seen whole.
    pub fn rename_project(self, new_id: &RepoId) -> Result<Project> {
        if new_id.name() != self.repo_id().name() {
            check_new("name", new_id.name())?;
        }
        let store = self.projects.store().as_ref();
        let number = self.number();
        let new_key = key::project_id(new_id.as_str());
        store.commit_prepared(|batch| {
            let kept = self.require_as_opened(batch)?;
            if store.record(&new_key)?.is_some() {
                return Err(Error::Exists { what: "project" });
            }
            let old_id = &kept.value.repo_id;
            let record = ProjectRecord {
                repo_id: new_id.clone(),
                ..ProjectRecord::clone(&kept.value)
            };
            batch.delete(key::project_id(old_id.as_str()), Expect::Anything);
            batch.write(new_key.clone(), Expect::Absent, &number);
            batch.write(key::project(number), kept.expect(), &record);
            let renamed = AuditRecord {
                project: Some((number, new_id.to_string())),
                detail: audit::detail(format!("was {old_id}")),
                ..self
                    .project
                    .audit_record(self.actor(), Action::ProjectRenamed)
            };
            audit::add(batch, &renamed);
            Ok(())
        })?;
        // Roles open projects by their names.
        store.settle();
        let project = self.projects.project_by_number(number);
        project.map_err(Error::after_change)
    }

    /// Gives the project to the account of this number; `name` tells the audit log who that is.
    ///
    /// # Errors
    /// [`Missing::Project`], also when it has another identifier or owner than when it was opened;
    /// [`Error::Invalid`] when the account is not there.
    pub fn transfer_project(self, owner: u64, name: &str) -> Result<Project> {
        let store = self.projects.store().as_ref();
        let number = self.number();
        store.commit_prepared(|batch| {
            let kept = self.require_as_opened(batch)?;
            let record = ProjectRecord {
                owner,
                ..ProjectRecord::clone(&kept.value)
            };
            self.projects.come_to(owner, batch)?;
            batch.write(key::project(number), kept.expect(), &record);
            let given = AuditRecord {
                account: Some(name.to_owned()),
                ..self
                    .project
                    .audit_record(self.actor(), Action::ProjectTransferred)
            };
            audit::add(batch, &given);
            Ok::<_, Error>(())
        })?;
        store.settle();
        let project = self.projects.project_by_number(number);
        project.map_err(Error::after_change)
    }

    /// The record as it is now, while the project has the identifier and the owner that it was opened
    /// with: by these it was judged who may do this. Has the batch committed only while who changes it may.
    ///
    /// # Errors
    /// [`Missing::Project`]; those of the permit.
    pub(super) fn require_as_opened(&self, batch: &mut Batch) -> Result<Versioned<ProjectRecord>> {
        let kept = self.require_project()?;
        if kept.value.repo_id != *self.repo_id() || kept.value.owner != self.owner() {
            return Err(Error::missing(Missing::Project));
        }
        self.permit.hold(self.owner(), self.repo_id(), batch)?;
        Ok(kept)
    }
}
