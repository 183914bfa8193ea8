//! What was deleted, brought back.

use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::name_error::check_new;
use crate::base::repo_id::RepoId;
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{BranchRecord, ProjectRecord};
use crate::repo::{Branch, Error, Missing, Project, Projects, Result, audit};
use crate::store::Expect;

impl Projects {
    /// Restores a deleted project as it was, with its number and its branches, under this identifier or
    /// that which it had. It is there whole when this returns, or as before.
    ///
    /// # Errors
    /// [`Missing::Deleted`]; [`Error::Exists`] when the identifier is taken meanwhile; [`Error::Invalid`]
    /// when the account that owns it is not there, or has as many projects as it may have.
    pub fn restore_project(
        &self,
        number: u64,
        new_id: Option<&RepoId>,
        actor: &Actor,
    ) -> Result<Project> {
        let store = self.store().as_ref();
        self.check_project_count(self.deleted_project(number)?.value.record.owner)?;
        store.commit_prepared(|batch| {
            let kept = self.deleted_project(number)?;
            let mut record = ProjectRecord::clone(&kept.value.record);
            self.permit.hold(record.owner, &record.repo_id, batch)?;
            if let Some(id) = new_id {
                if *id != record.repo_id {
                    check_new("name", id.name())?;
                }
                record.repo_id = id.clone();
            }
            let id_key = key::project_id(record.repo_id.as_str());
            if let Some(taken) = store.value::<u64>(&id_key)? {
                return Err(refusal(*taken.value, number, "project"));
            }
            self.come_to(record.owner, batch)?;
            batch.delete(key::deleted_project(number), kept.expect());
            batch.write(id_key, Expect::Absent, &number);
            batch.write(key::project(number), Expect::Absent, &record);
            let restored = AuditRecord {
                project: Some((number, record.repo_id.to_string())),
                detail: new_id.map(|_| format!("was {}", kept.value.record.repo_id)),
                ..AuditRecord::new(self.clock().now(), actor, Action::ProjectRestored)
            };
            audit::add(batch, &restored);
            Ok(())
        })?;
        self.project_by_number(number).map_err(Error::after_change)
    }

    /// Restores a deleted branch as it was, with its number, its snapshots and its commit ids, under this
    /// name or that which it had. It is there whole when this returns, or as before.
    ///
    /// # Errors
    /// [`Missing::Deleted`], also when the project is not there; [`Error::Exists`] when the name is taken
    /// meanwhile; [`Error::Invalid`] when the project has as many branches as it may have.
    pub fn restore_branch(
        &self,
        project: u64,
        number: u64,
        new_name: Option<&BranchName>,
        actor: &Actor,
    ) -> Result<Branch> {
        let store = self.store().as_ref();
        let opened = self.living(project)?;
        let opened = opened.ok_or(Error::missing(Missing::Deleted))?;
        opened.check_branch_count()?;
        store.commit_prepared(|batch| {
            let kept = self.deleted_branch(project, number)?;
            let now = opened.hold_permitted(&self.permit, batch)?;
            let mut record = BranchRecord::clone(&kept.value.record);
            if let Some(name) = new_name {
                if *name != record.name {
                    check_new("branch name", name.as_str())?;
                }
                record = record.renamed(name);
            }
            let name_key = key::branch_name(project, record.name.as_str());
            if let Some(taken) = store.value::<u64>(&name_key)? {
                return Err(refusal(*taken.value, number, "branch"));
            }
            if record.migrated_snapshots.is_some() {
                // Takes a number, so that a move which makes the branch anew meanwhile conflicts, and looks again.
                store.next_number(key::BRANCH_COUNTER, batch)?;
            }
            batch.delete(key::deleted_branch(project, number), kept.expect());
            batch.write(name_key, Expect::Absent, &number);
            batch.write(key::branch(project, number), Expect::Absent, &record);
            let restored = AuditRecord {
                branch: Some((number, record.name.to_string())),
                detail: new_name.map(|_| format!("was {}", kept.value.record.name)),
                ..now.audit_record(actor, Action::BranchRestored)
            };
            audit::add(batch, &restored);
            Ok(())
        })?;
        opened
            .branch_by_number(number)
            .and_then(|branch| branch.ok_or(Error::missing(Missing::Branch)))
            .map_err(Error::after_change)
    }
}

/// Why a name cannot be had that leads to the number of another, or to the own one: then somebody else
/// has just restored it.
fn refusal(taken_by: u64, own: u64, what: &'static str) -> Error {
    if taken_by == own {
        Error::missing(Missing::Deleted)
    } else {
        Error::Exists { what }
    }
}
