//! Why a caller is refused, by what the caller can do about it.

use crate::base::name_error::NameError;
use crate::repo;
use crate::store::StoreError;

/// The text of a 401 for a token or a session that does not count.
pub const UNAUTHORIZED: &str = "401 Unauthorized";
/// The text of a refused login: one for an unknown name, a wrong password and a disabled account.
pub const WRONG_LOGIN: &str = "Invalid username or password";

/// A refusal or a failure of this layer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credential is missing, unknown, expired, or its account is disabled. Log in, or take
    /// another token.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The token is bound to another instance, or no instance was named (specification section 5.2).
    #[error("FINGERPRINT_MISMATCH")]
    FingerprintMismatch,
    /// The caller is known and has not the right.
    #[error("403 Forbidden")]
    Forbidden,
    /// There is no such project.
    #[error("404 Project Not Found")]
    NotFound,
    /// The account has no such token.
    #[error("404 Token Not Found")]
    NoSuchToken,
    /// There is no such account; only the command line names one.
    #[error("there is no user \"{name}\"")]
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
    Repo(#[from] repo::Error),
    /// This layer's own records could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// A value that breaks its rule.
    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
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
