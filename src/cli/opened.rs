//! The store of a command, opened, with what the commands need of it.

use std::sync::Arc;

use super::Result;
use super::settings::Settings;
use crate::access::Accounts;
use crate::base::clock::SystemClock;
use crate::repo::Projects;
use crate::store::Store;
use crate::store::sqlite::SqliteStore;

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
