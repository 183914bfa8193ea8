//! Tokens as they are shown, by the API and by the command line.

use serde::Serialize;

use super::TokenView;

/// A token as JSON (contract section 6): everything but the token.
#[derive(Clone, Debug, Serialize)]
pub struct ShownToken {
    /// Its id: a decimal number.
    #[serde(rename = "tokenId")]
    pub token_id: String,
    /// The name.
    pub name: String,
    /// The owner's name.
    pub owner: String,
    /// The scope: repo ids, or `*` alone.
    pub repos: Vec<String>,
    /// From when on it does not count, as RFC 3339; `None` for never.
    pub expires_at: Option<String>,
    /// True if it is bound to an instance, or will be by its first use.
    pub fingerprint_required: bool,
    /// True if it is bound already.
    pub fingerprint_bound: bool,
    /// The token's last six digits.
    pub suffix: String,
    /// When it was made.
    pub created_at: String,
    /// When it was last used, `None` for never.
    pub last_used_at: Option<String>,
    /// Until when the value before the last rotation counts, too; `None` where it does not.
    pub earlier_until: Option<String>,
    /// Whether it counts.
    pub state: String,
}

impl From<TokenView> for ShownToken {
    fn from(token: TokenView) -> Self {
        Self {
            token_id: token.id,
            name: token.name,
            owner: token.owner,
            repos: token.repos,
            expires_at: token.expires_at.map(|at| at.to_string()),
            fingerprint_required: token.fingerprint_required,
            fingerprint_bound: token.fingerprint_bound,
            suffix: token.suffix,
            created_at: token.created_at.to_string(),
            last_used_at: token.last_used_at.map(|at| at.to_string()),
            earlier_until: token.earlier_until.map(|at| at.to_string()),
            state: token.state.to_string(),
        }
    }
}
