//! Branches made and deleted, and projects deleted.

use super::ProjectWriter;
use crate::base::branch_name::BranchName;
use crate::manifest::{Draft, Editor};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, LastChange};
use crate::repo::{Branch, Error, Missing, Result, audit};
use crate::store::{Batch, Expect, Scan, Store, StoreError};

/// Records that are deleted with one commit after their branch is gone.
const SWEEP_RECORDS: usize = 1000;

impl ProjectWriter {
    /// Makes a branch: empty, or in the state that `from` names, which costs one record.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Missing::Revision`] when `from` names nothing.
    pub fn create_branch(&self, name: &BranchName, from: Option<&str>) -> Result<Branch> {
        let projects = &self.projects;
        let store = projects.store().as_ref();
        let mut draft = Draft::new(projects.nodes());
        let (manifest, totals) = match from {
            Some(reference) => {
                let revision = self.resolve(Some(reference))?;
                (revision.manifest(), revision.totals())
            }
            None => (Editor::empty().finish(&mut draft)?.0, Totals::default()),
        };
        let objects = draft.take_objects();
        let now = projects.clock().now();
        let record = BranchRecord {
            name: name.clone(),
            manifest,
            totals: totals.into(),
            snapshots: 0,
            created_at: now,
            updated_at: now,
            updated_by: self.actor().name().to_owned(),
            last: Some(LastChange {
                at: now,
                by: self.actor().name().to_owned(),
                operation: None,
                path: None,
                message: None,
                parent: None,
            }),
        };
        let name_key = key::branch_name(self.number(), name.as_str());
        let number = store.commit_prepared(|batch| {
            if store.record(&key::project(self.number()))?.is_none() {
                return Err(Error::missing(Missing::Project));
            }
            if store.record(&name_key)?.is_some() {
                return Err(Error::Exists { what: "branch" });
            }
            let number = store.next_number(key::BRANCH_COUNTER, batch)?;
            batch.objects.clone_from(&objects);
            batch.required.push(manifest.into());
            batch.write(name_key.clone(), Expect::Absent, &number);
            batch.write(key::branch(self.number(), number), Expect::Absent, &record);
            let record = AuditRecord {
                detail: from.map(|from| format!("from {from}")),
                ..self.told(Action::BranchCreated, Some((number, name)))
            };
            audit::add(batch, &record);
            Ok(number)
        })?;
        self.branch_by_number(number)?
            .ok_or(Error::missing(Missing::Branch))
    }

    /// Deletes a branch with its snapshots. Its state stays where another branch shares it.
    ///
    /// # Errors
    /// [`Missing::Branch`]; [`Error::Precondition`].
    pub fn delete_branch(&self, name: &BranchName) -> Result<()> {
        let store = self.projects.store().as_ref();
        let branch = store.commit_prepared(|batch| {
            let branch = self.branch(name)?;
            self.required_head(&branch)?;
            batch.uses_reserve = true;
            batch.delete(
                key::branch_name(self.number(), name.as_str()),
                Expect::Anything,
            );
            batch.delete(
                key::branch(self.number(), branch.number),
                Expect::Version(branch.version),
            );
            let record = self.told(Action::BranchDeleted, Some((branch.number, name)));
            audit::add(batch, &record);
            Ok::<_, Error>(branch)
        })?;
        // The branch is gone; what only it could reach is swept now, or stays unreachable.
        Ok(sweep(store, &key::snapshots(branch.number))?)
    }

    /// Deletes the project with its branches.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn delete_project(self) -> Result<()> {
        let store = self.projects.store().as_ref();
        store.commit_prepared(|batch| {
            batch.uses_reserve = true;
            let record = store.record(&key::project(self.number()))?;
            let version = record.ok_or(Error::missing(Missing::Project))?.version;
            batch.delete(key::project_id(self.repo_id().as_str()), Expect::Anything);
            batch.delete(key::project(self.number()), Expect::Version(version));
            audit::add(batch, &self.told(Action::ProjectDeleted, None));
            Ok::<_, Error>(())
        })?;
        for branch in self.branches()? {
            sweep(store, &key::snapshots(branch.number))?;
        }
        sweep(store, &key::branches(self.number()))?;
        sweep(store, &key::branch_names(self.number()))?;
        // Entries on their way would be left behind.
        let commits = key::commits(self.number());
        self.projects.background().flush(&commits);
        Ok(sweep(store, &commits)?)
    }

    /// The audit record of what is done to the project, or to this branch of it.
    fn told(&self, action: Action, branch: Option<(u64, &BranchName)>) -> AuditRecord {
        AuditRecord {
            branch: branch.map(|(number, name)| (number, name.to_string())),
            ..self.project.noted(self.actor(), action)
        }
    }
}

/// Deletes every record under a prefix, a bounded number with each commit.
fn sweep(store: &dyn Store, prefix: &str) -> std::result::Result<(), StoreError> {
    loop {
        let records = store.scan(Scan {
            limit: SWEEP_RECORDS,
            ..Scan::prefix(prefix)
        })?;
        if records.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::with_reserve();
        for record in records {
            batch.delete(record.key.clone(), Expect::Anything);
        }
        store.commit(batch)?;
    }
}
