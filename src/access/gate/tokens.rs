//! The gate's side for tokens: who holds one, and a caller's own.

use std::net::IpAddr;

use super::{Caller, Gate};
use crate::access::error::{Error, Refusal, Result};
use crate::access::token::{NewToken, TokenChange, TokenView};
use crate::access::token_check::TokenHolder;
use crate::access::token_scope::{ProjectSelector, find};
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

    /// Opens a project for reading by a token.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token does not cover the project or its owner may not read it
    /// now; with an allowlist also for what does not exist and is not on it, so that a token reveals
    /// nothing about others' projects. [`Error::NotFound`] else.
    pub fn open_by_token(
        &self,
        holder: &TokenHolder,
        selector: &ProjectSelector,
    ) -> Result<Project> {
        match find(&self.projects, selector)? {
            Some(project) if holder.may_read(&project) => Ok(project),
            None if holder.token.scope.may_learn_absence(selector) => Err(Error::NotFound),
            _ => Err(Error::Forbidden(Refusal {
                token: Some(holder.token.shown()),
                ..Refusal::of(
                    &holder.owner.name,
                    "the token or its owner's roles do not cover the project",
                )
            })),
        }
    }

    /// The projects that a token opens, in byte order of their repo ids.
    pub fn projects_by_token(&self, holder: &TokenHolder) -> Result<Vec<Project>> {
        let mut projects = self.projects.all()?;
        projects.retain(|project| holder.may_read(project));
        Ok(projects)
    }

    /// Makes a token for the caller; the secret cannot be had again.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that breaks its rule or a project that does not exist,
    /// [`Error::Forbidden`] for one that the caller may not read.
    pub fn create_token(&self, caller: &Caller, new: NewToken) -> Result<(Secret, TokenView)> {
        self.tokens.create(&caller.account, new, &caller.actor())
    }

    /// The caller's tokens, in the order in which they were made.
    pub fn tokens(&self, caller: &Caller) -> Result<Vec<TokenView>> {
        self.tokens.list(&caller.account)
    }

    /// Changes a token of the caller.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`], for another's token too; else as [`Gate::create_token`].
    pub fn change_token(
        &self,
        caller: &Caller,
        id: &str,
        change: &TokenChange,
    ) -> Result<TokenView> {
        self.tokens
            .change(&caller.account, id, change, &caller.actor())
    }

    /// Revokes a token of the caller. It counts no more when this returns.
    ///
    /// # Errors
    /// [`Error::NoSuchToken`], for another's token too.
    pub fn revoke_token(&self, caller: &Caller, id: &str) -> Result<()> {
        self.tokens.revoke(&caller.account, id, &caller.actor())
    }
}
