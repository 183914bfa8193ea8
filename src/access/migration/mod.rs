//! Tokens that come from an older system with their values: its clients change nothing. And the accounts
//! that its owners become.

mod accounts;

use std::fmt;
use std::sync::Arc;

use super::account::Account;
use super::error::{Error, Result};
use super::keys;
use super::token::check::is_instance_id;
use super::token::scope::{Found, Scope};
use super::token::{Token, TokenOfDigest, TokenView, check_token_name};
use super::tokens::{Tokens, check_count};
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::base::limits::INSTANCE_ID_BYTES_MAX;
use crate::base::repo_id::RepoId;
use crate::base::secret::ServerKey;
use crate::repo::Execution;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::{Batch, Versioned};

/// A token as an older system has it.
#[derive(Clone, Debug)]
pub struct OldToken {
    /// SHA-256 of its 64 hexadecimal digits, as text.
    pub digest: Sha256,
    /// Its last six digits; empty where only the hash is known.
    pub suffix: String,
    /// The name by which its owner knows it.
    pub name: String,
    /// Repo ids, or `*` alone.
    pub repos: Vec<String>,
    /// From when on it does not count, `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When it was made, `None` where nobody knows.
    pub created_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// True to bind it to one instance.
    pub fingerprint_required: bool,
    /// The `X-Instance-Id` that it is bound to, and the key under which that is kept.
    pub instance: Option<(String, ServerKey)>,
}

impl OldToken {
    /// Gives a token the name and the terms of this one, for these projects; from then on it is known as it came.
    fn give_terms(&self, scope: &Scope, token: &mut Token) {
        token.name.clone_from(&self.name);
        token.scope = scope.clone();
        if token.expires_at != self.expires_at {
            token.found_expired = false;
        }
        token.expires_at = self.expires_at;
        token.fingerprint_required = self.fingerprint_required;
        token.fingerprint = self
            .instance
            .as_ref()
            .map(|(instance, key)| key.fingerprint(token.number, instance.as_bytes()));
        token.migrated_terms = Some(token.terms());
    }
}

/// What came of an old token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It was made.
    Made,
    /// It was there, and has the terms that it has there now.
    Changed,
    /// It was there as it is, or has not changed there since it came.
    Unchanged,
}

/// What came of a revocation in an older system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The token is not here, or was revoked before.
    Absent,
    /// It is revoked.
    Revoked,
    /// It stays: it belongs to another account here.
    OfAnother,
    /// It stays: it has another value here. With its id.
    Rotated(String),
    /// It stays: it was changed here since it came, or was made here. With its id.
    Changed(String),
}

/// What is only looked at, as if this had been brought already.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    /// The number of the account that is to own the project of this identifier, if it is to be made.
    pub owner: &'a dyn Fn(&RepoId) -> Option<u64>,
    /// How many tokens the account has by then.
    pub tokens: usize,
}

impl fmt::Debug for Planned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Planned({} tokens)", self.tokens)
    }
}

/// What there is of a token with a known digest.
#[derive(Clone, Debug)]
pub enum Trace {
    /// Nothing.
    Absent,
    /// It was brought, and revoked here.
    Revoked,
    /// It is there.
    Present {
        /// The number of its account.
        account: u64,
        /// What is shown of it.
        view: TokenView,
        /// True if this is its value; false if it has had another since.
        is_value: bool,
    },
}

impl Tokens {
    /// Brings a token of an older system, or what changed of it there since it came; its projects are known
    /// by what they are called there. With `planned` it changes nothing, and says what would come of it.
    /// The time of its last use comes in any case, where it is later than that which is known.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::Forbidden`] as [`Tokens::create`]; [`Error::Invalid`] too when it
    /// was changed or revoked here since it came, or belongs to another account. Nothing is changed then.
    pub fn bring(
        &self,
        account: &Account,
        old: &OldToken,
        actor: &Actor,
        planned: Option<Planned<'_>>,
    ) -> Result<Brought> {
        check_token_name(&old.name)?;
        let scope = Scope::parse_by(&old.repos, account, self.limits.token_repos_max, |id| {
            if let Some(project) = self.projects.project_from(id)? {
                return Ok(Some(Found::from(&project)));
            }
            let owner = planned.and_then(|planned| (planned.owner)(id));
            Ok(owner.map(|owner| Found {
                number: u64::MAX,
                owner,
                repo_id: id.clone(),
            }))
        })?;
        let bring = || match self.lead(old.digest)? {
            None => self.add_migrated(account, old, &scope, actor, planned),
            Some(lead) => self.update_migrated(account, old, &scope, &lead, actor, planned),
        };
        self.records.retry_on_conflict(bring)
    }

    /// Makes a token that is not here.
    fn add_migrated(
        &self,
        account: &Account,
        old: &OldToken,
        scope: &Scope,
        actor: &Actor,
        planned: Option<Planned<'_>>,
    ) -> Result<Brought> {
        if let Some(planned) = planned {
            check_count(planned.tokens, self.limits)?;
            return Ok(Brought::Made);
        }
        let mut token = Token {
            number: 0,
            account: account.number,
            name: String::new(),
            digest: old.digest,
            suffix: old.suffix.clone(),
            scope: scope.clone(),
            expires_at: None,
            found_expired: false,
            fingerprint_required: false,
            fingerprint: None,
            created_at: old.created_at.unwrap_or_else(|| self.clock.now()),
            last_used_at: old.last_used_at,
            migrated_terms: None,
            earlier: None,
        };
        self.add(account, &mut token, actor, |_, token| {
            old.give_terms(scope, token);
            Ok(())
        })?;
        Ok(Brought::Made)
    }

    /// Brings what changed of a token that came before.
    fn update_migrated(
        &self,
        account: &Account,
        old: &OldToken,
        scope: &Scope,
        lead: &TokenOfDigest,
        actor: &Actor,
        planned: Option<Planned<'_>>,
    ) -> Result<Brought> {
        let kept = self.led_to(lead)?;
        let kept = kept.ok_or_else(|| Error::invalid("it was revoked here"))?;
        if kept.value.account != account.number {
            return Err(Error::invalid("it belongs to another account here"));
        }
        let mut used = Token::clone(&kept.value);
        used.last_used_at = used.last_used_at.max(old.last_used_at);
        let mut token = used.clone();
        old.give_terms(scope, &mut token);
        let (wanted, held) = (token.terms(), kept.value.terms());
        let key = keys::token(account.number, token.number);
        if wanted == held || kept.value.migrated_terms == Some(wanted) {
            if planned.is_none() && used.last_used_at != kept.value.last_used_at {
                let mut batch = Batch::default();
                batch.write(key, kept.expect(), &used);
                self.records.commit(batch)?;
            }
            return Ok(Brought::Unchanged);
        }
        if kept.value.migrated_terms != Some(held) {
            return Err(Error::invalid(
                "it was changed there, and here too, since it came",
            ));
        }
        if planned.is_some() {
            return Ok(Brought::Changed);
        }
        let mut batch = Batch::with_reserve();
        batch.write(key, kept.expect(), &token);
        let changed = AuditRecord {
            detail: audit::detail("as the older system has it now".to_owned()),
            ..self.audit_record(account, &token, actor, Action::TokenChanged)
        };
        audit::add(&mut batch, &changed);
        self.records.commit(batch)?;
        Ok(Brought::Changed)
    }

    /// Revokes a token that an older system has revoked, if it is here as it came.
    pub fn end(
        &self,
        account: &Account,
        digest: Sha256,
        actor: &Actor,
        execution: Execution,
    ) -> Result<Ended> {
        self.records.retry_on_conflict(|| {
            let kept = match self.lead(digest)? {
                Some(lead) => self.led_to(&lead)?,
                None => None,
            };
            let Some(kept) = kept else {
                return Ok(Ended::Absent);
            };
            let token = &kept.value;
            if token.account != account.number {
                return Ok(Ended::OfAnother);
            }
            if token.digest != digest {
                return Ok(Ended::Rotated(token.number.to_string()));
            }
            if token.migrated_terms != Some(token.terms()) {
                return Ok(Ended::Changed(token.number.to_string()));
            }
            if execution == Execution::Apply {
                self.revoke_kept(account, &kept, actor)?;
            }
            Ok(Ended::Revoked)
        })
    }

    /// The tokens of an account that came from an older system.
    pub fn migrated_of(&self, account: &Account) -> Result<Vec<TokenView>> {
        let kept = self.kept_of(account)?;
        let migrated = kept
            .iter()
            .filter(|kept| kept.value.migrated_terms.is_some());
        Ok(migrated
            .map(|kept| self.view(account, &kept.value))
            .collect())
    }

    /// What there is of the token with this digest.
    pub fn trace(&self, digest: Sha256) -> Result<Trace> {
        let Some(lead) = self.lead(digest)? else {
            return Ok(Trace::Absent);
        };
        let Some(kept) = self.led_to(&lead)? else {
            return Ok(Trace::Revoked);
        };
        let Some(owner) = self.accounts.by_number(lead.account)? else {
            return Ok(Trace::Revoked);
        };
        let view = self.view(&owner, &kept.value);
        Ok(Trace::Present {
            account: lead.account,
            view,
            is_value: kept.value.digest == digest,
        })
    }

    /// True if the token with this digest is bound to this instance, or to none where none is given.
    pub fn is_bound_to(
        &self,
        digest: Sha256,
        instance: Option<(&str, &ServerKey)>,
    ) -> Result<bool> {
        let kept = match self.lead(digest)? {
            Some(lead) => self.led_to(&lead)?,
            None => None,
        };
        let bound = kept.as_ref().and_then(|kept| kept.value.fingerprint);
        Ok(match (kept, bound, instance) {
            (Some(kept), Some(bound), Some((instance, key))) => {
                bound.matches(&key.fingerprint(kept.value.number, instance.as_bytes()))
            }
            (Some(_), None, None) => true,
            _ => false,
        })
    }

    pub(super) fn lead(&self, digest: Sha256) -> Result<Option<Arc<TokenOfDigest>>> {
        let lead = self.records.get(&keys::token_digest(digest))?;
        Ok(lead.map(|lead| lead.value))
    }

    pub(super) fn led_to(&self, lead: &TokenOfDigest) -> Result<Option<Versioned<Token>>> {
        self.records.get(&keys::token(lead.account, lead.token))
    }
}

/// Checks what a client may send as its instance: 1 to [`INSTANCE_ID_BYTES_MAX`] visible ASCII bytes.
///
/// # Errors
/// [`Error::Invalid`].
pub fn check_instance(id: &str) -> Result<()> {
    if is_instance_id(id.as_bytes()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "malformed fingerprint: it must have 1 to {INSTANCE_ID_BYTES_MAX} visible ASCII characters"
    )))
}
