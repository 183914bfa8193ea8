//! Accounts as they are shown, by the API and by the command line.

use serde::Serialize;

use super::account::Account;
use super::rights::role::Role;

/// An account as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ShownAccount {
    /// The name to log in with.
    pub name: String,
    /// The roles, in the order in which they were given.
    pub roles: Vec<Role>,
    /// False when neither a login nor a token of it counts.
    pub enabled: bool,
    /// When it was made, as RFC 3339.
    pub created_at: String,
}

impl From<&Account> for ShownAccount {
    fn from(account: &Account) -> Self {
        Self {
            name: account.name.clone(),
            roles: account.roles.clone(),
            enabled: account.enabled,
            created_at: account.created_at.to_string(),
        }
    }
}
