//! Who may do what: accounts, sessions, read tokens, roles, and the [`Gate`] before every project.
//!
//! A credential becomes a [`Caller`] or a [`TokenHolder`], and with one of those the gate opens a
//! project or refuses. There is no other way to a project for the layer above, so no check can be
//! forgotten. HTTP is not known here: neither where a credential stands in a request nor which status
//! a refusal has.
//!
//! Every right comes from [`decide`], a pure function over [`Grant`]s.

mod account;
mod account_limits;
mod accounts;
mod audit;
mod census;
mod check;
mod error;
mod gate;
mod keys;
mod maker;
mod migration;
mod owners;
mod password;
mod records;
mod rights;
mod session_records;
mod sessions;
mod shown_account;
mod token;
mod tokens;

pub use crate::store::{LargeBodies, Writes};
pub use account::Account;
pub use account_limits::AccountLimits;
pub use accounts::Accounts;
pub use audit::{Refused, UNKNOWN_ACCOUNT};
pub use census::Census;
pub use check::decode_record;
pub use error::{Error, Refusal, Result};
pub use gate::{Caller, FirstPassword, Gate, Restored, SessionView, Uploads};
pub use migration::{Brought, Ended, OldToken, Planned, Trace, check_instance};
pub use owners::projects;
pub use password::random_password;
pub use rights::grant::{Grant, Pattern, decide};
pub use rights::permission::{Permissions, Right};
pub use rights::project_rights::{ProjectRights, Rights};
pub use rights::role::{Role, RoleError, grants};
pub use rights::service_rights::ServiceRights;
pub use rights::virtual_path::{Folder, VirtualPath};
pub use sessions::{SessionLifetimes, Visit};
pub use shown_account::ShownAccount;
pub use token::check::TokenHolder;
pub use token::list::{ListedToken, TokensOfAll};
pub use token::scope::ProjectSelector;
pub use token::shown::ShownToken;
pub use token::{Expiry, NewToken, TokenChange, TokenState, TokenView, check_token_name};
pub use tokens::Tokens;
