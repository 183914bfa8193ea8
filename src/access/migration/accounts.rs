//! Accounts that owners of an older system became, known again by these owners.

use std::collections::BTreeMap;

use crate::access::account::Account;
use crate::access::accounts::Accounts;
use crate::access::error::Result;
use crate::access::keys;
use crate::access::password::{self, PasswordHash};
use crate::access::rights::role::Role;
use crate::base::account_name::AccountName;
use crate::store::{Batch, Expect, Versioned};

impl Accounts {
    /// The numbers of the accounts that owners of an older system became, by these owners: also of accounts
    /// that were renamed or removed here.
    ///
    /// # Limits
    /// Memory of some 100 bytes for each.
    pub fn migrated(&self) -> Result<BTreeMap<String, u64>> {
        let mut migrated = BTreeMap::new();
        for lead in self.records.folder(keys::MIGRATED_ACCOUNTS)?.iter() {
            if let Some(owner) = keys::migrated_owner(&lead.key) {
                migrated.insert(owner, *lead.decode::<u64>()?.value);
            }
        }
        Ok(migrated)
    }

    /// Makes the account of this name that an owner of an older system becomes, and remembers the owner.
    /// Without a password nobody can log in to it before it is given one.
    ///
    /// # Errors
    /// As [`Accounts::create`].
    pub fn create_migrated(
        &self,
        owner: &str,
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
            batch.write(keys::migrated_account(owner), Expect::Anything, &number);
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

    /// Remembers that an owner of an older system became this account, so that it is known again when the
    /// account is renamed or removed. Nothing is written where that is known, or the account is gone.
    pub fn remember_migrated(&self, owner: &str, account: &Account) -> Result<()> {
        let (key, number) = (keys::migrated_account(owner), account.number());
        self.records.retry_on_conflict(|| {
            let lead: Option<Versioned<u64>> = self.records.get(&key)?;
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
            batch.write(key.clone(), expect, &number);
            self.records.commit(batch)
        })
    }
}
