//! What one account may have.

use crate::base::limits::{SESSIONS_PER_ACCOUNT_MAX, TOKEN_REPOS_MAX, TOKENS_PER_ACCOUNT_MAX};

/// What one account may have. What it has already stays when the operator allows less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountLimits {
    /// Most tokens.
    pub tokens_max: u64,
    /// Most projects in a token's allowlist.
    pub token_repos_max: u64,
    /// Most sessions, at least one; the oldest give way.
    pub sessions_max: u64,
}

impl Default for AccountLimits {
    fn default() -> Self {
        Self {
            tokens_max: TOKENS_PER_ACCOUNT_MAX,
            token_repos_max: TOKEN_REPOS_MAX,
            sessions_max: SESSIONS_PER_ACCOUNT_MAX,
        }
    }
}
