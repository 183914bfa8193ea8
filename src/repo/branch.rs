//! A branch: its head, found and listed; branches made and deleted.

use std::sync::Arc;

use super::records::commit_prepared;
use super::{Error, Missing, Project, ProjectWriter, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::{Draft, Editor};
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, LastChange, SnapshotRecord};
use crate::store::{Batch, Expect, Scan, Store, StoreError, Version, Versioned};

/// Records that are deleted with one commit after their branch is gone.
const SWEEP_RECORDS: usize = 1000;

/// A branch with its head as it was when it was read.
#[derive(Clone, Debug)]
pub struct Branch {
    pub(super) project: Project,
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) record: Arc<BranchRecord>,
}

impl Project {
    /// All branches, in the byte order of their names.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        let prefix = key::branches(self.number());
        let mut branches = Vec::new();
        for record in self.repository.store().folder(&prefix)?.iter() {
            branches.push(self.branch_of(record.number(), record.decode()?));
        }
        branches.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(branches)
    }

    /// The branch of this name.
    ///
    /// # Errors
    /// [`Missing::Branch`].
    pub fn branch(&self, name: &BranchName) -> Result<Branch> {
        let name_key = key::branch_name(self.number(), name.as_str());
        let number = self.repository.store().value::<u64>(&name_key)?;
        let number = number.ok_or(Error::missing(Missing::Branch))?.value;
        self.branch_by_number(*number)?
            .ok_or(Error::missing(Missing::Branch))
    }

    /// The default branch by the rule of specification section 2: `master`, else `main`, else the
    /// first by name.
    pub fn default_branch(&self) -> Result<Option<Branch>> {
        let mut branches = self.branches()?;
        let at = default_of(&branches.iter().map(|branch| branch.name().as_str()));
        Ok(at.map(|at| branches.swap_remove(at)))
    }

    pub(super) fn branch_by_number(&self, number: u64) -> Result<Option<Branch>> {
        let store = self.repository.store();
        let record = store.value(&key::branch(self.number(), number))?;
        Ok(record.map(|record| self.branch_of(number, record)))
    }

    fn branch_of(&self, number: u64, record: Versioned<BranchRecord>) -> Branch {
        Branch {
            project: self.clone(),
            number,
            version: record.version,
            record: record.value,
        }
    }
}

/// Which of these names, which rise, is the default branch's.
fn default_of<'a>(names: &(impl Iterator<Item = &'a str> + Clone)) -> Option<usize> {
    let place = |wanted: &str| names.clone().position(|name| name == wanted);
    place("master")
        .or_else(|| place("main"))
        .or_else(|| names.clone().next().map(|_| 0))
}

impl Branch {
    /// Its name.
    pub fn name(&self) -> &BranchName {
        &self.record.name
    }

    /// What its head holds.
    pub fn totals(&self) -> Totals {
        self.record.totals.into()
    }

    /// How many snapshots it has.
    pub fn snapshots(&self) -> u64 {
        self.record.snapshots
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// When it came into the state of its head.
    pub fn updated_at(&self) -> Timestamp {
        self.record.updated_at
    }

    /// Who brought it there.
    pub fn updated_by(&self) -> &str {
        &self.record.updated_by
    }

    /// The state it is in.
    pub fn head(&self) -> Revision {
        Revision::new(
            &self.project,
            self.number,
            self.record.manifest,
            self.totals(),
            false,
        )
    }

    /// The state that a snapshot holds.
    ///
    /// # Errors
    /// [`Missing::Snapshot`].
    pub fn snapshot(&self, version: SnapshotVersion) -> Result<Revision> {
        let store = self.project.repository.store();
        let record =
            store.value::<SnapshotRecord>(&key::snapshot(self.number, version.number()))?;
        let record = record.ok_or(Error::missing(Missing::Snapshot))?.value;
        Ok(Revision::new(
            &self.project,
            self.number,
            record.manifest,
            record.totals.into(),
            true,
        ))
    }
}

impl ProjectWriter {
    /// Makes a branch: empty, or in the state that `from` names, which costs one record.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Missing::Revision`] when `from` names nothing.
    pub fn create_branch(&self, name: &BranchName, from: Option<&str>) -> Result<Branch> {
        let repository = &self.repository;
        let store = repository.store().as_ref();
        let mut draft = Draft::new(repository.nodes());
        let (manifest, totals) = match from {
            Some(reference) => {
                let revision = self.resolve(Some(reference))?;
                (revision.manifest(), revision.totals())
            }
            None => (Editor::empty().finish(&mut draft)?.0, Totals::default()),
        };
        let objects = draft.take_objects();
        let now = repository.clock().now();
        let record = BranchRecord {
            name: name.clone(),
            manifest,
            totals: totals.into(),
            snapshots: 0,
            created_at: now,
            updated_at: now,
            updated_by: self.actor().to_owned(),
            last: Some(LastChange {
                at: now,
                by: self.actor().to_owned(),
                operation: None,
                path: None,
                message: None,
                parent: None,
            }),
        };
        let name_key = key::branch_name(self.number(), name.as_str());
        let number = commit_prepared(store, |batch| {
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
            Ok(number)
        })?;
        self.branch_by_number(number)?
            .ok_or(Error::missing(Missing::Branch))
    }

    /// Deletes a branch with its snapshots. Its state stays where another branch shares it.
    ///
    /// # Errors
    /// [`Missing::Branch`].
    pub fn delete_branch(&self, name: &BranchName) -> Result<()> {
        let store = self.repository.store().as_ref();
        let branch = commit_prepared(store, |batch| {
            let branch = self.branch(name)?;
            batch.delete(
                key::branch_name(self.number(), name.as_str()),
                Expect::Anything,
            );
            batch.delete(
                key::branch(self.number(), branch.number),
                Expect::Version(branch.version),
            );
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
        let store = self.repository.store().as_ref();
        commit_prepared(store, |batch| {
            let record = store.record(&key::project(self.number()))?;
            let version = record.ok_or(Error::missing(Missing::Project))?.version;
            batch.delete(key::project_id(self.repo_id().as_str()), Expect::Anything);
            batch.delete(key::project(self.number()), Expect::Version(version));
            Ok::<_, Error>(())
        })?;
        for branch in self.branches()? {
            sweep(store, &key::snapshots(branch.number))?;
        }
        sweep(store, &key::branches(self.number()))?;
        sweep(store, &key::branch_names(self.number()))?;
        Ok(sweep(store, &key::commits(self.number()))?)
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
        let mut batch = Batch::default();
        for record in records {
            batch.delete(record.key.clone(), Expect::Anything);
        }
        store.commit(batch)?;
    }
}
