//! The gate's side for accounts: whoever has the role for everything administers them.

use std::fmt;
use std::sync::Arc;

use super::{Caller, Gate};
use crate::access::account::Account;
use crate::access::accounts::Accounts;
use crate::access::error::{Error, Result};

/// Where the password lies that a first start made up.
pub trait FirstPassword: fmt::Debug + Send + Sync {
    /// The password; `None` where it does not lie there any more.
    fn read(&self) -> Option<String>;

    /// Removes it: it opens nothing any more. What fails is told in the log.
    fn remove(&self);
}

/// The first password, where it is that of an account which is about to have another.
pub(super) struct FirstOf(Option<Arc<dyn FirstPassword>>);

impl FirstOf {
    /// Removes it.
    pub(super) fn forget(self) {
        if let Some(first) = self.0 {
            first.remove();
        }
    }
}

impl Gate {
    /// The same, that sees to the password which a first start made up.
    #[must_use]
    pub fn with_first_password(self, first: Arc<dyn FirstPassword>) -> Self {
        Self {
            first_password: Some(first),
            ..self
        }
    }

    /// Takes up to some 25 ms of a core.
    pub(super) fn first_password_of(&self, account: &Account) -> FirstOf {
        let first = self.first_password.clone();
        FirstOf(first.filter(|first| {
            let text = first.read();
            text.is_some_and(|text| self.accounts.is_password(Some(account), &text))
        }))
    }

    /// The accounts, to be looked at and changed by this caller.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for who has not the role for everything.
    pub fn accounts(&self, caller: &Caller) -> Result<Accounts> {
        self.require_root(caller)?;
        let accounts = self.accounts.clone().acting(caller.actor());
        Ok(accounts.made_by(caller.maker(), Account::is_root))
    }

    /// Refuses who has not the role for everything.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub fn require_root(&self, caller: &Caller) -> Result<()> {
        if caller.account.is_root() {
            return Ok(());
        }
        Err(Error::no_role(&caller.account.name))
    }

    /// How many sessions of an account count.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for who has not the role for everything.
    pub fn count_sessions_of(&self, caller: &Caller, account: &Account) -> Result<usize> {
        self.require_root(caller)?;
        Ok(self.sessions.of_account(account)?.len())
    }

    /// Gives another account another password, as [`Accounts::set_password`].
    ///
    /// # Errors
    /// As there; [`Error::Forbidden`]; [`Error::Invalid`] for the caller's own.
    pub fn set_password_of(&self, caller: &Caller, name: &str, password: &str) -> Result<()> {
        let accounts = self.accounts(caller)?;
        let own = "this is your own account: PUT /user/password changes its password";
        refuse_own(caller, name, own)?;
        let first = self.first_password_of(&*accounts.by_name(name)?);
        accounts.set_password(name, password)?;
        first.forget();
        Ok(())
    }

    /// Removes another account, as [`Accounts::remove`].
    ///
    /// # Errors
    /// As there; [`Error::Forbidden`]; [`Error::Invalid`] for the caller's own.
    pub fn remove_account(&self, caller: &Caller, name: &str) -> Result<()> {
        let accounts = self.accounts(caller)?;
        let own = "this is your own account: another with the role for everything can remove it";
        refuse_own(caller, name, own)?;
        let first = self.first_password_of(&*accounts.by_name(name)?);
        accounts.remove(name)?;
        first.forget();
        Ok(())
    }

    /// Shuts another account, or opens it again, as [`Accounts::set_enabled`].
    ///
    /// # Errors
    /// As there; [`Error::Forbidden`]; [`Error::Invalid`] for the caller's own.
    pub fn set_account_enabled(&self, caller: &Caller, name: &str, enabled: bool) -> Result<()> {
        let accounts = self.accounts(caller)?;
        let own = "this is your own account: another with the role for everything can disable it";
        refuse_own(caller, name, own)?;
        accounts.set_enabled(name, enabled)
    }
}

fn refuse_own(caller: &Caller, name: &str, advice: &str) -> Result<()> {
    if caller.account.name == name {
        return Err(Error::invalid(advice));
    }
    Ok(())
}
