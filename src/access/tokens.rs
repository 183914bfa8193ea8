//! The tokens of an account: made, listed, changed, revoked by their owner.

use std::sync::Arc;

use super::account::Account;
use super::account_limits::AccountLimits;
use super::accounts::Accounts;
use super::error::{Error, Result};
use super::keys;
use super::maker::{Maker, May};
use super::records::Records;
use super::token::scope::Scope;
use super::token::{
    EarlierValue, NewToken, Token, TokenChange, TokenOfDigest, TokenView, check_new_token_name,
};
use crate::base::actor::Actor;
use crate::base::id::Sha256;
use crate::base::secret::Secret;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::repo::{Projects, SteadyClock};
use crate::store::Versioned;
use crate::store::background_writes::BackgroundWrites;
use crate::store::{Batch, Expect};

/// All read tokens of the service. Each change is durable when its function returns, and counts from
/// the next request on; for a daemon beside this process as soon as its store has noticed.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub(super) records: Records,
    pub(super) accounts: Accounts,
    pub(super) clock: Arc<SteadyClock>,
    pub(super) background: Arc<BackgroundWrites>,
    pub(super) projects: Projects,
    pub(super) limits: AccountLimits,
}

impl Tokens {
    /// The tokens for these projects, within the limits that hold where nobody says otherwise.
    pub fn new(projects: &Projects) -> Self {
        Self {
            records: Records::new(projects),
            accounts: Accounts::new(projects),
            clock: Arc::clone(projects.steady_clock()),
            background: Arc::clone(projects.background()),
            projects: projects.clone(),
            limits: AccountLimits::default(),
        }
    }

    /// The same, with changes that this session makes, and only while it has not ended and its account still `may`.
    ///
    /// # Errors
    /// Those changes then also end in [`Error::Unauthenticated`] and [`Error::Forbidden`].
    #[must_use]
    pub(super) fn made_by(self, maker: Maker, may: May) -> Self {
        Self {
            records: self.records.made_by(maker, may),
            ..self
        }
    }

    /// Makes a token for an account. The secret cannot be had again.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::Forbidden`] as contract section 6 says of `POST /tokens`;
    /// [`Error::Invalid`] when the account has [`AccountLimits::tokens_max`] tokens.
    pub fn create(
        &self,
        account: &Account,
        new: NewToken,
        actor: &Actor,
    ) -> Result<(Secret, TokenView)> {
        let secret = Secret::generate();
        let made = self.create_with(account, new, &secret, actor)?;
        Ok((secret, made))
    }

    /// Makes a token with a value that its owner has already.
    ///
    /// # Errors
    /// As [`Tokens::create`]; [`Error::Invalid`] when a token has that value, or had it when it came from an
    /// older system.
    pub fn create_with(
        &self,
        account: &Account,
        new: NewToken,
        secret: &Secret,
        actor: &Actor,
    ) -> Result<TokenView> {
        check_new_token_name(&new.name)?;
        let mut token = Token {
            number: 0,
            account: account.number,
            name: new.name,
            digest: secret.digest(),
            suffix: secret.suffix().to_owned(),
            scope: Scope::Allowlist(Vec::new()),
            expires_at: new.expires_at,
            found_expired: false,
            fingerprint_required: new.fingerprint_required,
            fingerprint: None,
            created_at: self.clock.now(),
            last_used_at: None,
            migrated_terms: None,
            earlier: None,
        };
        let owner = self.add(account, &mut token, actor, |owner, token| {
            // Each time: another may have been made with it meanwhile.
            self.require_new(token.digest)?;
            token.scope = self.scope(&new.repos, owner)?;
            Ok(())
        })?;
        Ok(self.view(&owner, &token))
    }

    /// # Errors
    /// [`Error::Invalid`] when a token has the value with this digest, or had it when it came from an older system.
    fn require_new(&self, value: Sha256) -> Result<()> {
        let Some(lead) = self.lead(value)? else {
            return Ok(());
        };
        Err(Error::invalid(match self.led_to(&lead)? {
            Some(_) => "there is a token with this value already",
            None => {
                "a token with this value came from an older system and was revoked here: it needs \
                 another value"
            }
        }))
    }

    /// Gives a token a number, has `complete` add what depends on it and on its owner, and writes the token. Gives
    /// the owner as it was then.
    pub(super) fn add(
        &self,
        account: &Account,
        token: &mut Token,
        actor: &Actor,
        complete: impl Fn(&Account, &mut Token) -> Result<()>,
    ) -> Result<Arc<Account>> {
        self.records.retry_on_conflict(|| {
            let mut batch = Batch::default();
            let owner = self.hold(account, &mut batch)?;
            let account = &*owner;
            // Read before the tokens are counted: a token made meanwhile moves it, and the commit
            // is refused.
            token.number = self.records.next_number(keys::TOKEN_COUNTER, &mut batch)?;
            complete(account, token)?;
            let count = self.records.count(&keys::tokens(account.number))?;
            check_count(count, self.limits)?;
            let key = keys::token(account.number, token.number);
            batch.write(key, Expect::Absent, token);
            let of_digest = TokenOfDigest {
                account: account.number,
                token: token.number,
            };
            batch.write(keys::token_digest(token.digest), Expect::Absent, &of_digest);
            let covers = format!(
                "\"{}\" for {}",
                token.name,
                token.scope.to_repos(account, &self.projects).join(", ")
            );
            let record = self.audit_record(account, token, actor, Action::TokenCreated);
            let made = AuditRecord {
                detail: audit::detail(covers),
                ..record
            };
            audit::add(&mut batch, &made);
            self.records.commit(batch)?;
            Ok(owner)
        })
    }

    /// The account as it is now; has a batch committed only while it is so, by which it is judged what its token may
    /// cover.
    ///
    /// # Errors
    /// Those of [`Records::hold`]; [`Error::NoSuchAccount`].
    fn hold(&self, account: &Account, batch: &mut Batch) -> Result<Arc<Account>> {
        self.records.hold(batch)?;
        let kept = self.accounts.kept(account.number)?;
        let kept = kept.ok_or_else(|| Error::NoSuchAccount {
            name: account.name.clone(),
        })?;
        batch.expect((keys::account(account.number), kept.expect()));
        Ok(kept.value)
    }

    /// The account that has the token of this id.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`].
    pub fn owner_of(&self, id: &str) -> Result<Arc<Account>> {
        let number = number_of(id).ok_or(Error::NoSuchToken)?;
        if number > self.made()? {
            return Err(Error::NoSuchToken);
        }
        // By the keys alone: to ask for each account's token of this number would leave in memory that each is not
        // there, in place of the tokens that clients show.
        let found = self
            .records
            .find_key(keys::TOKENS, |record| record.number() == number)?;
        let owner = found.and_then(|record| keys::owner_of_token(&record.key));
        let owner = owner.map(|owner| self.accounts.by_number(owner));
        owner.transpose()?.flatten().ok_or(Error::NoSuchToken)
    }

    /// How many tokens were made, which is the number of the last.
    pub(super) fn made(&self) -> Result<u64> {
        let last = self.records.get::<u64>(keys::TOKEN_COUNTER)?;
        Ok(last.map_or(0, |last| *last.value))
    }

    /// A token of an account.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`].
    pub fn by_id(&self, account: &Account, id: &str) -> Result<TokenView> {
        self.background.flush(&keys::tokens(account.number));
        let kept = self.kept(account, id)?.ok_or(Error::NoSuchToken)?;
        Ok(self.view(account, &kept.value))
    }

    /// Changes a token of an account.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`]; [`Error::Invalid`] and [`Error::Forbidden`] as for a new one, and
    /// [`Error::Invalid`] for projects beside a wildcard. Nothing is changed then.
    pub fn change(
        &self,
        account: &Account,
        id: &str,
        change: &TokenChange,
        actor: &Actor,
    ) -> Result<TokenView> {
        self.records.retry_on_conflict(|| {
            let kept = self.kept(account, id)?.ok_or(Error::NoSuchToken)?;
            let mut batch = Batch::with_reserve();
            let account = &*self.hold(account, &mut batch)?;
            let mut token = Token::clone(&kept.value);
            if let Some(name) = change.name.as_ref().filter(|name| **name != token.name) {
                check_new_token_name(name)?;
            }
            let (most, projects) = (self.limits.token_repos_max, &self.projects);
            let repos = change.repos.as_deref();
            let scope = repos.map(|repos| token.scope.parse_again(repos, account, projects, most));
            token.apply(change, scope.transpose()?.as_ref());
            if !change.added_repos.is_empty() {
                let added = self.scope(&change.added_repos, account)?;
                token.scope.extend(&added, most)?;
            }
            let key = keys::token(account.number, token.number);
            batch.write(key, kept.expect(), &token);
            let changed = AuditRecord {
                detail: audit::detail(change.fields().join(", ")),
                ..self.audit_record(account, &token, actor, Action::TokenChanged)
            };
            audit::add(&mut batch, &changed);
            self.records.commit_and_settle(batch)?;
            Ok(self.view(account, &token))
        })
    }

    /// Gives a token another value; its id, its rights and the instance it is bound to stay. The value
    /// that it has counts for `grace_s` seconds more, one from before that no longer.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`].
    pub fn rotate(
        &self,
        account: &Account,
        id: &str,
        grace_s: u64,
        actor: &Actor,
    ) -> Result<(Secret, TokenView)> {
        let secret = Secret::generate();
        let token = self.records.retry_on_conflict(|| {
            let kept = self.kept(account, id)?.ok_or(Error::NoSuchToken)?;
            let old = &kept.value;
            let until = self.clock.now().plus_s(grace_s);
            let earlier = EarlierValue {
                digest: old.digest,
                until,
            };
            let token = Token {
                digest: secret.digest(),
                suffix: secret.suffix().to_owned(),
                earlier: (grace_s > 0).then_some(earlier),
                ..Token::clone(old)
            };
            let mut batch = Batch::with_reserve();
            let ended = [
                old.earlier.map(|earlier| earlier.digest),
                (grace_s == 0).then_some(old.digest),
            ];
            old.forget_values(ended.into_iter().flatten(), &mut batch);
            let lead = TokenOfDigest {
                account: account.number,
                token: token.number,
            };
            batch.write(keys::token_digest(token.digest), Expect::Absent, &lead);
            let key = keys::token(account.number, token.number);
            batch.write(key, kept.expect(), &token);
            let detail = match token.earlier {
                Some(_) => format!("…{} counts until {until}", old.suffix),
                None => format!("…{} counts no more", old.suffix),
            };
            let rotated = AuditRecord {
                detail: audit::detail(detail),
                ..self.audit_record(account, &token, actor, Action::TokenRotated)
            };
            audit::add(&mut batch, &rotated);
            self.records.commit_and_settle(batch)?;
            Ok(token)
        })?;
        Ok((secret, self.view(account, &token)))
    }

    /// Revokes a token of an account: it is deleted, and counts no more when this returns.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`].
    pub fn revoke(&self, account: &Account, id: &str, actor: &Actor) -> Result<()> {
        self.records.retry_on_conflict(|| {
            let kept = self.kept(account, id)?.ok_or(Error::NoSuchToken)?;
            self.revoke_kept(account, &kept, actor)
        })
    }

    /// Revokes a token as it was read.
    pub(super) fn revoke_kept(
        &self,
        account: &Account,
        kept: &Versioned<Token>,
        actor: &Actor,
    ) -> Result<()> {
        let mut batch = Batch::with_reserve();
        let key = keys::token(account.number, kept.value.number);
        batch.delete(key, kept.expect());
        kept.value.forget_values(kept.value.values(), &mut batch);
        let revoked = self.audit_record(account, &kept.value, actor, Action::TokenRevoked);
        audit::add(&mut batch, &revoked);
        self.records.commit_and_settle(batch)
    }

    /// The audit record of what is done to a token of this account.
    pub(super) fn audit_record(
        &self,
        account: &Account,
        token: &Token,
        actor: &Actor,
        action: Action,
    ) -> AuditRecord {
        AuditRecord {
            account: Some(account.name.clone()),
            token: Some(token.shown()),
            ..self.records.audit_record(actor, action)
        }
    }

    fn scope(&self, repos: &[String], account: &Account) -> Result<Scope> {
        Scope::parse(repos, account, &self.projects, self.limits.token_repos_max)
    }

    pub(super) fn view(&self, account: &Account, token: &Token) -> TokenView {
        token.view(account, &self.projects, self.clock.now())
    }

    pub(super) fn kept_of(&self, account: &Account) -> Result<Vec<Versioned<Token>>> {
        self.records.under(&keys::tokens(account.number))
    }

    /// A token of an account by its id.
    fn kept(&self, account: &Account, id: &str) -> Result<Option<Versioned<Token>>> {
        let Some(number) = number_of(id) else {
            return Ok(None);
        };
        self.records.get(&keys::token(account.number, number))
    }
}

/// The number of a token by its id: a decimal number in its one spelling.
fn number_of(id: &str) -> Option<u64> {
    let number = id.parse::<u64>().ok();
    number.filter(|number| number.to_string() == id)
}

/// Refuses one token more than an account may have.
pub(super) fn check_count(tokens: usize, limits: AccountLimits) -> Result<()> {
    if tokens as u64 >= limits.tokens_max {
        return Err(Error::invalid(format!(
            "you have {tokens} tokens, the most allowed: revoke one first"
        )));
    }
    Ok(())
}
