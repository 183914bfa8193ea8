//! A read token: its record, what its owner sees of it, and what may be changed.

pub(super) mod check;
pub(super) mod list;
pub(super) mod scope;
pub(super) mod shown;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::keys;
use crate::base::clock::Timestamp;
use crate::base::digest::sha256;
use crate::base::id::Sha256;
use crate::base::limits::TOKEN_NAME_BYTES_MAX;
use crate::base::name_error::{NameError, check_new};
use crate::base::secret::Fingerprint;
use crate::repo::Projects;
use crate::store::{Batch, Expect};
use scope::Scope;

/// What a new token is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewToken {
    /// The name by which its owner knows it.
    pub name: String,
    /// Repo ids, or `*` alone (contract section 6).
    pub repos: Vec<String>,
    /// From when on it does not count, `None` for never. A time that has passed is accepted.
    pub expires_at: Option<Timestamp>,
    /// True to bind it to the first instance that uses it.
    pub fingerprint_required: bool,
}

/// A change of a token; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenChange {
    /// Another name.
    pub name: Option<String>,
    /// Another scope.
    pub repos: Option<Vec<String>>,
    /// Projects that its allowlist is to name beside those that it does.
    pub added_repos: Vec<String>,
    /// Another expiry.
    pub expires_at: Option<Expiry>,
    /// Whether it is bound to an instance. `false` forgets the one it is bound to.
    pub fingerprint_required: Option<bool>,
    /// True to forget the instance it is bound to: the next one to use it is bound.
    pub reset_fingerprint: bool,
}

impl TokenChange {
    /// What it is about, by the names of the Admin API.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let given = [
            (self.name.is_some(), "name"),
            (
                self.repos.is_some() || !self.added_repos.is_empty(),
                "repos",
            ),
            (self.expires_at.is_some(), "expires_at"),
            (self.fingerprint_required.is_some(), "fingerprint_required"),
            (self.reset_fingerprint, "reset_fingerprint"),
        ];
        let given = given.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, field)| field).collect()
    }
}

/// Until when a token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// For ever.
    Never,
    /// Before this time.
    At(Timestamp),
}

/// Whether a token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It does.
    Active,
    /// Its time has passed.
    Expired,
}

impl fmt::Display for TokenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Active => "active",
            Self::Expired => "expired",
        })
    }
}

/// What is shown of a token (contract section 6): everything but the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenView {
    /// `tokenId`: a decimal number.
    pub id: String,
    /// The name.
    pub name: String,
    /// The owner's name.
    pub owner: String,
    /// The scope: repo ids, or `*` alone.
    pub repos: Vec<String>,
    /// From when on it does not count, `None` for never.
    pub expires_at: Option<Timestamp>,
    /// True if it is bound to an instance, or will be by its first use.
    pub fingerprint_required: bool,
    /// True if it is bound already.
    pub fingerprint_bound: bool,
    /// The token's last six digits.
    pub suffix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, up to ten minutes behind; `None` for never.
    pub last_used_at: Option<Timestamp>,
    /// Until when the value before the last rotation counts, too; `None` where it does not.
    pub earlier_until: Option<Timestamp>,
    /// Whether it counts.
    pub state: TokenState,
}

/// A token, as its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) number: u64,
    pub(super) account: u64,
    pub(super) name: String,
    pub(super) digest: Sha256,
    pub(super) suffix: String,
    pub(super) scope: Scope,
    pub(super) expires_at: Option<Timestamp>,
    /// Set when a use found it expired, so that a clock set back does not revive it.
    pub(super) found_expired: bool,
    pub(super) fingerprint_required: bool,
    /// The keyed digest of the instance it is bound to.
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Option<Timestamp>,
    /// For a token that came from an older system: [`Token::terms`] as they were when it last came.
    #[serde(rename = "moved")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) migrated_terms: Option<Sha256>,
    /// The value before this one, where it counts for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) earlier: Option<EarlierValue>,
}

/// A value that a token had.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct EarlierValue {
    pub(super) digest: Sha256,
    /// From then on it does not count.
    pub(super) until: Timestamp,
}

/// Where the digest of a token's secret leads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TokenOfDigest {
    pub(super) account: u64,
    pub(super) token: u64,
}

impl Token {
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.found_expired || self.expires_at.is_some_and(|at| at <= now)
    }

    /// A digest of what its owner, or its first use, can change.
    pub(super) fn terms(&self) -> Sha256 {
        let terms = (
            &self.name,
            &self.scope,
            self.expires_at,
            self.fingerprint_required,
            &self.fingerprint,
        );
        sha256(&serde_json::to_vec(&terms).expect("string keys, no failing types"))
    }

    /// True if this is its value, or the one before and its time has not passed.
    pub(super) fn is_value(&self, digest: Sha256, now: Timestamp) -> bool {
        let is_earlier = |earlier: &EarlierValue| earlier.digest == digest && now < earlier.until;
        self.digest == digest || self.earlier.as_ref().is_some_and(is_earlier)
    }

    /// The digests of its value, and of the one before.
    pub(super) fn values(&self) -> impl Iterator<Item = Sha256> + use<> {
        let earlier = self.earlier.map(|earlier| earlier.digest);
        [Some(self.digest), earlier].into_iter().flatten()
    }

    /// Has a batch forget values of it. Those of one that came from an older system stay, and lead nowhere once it is
    /// gone: what was revoked here must not come again.
    pub(super) fn forget_values(&self, ended: impl Iterator<Item = Sha256>, batch: &mut Batch) {
        for digest in ended.filter(|_| self.migrated_terms.is_none()) {
            batch.delete(keys::token_digest(digest), Expect::Anything);
        }
    }

    /// What the audit log knows it by.
    pub(super) fn shown(&self) -> (u64, String) {
        (self.number, self.suffix.clone())
    }

    /// What this owner sees of it now.
    pub(super) fn view(&self, owner: &Account, projects: &Projects, now: Timestamp) -> TokenView {
        self.view_with(owner, self.scope.to_repos(owner, projects), now)
    }

    /// The same with these `repos`.
    pub(super) fn view_with(
        &self,
        owner: &Account,
        repos: Vec<String>,
        now: Timestamp,
    ) -> TokenView {
        TokenView {
            id: self.number.to_string(),
            name: self.name.clone(),
            owner: owner.name.clone(),
            repos,
            expires_at: self.expires_at,
            fingerprint_required: self.fingerprint_required,
            fingerprint_bound: self.fingerprint.is_some(),
            suffix: self.suffix.clone(),
            created_at: self.created_at,
            last_used_at: self.last_used_at,
            earlier_until: self
                .earlier
                .map(|earlier| earlier.until)
                .filter(|until| now < *until),
            state: if self.has_expired(now) {
                TokenState::Expired
            } else {
                TokenState::Active
            },
        }
    }

    /// Changes what the owner wants changed, but for projects that are added, with the scope read already.
    pub(super) fn apply(&mut self, change: &TokenChange, scope: Option<&Scope>) {
        if let Some(name) = &change.name {
            self.name.clone_from(name);
        }
        if let Some(scope) = scope {
            self.scope = scope.clone();
        }
        if let Some(expiry) = change.expires_at {
            self.expires_at = match expiry {
                Expiry::Never => None,
                Expiry::At(at) => Some(at),
            };
            self.found_expired = false;
        }
        if let Some(required) = change.fingerprint_required {
            self.fingerprint_required = required;
        }
        if change.reset_fingerprint || !self.fingerprint_required {
            self.fingerprint = None;
        }
    }
}

/// Checks the name that a token is to have from now on: as [`check_token_name`], and all of it is seen.
pub(super) fn check_new_token_name(name: &str) -> Result<(), NameError> {
    check_token_name(name)?;
    check_new("name", name)
}

/// Checks a token's name: 1 to [`TOKEN_NAME_BYTES_MAX`] bytes, not blank, and without control
/// characters, because it is shown on terminals.
pub fn check_token_name(name: &str) -> Result<(), NameError> {
    let fine = !name.trim().is_empty()
        && name.len() <= TOKEN_NAME_BYTES_MAX
        && !name.chars().any(char::is_control);
    if fine {
        return Ok(());
    }
    Err(NameError {
        what: "name",
        reason: "it must have 1 to 255 bytes, no control characters, and not be blank",
    })
}
