//! What an account may do beside its projects, as clients are told it.

use serde::Serialize;

use super::grant::{Grant, Pattern};
use super::permission::Permissions;
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
    /// Of the account of this number with these grants.
    pub(in crate::access) fn new(account: u64, is_root: bool, grants: &[Grant]) -> Self {
        let may = |folder, needed| held(grants, folder).include(needed);
        let sees_everything = sees_everything(grants);
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
fn held(grants: &[Grant], folder: Folder) -> Permissions {
    let whole = grants.iter().filter(|grant| match grant.pattern {
        Pattern::Everything => true,
        Pattern::Public => folder == Folder::Public,
        Pattern::UserFolder(owner) => folder == Folder::User(owner),
        Pattern::Prefix(_) => false,
    });
    whole.fold(Permissions::NONE, |held, grant| held.and(grant.permissions))
}

/// True if these grants let whatever there is be seen.
pub(in crate::access) fn sees_everything(grants: &[Grant]) -> bool {
    let mut everywhere = grants
        .iter()
        .filter(|grant| grant.pattern == Pattern::Everything);
    everywhere.any(|grant| grant.permissions.include(Permissions::VIEW))
}
