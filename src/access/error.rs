//! Why a caller is refused, by what the caller can do about it.

use super::rights::role::Role;
use crate::base::name_error::{NameError, shortened};
use crate::repo;
use crate::store::StoreError;

/// What the operator may know of a refusal, and its caller need not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the account that was refused, where it is known.
    pub account: Option<String>,
    /// The token that was shown, where it is known: its number and the end of its secret.
    pub token: Option<(u64, String)>,
    /// Why, in a few words.
    pub reason: &'static str,
}

impl Refusal {
    /// A refusal of whoever it was.
    pub fn new(reason: &'static str) -> Self {
        Self {
            reason,
            ..Self::default()
        }
    }

    /// A refusal of the account of this name.
    pub fn of(account: &str, reason: &'static str) -> Self {
        Self {
            account: Some(account.to_owned()),
            ..Self::new(reason)
        }
    }
}

/// A refusal or a failure of this layer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credential is missing, unknown, expired, or its account is disabled. Log in, or take
    /// another token.
    #[error("no valid credential was shown")]
    Unauthenticated(Refusal),
    /// The name is unknown, the password wrong, or the account disabled: which, the text does not say.
    #[error("Invalid username or password")]
    WrongLogin(Refusal),
    /// The token is bound to another instance, or no instance was named (specification section 5.2).
    #[error("the token is not bound to this instance")]
    FingerprintMismatch(Refusal),
    /// The caller is known and has not the right.
    #[error("no right allows this")]
    Forbidden(Refusal),
    /// There is no such project.
    #[error("there is no such project")]
    NoSuchProject,
    /// The account has no such token.
    #[error("the account has no such token")]
    NoSuchToken,
    /// The account has no such session.
    #[error("the account has no such session")]
    NoSuchSession,
    /// The old password that a new one was to replace is another.
    #[error("the old password is wrong")]
    WrongPassword(Refusal),
    /// Nobody would be left who may do everything.
    #[error(
        "\"{name}\" is the last account with the role {}; give it to another first",
        Role::Root
    )]
    LastRoot {
        /// The account.
        name: String,
    },
    /// What the account owns would have no owner.
    #[error(
        "\"{name}\" owns {} ({}); give each to another account first, or delete it",
        counted(projects.len(), if *deleted { "deleted project" } else { "project" }),
        projects[0]
    )]
    OwnsProjects {
        /// The account.
        name: String,
        /// Their identifiers, one at least.
        projects: Vec<String>,
        /// True where they are deleted and can be restored.
        deleted: bool,
    },
    /// There is no such account.
    #[error("there is no user \"{}\"", shortened(name))]
    NoSuchAccount {
        /// The name asked for.
        name: String,
    },
    /// A value breaks its rule. The text names the field and is safe to show.
    #[error("{reason}")]
    Invalid {
        /// The field, its rule, and what to do.
        reason: String,
    },
    /// The layer of projects refused or failed.
    #[error(transparent)]
    Repo(repo::Error),
    /// This layer's own records could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// The same where it came when a change had been made already, as [`StoreError::after_change`] says.
    #[must_use]
    pub fn after_change(self) -> Self {
        match self {
            Self::Repo(error) => Self::Repo(error.after_change()),
            Self::Store(error) => Self::Store(error.after_change().unwrap_or(error)),
            Self::NoSuchAccount { .. } => Self::Store(StoreError::Made),
            other => other,
        }
    }

    /// The record of this layer that was not as the commit expected, if that is the error.
    pub(super) fn conflict(&self) -> Option<&str> {
        match self {
            Self::Store(error) => error.conflict(),
            _ => None,
        }
    }

    /// Who was refused and why, where somebody was for want of a credential or a right.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Unauthenticated(refusal)
            | Self::WrongLogin(refusal)
            | Self::WrongPassword(refusal)
            | Self::FingerprintMismatch(refusal)
            | Self::Forbidden(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The account of this name is logged in, and has no role for what it asks.
    pub(super) fn no_role(account: &str) -> Self {
        Self::Forbidden(Refusal::of(account, "no role allows it"))
    }

    /// The session of the account of this name has ended.
    pub(super) fn ended_session(account: &str) -> Self {
        Self::Unauthenticated(Refusal::of(account, "ended session"))
    }

    /// A value that breaks its rule.
    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }
}

/// `3 projects`.
fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

impl From<repo::Error> for Error {
    fn from(error: repo::Error) -> Self {
        match error {
            repo::Error::Forbidden { actor } => Self::no_role(&actor),
            repo::Error::LoggedOut { actor } => Self::ended_session(&actor),
            other => Self::Repo(other),
        }
    }
}

impl From<NameError> for Error {
    fn from(refused: NameError) -> Self {
        Self::invalid(refused.to_string())
    }
}

/// A result of this layer.
pub type Result<T> = std::result::Result<T, Error>;
