//! A project: made, found, listed.

use std::sync::Arc;

use super::records;
use super::records::{commit_prepared, next_number, number_in};
use super::{Error, Missing, Projects, Result};
use crate::base::clock::Timestamp;
use crate::base::repo_id::RepoId;
use crate::object::key;
use crate::object::record::ProjectRecord;
use crate::store::{Expect, Scan, StoreError};

/// An opened project, for reading. A cheap handle.
#[derive(Clone, Debug)]
pub struct Project {
    pub(super) repository: Projects,
    number: u64,
    repo_id: Arc<RepoId>,
    record: Arc<ProjectRecord>,
}

impl Projects {
    /// Makes a project.
    ///
    /// # Errors
    /// [`Error::Exists`] when the identifier is taken.
    pub fn create_project(&self, repo_id: &RepoId, owner: u64) -> Result<Project> {
        let store = self.store().as_ref();
        let created_at = self.clock().now();
        let record = ProjectRecord {
            repo_id: repo_id.to_string(),
            owner,
            created_at,
        };
        let id_key = key::project_id(repo_id.as_str());
        let number = commit_prepared(store, |batch| {
            if store.record(&id_key)?.is_some() {
                return Err(Error::Exists { what: "project" });
            }
            let number = next_number(store, key::PROJECT_COUNTER, batch)?;
            batch.write(id_key.clone(), Expect::Absent, &number);
            batch.write(key::project(number), Expect::Absent, &record);
            Ok(number)
        })?;
        Ok(self.opened(number, repo_id.clone(), record))
    }

    /// The project of this identifier.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn project(&self, repo_id: &RepoId) -> Result<Project> {
        let number =
            records::read::<u64>(self.store().as_ref(), &key::project_id(repo_id.as_str()))?;
        let number = number.ok_or(Error::missing(Missing::Project))?.value;
        self.project_by_number(number)
    }

    /// The project of this number.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn project_by_number(&self, number: u64) -> Result<Project> {
        let record = records::read::<ProjectRecord>(self.store().as_ref(), &key::project(number))?;
        self.project_of(
            number,
            record.ok_or(Error::missing(Missing::Project))?.value,
        )
    }

    /// All projects, in the byte order of their identifiers.
    pub fn projects(&self) -> Result<Vec<Project>> {
        let mut projects = Vec::new();
        for record in self.store().scan(Scan::prefix(key::PROJECTS))? {
            let number = number_in(&record.key).unwrap_or_default();
            projects.push(self.project_of(number, records::decode(&record)?.value)?);
        }
        projects.sort_by(|a, b| a.repo_id().cmp(b.repo_id()));
        Ok(projects)
    }

    fn project_of(&self, number: u64, record: ProjectRecord) -> Result<Project> {
        let repo_id = RepoId::parse(&record.repo_id).map_err(|e| StoreError::DamagedRecord {
            key: key::project(number),
            source: serde::de::Error::custom(e),
        })?;
        Ok(self.opened(number, repo_id, record))
    }

    fn opened(&self, number: u64, repo_id: RepoId, record: ProjectRecord) -> Project {
        Project {
            repository: self.clone(),
            number,
            repo_id: Arc::new(repo_id),
            record: Arc::new(record),
        }
    }
}

impl Project {
    /// Its number, the `id` of the read API. Never used twice.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its identifier.
    pub fn repo_id(&self) -> &RepoId {
        &self.repo_id
    }

    /// The number of the account that owns it.
    pub fn owner(&self) -> u64 {
        self.record.owner
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// When any of its branches last changed, or when it was made.
    pub fn updated_at(&self) -> Result<Timestamp> {
        let branches = self.branches()?;
        let last = branches.iter().map(super::Branch::updated_at).max();
        Ok(last.unwrap_or_default().max(self.created_at()))
    }
}
