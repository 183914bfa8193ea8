//! What an account may do beside its projects, as clients are told it.

use serde::Serialize;

use super::grant::{Grant, Pattern};
use super::permission::Permissions;
use super::role::{Role, grants};
use super::virtual_path::Folder;

/// What an account may do beside what projects say of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are fields of the Admin API"
)]
pub struct ServiceRights {
    /// Make projects of its own.
    pub create_projects: bool,
    /// Make projects in the public folder.
    pub create_public_projects: bool,
    /// See the projects of everybody.
    pub all_projects: bool,
    /// Read the audit log.
    pub audit: bool,
    /// Make, change and remove accounts, and give roles.
    pub accounts: bool,
    /// See and revoke the tokens of others.
    pub all_tokens: bool,
    /// See how the service is.
    pub service: bool,
}

impl ServiceRights {
    /// Of the account of this number with these roles.
    pub(in crate::access) fn new(account: u64, roles: &[Role]) -> Self {
        let may = |folder, needed| held(grants(account, roles), folder).include(needed);
        let sees_everything = sees_everything(grants(account, roles));
        let is_root = roles.contains(&Role::Root);
        Self {
            create_projects: may(Folder::User(account), Permissions::WRITE),
            create_public_projects: may(Folder::Public, Permissions::WRITE),
            all_projects: sees_everything,
            audit: sees_everything,
            accounts: is_root,
            all_tokens: is_root,
            service: is_root,
        }
    }
}

/// What is held on every project of a folder.
fn held<'a>(grants: impl Iterator<Item = Grant<'a>>, folder: Folder) -> Permissions {
    let whole = grants.filter(|grant| match grant.pattern {
        Pattern::Everything => true,
        Pattern::Public => folder == Folder::Public,
        Pattern::UserFolder(owner) => folder == Folder::User(owner),
        Pattern::Prefix(_) => false,
    });
    whole.fold(Permissions::NONE, |held, grant| held.and(grant.permissions))
}

/// True if these grants let whatever there is be seen.
pub(in crate::access) fn sees_everything<'a>(mut grants: impl Iterator<Item = Grant<'a>>) -> bool {
    grants.any(|grant| {
        grant.pattern == Pattern::Everything && grant.permissions.include(Permissions::VIEW)
    })
}
