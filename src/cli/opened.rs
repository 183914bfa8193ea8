//! The store of a command, opened, with what the commands need of it.

use std::sync::Arc;

use super::settings::Settings;
use super::{Error, Result};
use crate::access::Accounts;
use crate::base::clock::SystemClock;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{Project, Projects, Revision};
use crate::store::Store;
use crate::store::sqlite::SqliteStore;

/// How many branches a refusal names at most.
const NAMES_TOLD: usize = 10;

/// An opened store.
pub(super) struct Opened {
    /// The store itself.
    pub(super) store: Arc<SqliteStore>,
    /// Its projects.
    pub(super) repository: Projects,
    /// Its accounts.
    pub(super) accounts: Accounts,
}

impl Opened {
    /// Opens the store to change it, beside a daemon that may be running.
    pub(super) fn beside(settings: &Settings) -> Result<Self> {
        Ok(Self::of(SqliteStore::open_beside(&settings.data)?))
    }

    /// Opens the store to look at it.
    pub(super) fn for_reading(settings: &Settings) -> Result<Self> {
        Ok(Self::of(SqliteStore::open_read_only(&settings.data)?))
    }

    /// The project of this identifier.
    ///
    /// # Errors
    /// [`Error::Failed`] when there is none.
    pub(super) fn project(&self, repo_id: &RepoId) -> Result<Project> {
        match self.repository.project(repo_id) {
            Err(repo::Error::NotFound { .. }) => Err(Error::Failed(format!(
                "there is no project {repo_id}; \"siteconf project list\" names all"
            ))),
            found => Ok(found?),
        }
    }

    /// What a reference names in a project.
    ///
    /// # Errors
    /// [`Error::Failed`] when it names nothing, with some that would.
    pub(super) fn revision(&self, repo_id: &RepoId, reference: &str) -> Result<Revision> {
        let project = self.project(repo_id)?;
        let resolved = project.resolve(Some(reference));
        if !matches!(resolved, Err(repo::Error::NotFound { .. })) {
            return Ok(resolved?);
        }
        let names = project.branch_names()?;
        let mut branches = names.iter().take(NAMES_TOLD).collect::<Vec<_>>().join(", ");
        if names.len() > NAMES_TOLD {
            branches.push_str(", …");
        }
        Err(Error::Failed(format!(
            "\"{reference}\" names nothing in {repo_id}: it must be a branch, a snapshot as in \
             main@v0007, or a commit id; its branches: {branches}"
        )))
    }

    /// Takes a store that is open.
    pub(super) fn of(store: SqliteStore) -> Self {
        let store = Arc::new(store);
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let repository = Projects::new(shared, Arc::new(SystemClock));
        let accounts = Accounts::new(&repository);
        Self {
            store,
            repository,
            accounts,
        }
    }
}
