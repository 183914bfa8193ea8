//! What an account may do to a project, as clients are told it.

use serde::Serialize;

use super::grant::decide;
use super::permission::{Permissions, Right};
use super::role::{Role, grants};
use super::virtual_path::VirtualPath;
use crate::base::repo_id::RepoId;

/// What an account may do to a project. Each is what the gate decides when it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are fields of the Admin API"
)]
pub struct ProjectRights {
    /// See it, and read its files.
    pub read: bool,
    /// Make branches, save, and save batches.
    pub write: bool,
    /// Delete files, branches and the project.
    pub delete: bool,
    /// Restore snapshots.
    pub rollback: bool,
    /// Make tokens that cover it.
    pub tokens: bool,
    /// Rename it, restore it after its deletion, see its tokens, and set its rules for contents.
    pub manage: bool,
}

/// The rights of one account, to be asked about many projects.
#[derive(Clone, Debug)]
pub struct Rights {
    account: u64,
    roles: Vec<Role>,
}

impl Rights {
    /// Of the account of this number with these roles.
    pub(in crate::access) fn new(account: u64, roles: Vec<Role>) -> Self {
        Self { account, roles }
    }

    /// What it may do to a project that the account of this number owns under this identifier.
    pub fn on(&self, owner: u64, repo_id: &RepoId) -> ProjectRights {
        let path = VirtualPath::new(owner, repo_id);
        let may = |needed| decide(grants(self.account, &self.roles), &path, needed);
        let full = may(Right::Rollback.needs());
        ProjectRights {
            read: may(Permissions::VIEW),
            write: may(Right::Write.needs()),
            delete: may(Right::Delete.needs()),
            rollback: full,
            tokens: may(Permissions::VIEW),
            manage: full && (owner == self.account || self.roles.contains(&Role::Root)),
        }
    }
}
