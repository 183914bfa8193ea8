//! Who may do what: accounts, sessions, read tokens, roles, and the [`Gate`] before every project.
//!
//! A credential becomes a [`Caller`] or a [`TokenHolder`], and one of those with a wish becomes an
//! opened project, or a refusal. There is no other way to a project for the layer above, so it cannot
//! forget to ask. This layer knows nothing of HTTP: not where a credential stands in a request, not
//! which status a refusal has.
//!
//! Every right comes from [`decide`], a pure function over [`Grant`]s.

mod account;
mod accounts;
mod error;
mod gate;
mod gate_tokens;
mod keys;
mod password;
mod records;
mod rights;
mod session_records;
mod sessions;
mod token;
mod token_check;
mod token_scope;
mod tokens;

#[cfg(test)]
mod tests;

pub use account::Account;
pub use accounts::Accounts;
pub use error::{Error, Result, UNAUTHORIZED, WRONG_LOGIN};
pub use gate::{Caller, Gate, Uploads};
pub use rights::grant::{Grant, Pattern, decide};
pub use rights::permission::{Permissions, Right};
pub use rights::role::{Role, RoleError, grants};
pub use rights::virtual_path::{Folder, VirtualPath};
pub use sessions::SessionLifetimes;
pub use token::{Expiry, NewToken, TokenChange, TokenState, TokenView};
pub use token_check::TokenHolder;
pub use token_scope::ProjectSelector;
pub use tokens::Tokens;
