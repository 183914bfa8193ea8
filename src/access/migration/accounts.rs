//! Accounts that owners of an older system became, known again by the names under which they came.

use std::sync::Arc;

use crate::access::account::Account;
use crate::access::accounts::Accounts;
use crate::access::error::{Error, Result};
use crate::access::keys;
use crate::access::password::{self, PasswordHash};
use crate::access::rights::role::Role;
use crate::base::account_name::AccountName;
use crate::store::{Batch, Expect, Versioned};

/// What there is of the account that an owner of an older system becomes under a name.
#[derive(Clone, Debug)]
pub enum MovedAccount {
    /// Nothing: it can be made.
    Absent,
    /// It is there, perhaps under another name by now.
    Present(Arc<Account>),
    /// It came, and was removed here.
    Removed,
    /// The account that has this name came under another one, and was renamed here.
    OfAnother {
        /// The account.
        account: Arc<Account>,
        /// The name under which it came.
        came_as: String,
    },
}

impl Accounts {
    /// What there is of the account that an owner of an older system becomes under this name.
    pub fn moved(&self, name: &str) -> Result<MovedAccount> {
        let lead = self.lead_from(name)?;
        if let Some(lead) = &lead
            && let Some(account) = self.by_number(*lead.value)?
        {
            return Ok(MovedAccount::Present(account));
        }
        match self.by_name(name) {
            Ok(account) => Ok(match self.came_as(account.number())? {
                Some(came_as) => MovedAccount::OfAnother { account, came_as },
                None => MovedAccount::Present(account),
            }),
            Err(Error::NoSuchAccount { .. }) if lead.is_some() => Ok(MovedAccount::Removed),
            Err(Error::NoSuchAccount { .. }) => Ok(MovedAccount::Absent),
            Err(failed) => Err(failed),
        }
    }

    /// Makes the account that an owner of an older system becomes under this name, and remembers the name.
    /// Without a password nobody can log in to it before it is given one.
    ///
    /// # Errors
    /// As [`Accounts::create`].
    pub fn create_moved(
        &self,
        name: &str,
        password: Option<&str>,
        roles: &[Role],
    ) -> Result<Account> {
        let name = AccountName::parse(name)?;
        let password = match password {
            Some(password) => {
                password::check(name.as_str(), password)?;
                PasswordHash::new(&self.hashing, password)
            }
            None => PasswordHash::dummy(),
        };
        self.make_and(&name, &password, roles, |number, batch| {
            let lead = keys::moved_account(name.as_str());
            batch.write(lead, Expect::Anything, &number);
        })
    }

    /// The account that would be made, without a password that works and under this number; nothing is
    /// written.
    ///
    /// # Errors
    /// Those of making it.
    pub fn preview(
        &self,
        number: u64,
        name: &str,
        password: Option<&str>,
        roles: &[Role],
    ) -> Result<Account> {
        let name = AccountName::parse(name)?;
        if let Some(password) = password {
            password::check(name.as_str(), password)?;
        }
        self.require_free(&name)?;
        Ok(self.new_account(number, &name, &PasswordHash::dummy(), roles))
    }

    /// Remembers that an owner of an older system is this account under this name, so that it is known again
    /// when it is renamed or removed. Nothing is written where that is known, or the account is gone.
    pub fn remember_moved(&self, name: &str, account: &Account) -> Result<()> {
        let number = account.number();
        self.records.retry_on_conflict(|| {
            let lead = self.lead_from(name)?;
            let Some(kept) = self.kept(number)? else {
                return Ok(());
            };
            if lead.as_ref().is_some_and(|lead| *lead.value == number) {
                return Ok(());
            }
            let expect = lead.as_ref().map_or(Expect::Absent, Versioned::expect);
            let mut batch = Batch::default();
            let held = (keys::account(number), kept.expect());
            batch.expected.push(held);
            batch.write(keys::moved_account(name), expect, &number);
            self.records.commit(batch)
        })
    }

    fn lead_from(&self, name: &str) -> Result<Option<Versioned<u64>>> {
        self.records.get(&keys::moved_account(name))
    }

    /// The name under which the account of this number came, `None` for one that did not.
    fn came_as(&self, number: u64) -> Result<Option<String>> {
        for lead in self.records.folder(keys::MOVED_ACCOUNTS)?.iter() {
            if *lead.decode::<u64>()?.value == number {
                let name = lead.key.strip_prefix(keys::MOVED_ACCOUNTS);
                return Ok(name.map(str::to_owned));
            }
        }
        Ok(None)
    }
}
