//! A token as it is listed.

use serde::Serialize;

use crate::access::{Account, TokenState, TokenView};
use crate::base::clock::Timestamp;
use crate::cli::output::Listed;

/// The state of a token that would open something if its owner's account were enabled.
const OWNER_DISABLED: &str = "owner disabled";

/// A token as it is listed, with the names of the Admin API.
#[derive(Serialize)]
#[expect(non_snake_case, reason = "the specification's name")]
pub(super) struct Row {
    tokenId: String,
    name: String,
    owner: String,
    repos: Vec<String>,
    expires_at: Option<String>,
    fingerprint_required: bool,
    fingerprint_bound: bool,
    suffix: String,
    created_at: String,
    last_used_at: Option<String>,
    /// Until when the value before the last rotation counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_until: Option<String>,
    /// As the Admin API has it, or [`OWNER_DISABLED`], which that does not tell.
    state: String,
}

impl Row {
    /// A token of this account.
    pub(super) fn new(token: TokenView, owner: &Account) -> Self {
        let text = |at: Timestamp| at.to_string();
        let state = match token.state {
            TokenState::Active if !owner.is_enabled() => OWNER_DISABLED.to_owned(),
            state => state.to_string(),
        };
        Self {
            tokenId: token.id,
            name: token.name,
            owner: token.owner,
            repos: token.repos,
            expires_at: token.expires_at.map(text),
            fingerprint_required: token.fingerprint_required,
            fingerprint_bound: token.fingerprint_bound,
            suffix: token.suffix,
            created_at: text(token.created_at),
            last_used_at: token.last_used_at.map(text),
            earlier_until: token.earlier_until.map(text),
            state,
        }
    }
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "OWNER",
        "NAME",
        "ENDS IN",
        "STATE",
        "EXPIRES",
        "LAST USED",
        "INSTANCE",
        "OLD VALUE UNTIL",
        "REPOS",
    ];

    fn cells(&self) -> Vec<String> {
        let instance = match (self.fingerprint_required, self.fingerprint_bound) {
            (false, _) => "any",
            (true, false) => "the first",
            (true, true) => "bound",
        };
        vec![
            self.tokenId.clone(),
            self.owner.clone(),
            self.name.clone(),
            self.suffix.clone(),
            self.state.clone(),
            self.expires_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            self.last_used_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            instance.to_owned(),
            self.earlier_until.clone().unwrap_or_default(),
            self.repos.join(" "),
        ]
    }
}
