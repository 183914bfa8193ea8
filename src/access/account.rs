//! An account, as its record.

use serde::{Deserialize, Serialize};

use super::password::PasswordHash;
use super::rights::grant::{Grant, decide};
use super::rights::permission::Permissions;
use super::rights::project_rights::Rights;
use super::rights::role::{Role, grants};
use super::rights::service_rights::{ServiceRights, sees_everything};
use super::rights::virtual_path::VirtualPath;
use crate::base::clock::Timestamp;
use crate::base::repo_id::RepoId;
use crate::repo::Project;

/// Somebody who can log in, as read at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) password: PasswordHash,
    pub(super) roles: Vec<Role>,
    pub(super) enabled: bool,
    pub(super) created_at: Timestamp,
    /// Rises when all sessions must end. A session counts only with the number it was opened under,
    /// so that a login that was under way meanwhile opens nothing.
    pub(super) generation: u64,
}

impl Account {
    /// The account's number: what projects and tokens know their owner by. Never given twice.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The name to log in with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The roles, in the order in which they were given.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// False when neither a login nor a token of it counts.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Everything it may do.
    pub fn grants(&self) -> impl Iterator<Item = Grant<'_>> {
        grants(self.number, &self.roles)
    }

    /// True if it may read a project.
    pub fn may_read(&self, project: &Project) -> bool {
        self.may(Permissions::VIEW, project)
    }

    /// True if it may do all that to a project.
    pub(super) fn may(&self, needed: Permissions, project: &Project) -> bool {
        self.may_at(needed, project.owner(), project.repo_id())
    }

    /// True if it may do all that to a project that the account of this number owns under this identifier.
    pub fn may_at(&self, needed: Permissions, owner: u64, repo_id: &RepoId) -> bool {
        decide(self.grants(), &VirtualPath::new(owner, repo_id), needed)
    }

    /// True if it may see whatever there is.
    pub(super) fn may_see_everything(&self) -> bool {
        sees_everything(self.grants())
    }

    /// True if it has the role for everything.
    pub fn is_root(&self) -> bool {
        self.roles.contains(&Role::Root)
    }

    /// Its rights, to be asked about projects.
    pub fn rights(&self) -> Rights {
        Rights::new(self.number, self.roles.clone())
    }

    /// What it may do beside what projects say of themselves.
    pub fn service_rights(&self) -> ServiceRights {
        ServiceRights::new(self.number, &self.roles)
    }
}
