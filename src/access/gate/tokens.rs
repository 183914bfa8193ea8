//! The gate's side for tokens: who holds one, and a caller's own.

use std::net::IpAddr;

use super::{Caller, Gate};
use crate::access::account::Account;
use crate::access::error::{Error, Refusal, Result};
use crate::access::token::check::TokenHolder;
use crate::access::token::list::{ListedToken, TokensOfAll};
use crate::access::token::scope::{ProjectSelector, find};
use crate::access::token::{NewToken, TokenChange, TokenView};
use crate::access::tokens::Tokens;
use crate::base::name_error::shortened;
use crate::base::repo_id::RepoId;
use crate::base::secret::Secret;
use crate::repo::Project;

impl Gate {
    /// Who holds this token; `instance_id` is the value of `X-Instance-Id`, when one was sent, and `from`
    /// the address that the request came from.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] when it is unknown, revoked or expired, or its owner is disabled;
    /// [`Error::FingerprintMismatch`] (specification section 5.2).
    ///
    /// # Durability
    /// When the first use of a token with `fingerprint_required` returns, the token is bound.
    pub fn token(
        &self,
        token: &Secret,
        instance_id: Option<&[u8]>,
        from: Option<IpAddr>,
    ) -> Result<TokenHolder> {
        self.tokens.check(&self.key, token, instance_id, from)
    }

    /// The same, waiting for no commit: `None` at a first use by which the token is to be bound, which [`Gate::token`]
    /// does.
    ///
    /// # Errors
    /// As there.
    pub fn known_token(
        &self,
        token: &Secret,
        instance_id: Option<&[u8]>,
    ) -> Result<Option<TokenHolder>> {
        self.tokens.check_known(&self.key, token, instance_id)
    }

    /// Opens a project for reading by a token.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token does not cover the project or its owner may not read it
    /// now; with an allowlist also for what does not exist and is not on it, so that a token reveals
    /// nothing about others' projects. [`Error::NoSuchProject`] else.
    pub fn open_by_token(
        &self,
        holder: &TokenHolder,
        selector: &ProjectSelector,
    ) -> Result<Project> {
        let scope = &holder.token.scope;
        let found = find(&self.projects, selector)?;
        let is_there = found.is_some();
        if let Some(project) = found.filter(|project| holder.may_read(project)) {
            return Ok(project);
        }
        // Asked of what is there, too: it takes as long as of what is not, which nobody is to tell by the time.
        let may_learn = scope.may_learn_absence(selector, &holder.owner, &self.projects)?;
        if may_learn && !is_there {
            return Err(Error::NoSuchProject);
        }
        Err(Error::Forbidden(Refusal {
            token: Some(holder.token.shown()),
            ..Refusal::of(
                &holder.owner.name,
                "the token or its owner's roles do not cover the project",
            )
        }))
    }

    /// Those of the projects that a token opens which are `wanted`, in byte order of their repo ids.
    pub fn projects_by_token(
        &self,
        holder: &TokenHolder,
        wanted: impl Fn(&Project) -> bool,
    ) -> Result<Vec<Project>> {
        let is_listed = |project: &Project| holder.may_read(project) && wanted(project);
        let projects = &self.projects;
        let Some(named) = holder.token.scope.named(projects)? else {
            return Ok(projects.all_that(is_listed)?);
        };
        let mut listed: Vec<_> = named.into_iter().filter(is_listed).collect();
        listed.sort_by(|a, b| a.repo_id().cmp(b.repo_id()));
        Ok(listed)
    }

    /// Makes a token for the caller; the secret cannot be had again.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that breaks its rule or a project that does not exist,
    /// [`Error::Forbidden`] for one that the caller may not read.
    pub fn create_token(&self, caller: &Caller, new: NewToken) -> Result<(Secret, TokenView)> {
        self.own_tokens(caller)
            .create(&caller.account, new, &caller.actor())
    }

    /// The tokens, as the caller changes its own.
    fn own_tokens(&self, caller: &Caller) -> Tokens {
        self.tokens.clone().made_by(caller.maker(), |_| true)
    }

    /// The caller's tokens, in the order in which they were made.
    pub fn tokens(&self, caller: &Caller) -> Result<Vec<ListedToken>> {
        self.tokens.listed(&caller.account)
    }

    /// What is shown of a token in its list.
    pub fn shown_token(&self, listed: &ListedToken) -> TokenView {
        self.tokens.shown(listed)
    }

    /// Changes a token of the caller.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`]; [`Error::Forbidden`] for another's token; else as [`Gate::create_token`].
    pub fn change_token(
        &self,
        caller: &Caller,
        id: &str,
        change: &TokenChange,
    ) -> Result<TokenView> {
        let changed = self
            .own_tokens(caller)
            .change(&caller.account, id, change, &caller.actor());
        self.unless_of_another(caller, id, changed)
    }

    /// Gives a token of the caller another value, as [`Tokens::rotate`].
    ///
    /// # Errors
    /// [`Error::NoSuchToken`]; [`Error::Forbidden`] for another's token.
    pub fn rotate_token(
        &self,
        caller: &Caller,
        id: &str,
        grace_s: u64,
    ) -> Result<(Secret, TokenView)> {
        let rotated = self
            .own_tokens(caller)
            .rotate(&caller.account, id, grace_s, &caller.actor());
        self.unless_of_another(caller, id, rotated)
    }

    /// Revokes a token of the caller, or with the role for everything that of anybody. It counts no more
    /// when this returns.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`]; [`Error::Forbidden`] for another's token where the caller has not that role.
    pub fn revoke_token(&self, caller: &Caller, id: &str) -> Result<()> {
        let account = &caller.account;
        let revoked = self.own_tokens(caller).revoke(account, id, &caller.actor());
        match revoked {
            Err(Error::NoSuchToken) if account.is_root() => {
                let tokens = self.tokens.clone();
                let tokens = tokens.made_by(caller.maker(), Account::is_root);
                tokens.revoke(&*tokens.owner_of(id)?, id, &caller.actor())
            }
            revoked => self.unless_of_another(caller, id, revoked),
        }
    }

    /// What came of an act on a token of the caller, with [`Error::Forbidden`] in place of
    /// [`Error::NoSuchToken`] where another account has it.
    fn unless_of_another<T>(&self, caller: &Caller, id: &str, done: Result<T>) -> Result<T> {
        if let Err(Error::NoSuchToken) = done {
            self.tokens.owner_of(id)?;
            let refusal = Refusal::of(&caller.account.name, "the token is another account's");
            return Err(Error::Forbidden(refusal));
        }
        done
    }

    /// The tokens of the account of this name; the caller's own, or with the role for everything anybody's.
    ///
    /// # Errors
    /// [`Error::Forbidden`]; [`Error::Invalid`] for a name that no account has.
    pub fn tokens_of(&self, caller: &Caller, owner: &str) -> Result<Vec<ListedToken>> {
        if owner == caller.account.name {
            return self.tokens(caller);
        }
        self.require_root(caller)?;
        let found = self.known_account(owner)?;
        let none = || Error::invalid(format!("there is no user \"{}\"", shortened(owner)));
        let found = found.ok_or_else(none)?;
        self.tokens.listed(&found)
    }

    /// The tokens of all accounts.
    ///
    /// # Errors
    /// [`Error::Forbidden`] without the role for everything.
    pub fn all_tokens(&self, caller: &Caller) -> Result<TokensOfAll> {
        self.require_root(caller)?;
        Ok(TokensOfAll::new(&self.tokens, None))
    }

    /// The tokens that open a project.
    ///
    /// # Errors
    /// As [`Gate::open`]; [`Error::Forbidden`] for who may see it but not manage it.
    pub fn tokens_for(&self, caller: &Caller, id: &RepoId) -> Result<TokensOfAll> {
        let project = self.open_to_manage(caller, id)?;
        Ok(TokensOfAll::new(&self.tokens, Some(project)))
    }
}
