//! Memory for bodies on their way in.

use std::sync::Arc;

use super::quota::{Full, Quota, Share};
use crate::access::Account;
use crate::base::limits::{BODIES_KEPT_FOR_LITTLE_PART, BODIES_LITTLE_OF_ACCOUNT_PART};
use crate::http::error::Error;
use crate::http::settings::Limits;

/// The memory. Some of it is kept for accounts that take little, so that what is small never waits for what is
/// large.
#[derive(Debug)]
pub(in crate::http) struct BodyMemory {
    /// By account, as the next.
    little: Arc<Quota<u64>>,
    much: Arc<Quota<u64>>,
}

/// What one body takes of it, until this is dropped.
#[derive(Debug)]
pub(in crate::http) struct BodyShare {
    account: String,
    /// `None` once the body has taken more than there is for little.
    little: Option<Share<u64>>,
    much: Share<u64>,
}

impl BodyMemory {
    /// Nothing is taken.
    ///
    /// # Limits
    /// One part in [`BODIES_KEPT_FOR_LITTLE_PART`] is kept, unless one account may have more than the rest. An
    /// account may take one in [`BODIES_LITTLE_OF_ACCOUNT_PART`] of what it may have from there, beside that.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        let all_max = limits.bodies_bytes_max;
        let account_max = limits.bodies_bytes_account_max;
        let much_max = all_max - all_max / BODIES_KEPT_FOR_LITTLE_PART;
        let much_max = much_max.max(account_max.min(all_max));
        Self {
            little: Quota::new(
                all_max - much_max,
                account_max / BODIES_LITTLE_OF_ACCOUNT_PART,
            ),
            much: Quota::new(much_max, account_max),
        }
    }

    /// Counts a body of this account, of which nothing has come yet.
    pub(in crate::http) fn share(&self, account: &Account) -> BodyShare {
        let nothing = |quota: &Arc<Quota<u64>>| quota.empty_share(account.number());
        BodyShare {
            account: account.name().to_owned(),
            little: Some(nothing(&self.little)),
            much: nothing(&self.much),
        }
    }
}

impl BodyShare {
    /// Says whether there is memory for so many bytes now, and takes none.
    ///
    /// # Errors
    /// As [`BodyShare::grow_to`].
    pub(in crate::http) fn check(&self, bytes: u64) -> Result<(), Error> {
        let little = self.little.as_ref();
        if little.is_some_and(|little| little.could_grow_to(bytes).is_ok()) {
            return Ok(());
        }
        let much = self.much.could_grow_to(bytes);
        much.map_err(|full| self.refused(full))
    }

    /// Takes as much memory as so many bytes.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the account has its part, [`Error::Overloaded`] when there is none left.
    pub(in crate::http) fn grow_to(&mut self, bytes: u64) -> Result<(), Error> {
        let little = self.little.as_mut();
        if little.is_some_and(|little| little.grow_to(bytes).is_ok()) {
            return Ok(());
        }
        let much = self.much.grow_to(bytes);
        much.map_err(|full| self.refused(full))?;
        self.little = None;
        Ok(())
    }

    fn refused(&self, full: Full) -> Error {
        let too_many = "too many bytes of bodies at once";
        full.refused(&self.account, too_many, too_many, 1)
    }
}
