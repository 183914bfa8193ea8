//! The store of a command, opened, with what the commands need of it.

use std::fs;
use std::sync::Arc;

use rustix::process::getuid;

use super::settings::Settings;
use super::{Error, Result};
use crate::access::Accounts;
use crate::base::actor::Actor;
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
    /// Who runs the command.
    pub(super) actor: Actor,
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
        let actor = actor();
        let accounts = Accounts::new(&repository).acting(actor.clone());
        Self {
            store,
            repository,
            accounts,
            actor,
        }
    }
}

/// Who runs this command: the user as whom the process runs, after the one who logged in to the machine
/// where that is another, as with sudo.
pub(super) fn actor() -> Actor {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let runs_as = getuid().as_raw();
    let logged_in = fs::read_to_string("/proc/self/loginuid").unwrap_or_default();
    let logged_in = logged_in.trim().parse().ok();
    // The system has the last number where nobody logged in, as under systemd.
    let logged_in = logged_in.filter(|user| *user != u32::MAX && *user != runs_as);
    let runs_as = name_of(&users, runs_as);
    Actor::command_line(match logged_in {
        Some(user) => format!("{} as {runs_as}", name_of(&users, user)),
        None => runs_as,
    })
}

/// The name of a user by the lines of `/etc/passwd`; the number where they have none.
fn name_of(users: &str, number: u32) -> String {
    let wanted = number.to_string();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == wanted).then_some(name)
    });
    name.map_or_else(|| format!("user {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_as_the_system_knows_it() {
        let users = "root:x:0:0:root:/root:/bin/sh\nconf:x:990:990::/:/bin/false\nodd:x\n";
        assert_eq!(name_of(users, 990), "conf");
        assert_eq!(name_of(users, 99), "user 99");
    }
}
