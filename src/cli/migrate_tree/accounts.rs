//! The accounts that owners become: found, made, or, in a dry run, only thought of.

use super::Migration;
use super::report::{Done, Kind};
use crate::access;
use crate::access::Account;
use crate::base::account_name::AccountName;
use crate::cli::Result;

impl Migration<'_> {
    /// The account that an owner becomes: found, or made; in a dry run one that is not there. `None` when
    /// that cannot be.
    pub(super) fn account(&mut self, owner: &str) -> Result<Option<Account>> {
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        let becomes = self.owners.of(owner);
        let account = match self.opened.accounts.by_name(&becomes.account) {
            Ok(account) => {
                for role in &becomes.roles {
                    if !account.roles().contains(role) {
                        let reason = format!(
                            "account {} is here, and has not {role}; \"siteconf user role add\" gives it",
                            account.name()
                        );
                        self.report.find("owner map", &reason);
                    }
                }
                self.step(Done::Unchanged, Kind::Account, &becomes.account);
                Some(Account::clone(&account))
            }
            Err(access::Error::NoSuchAccount { .. }) => self.new_account(owner)?,
            Err(failed) => return Err(failed.into()),
        };
        self.accounts.insert(owner.to_owned(), account.clone());
        Ok(account)
    }

    fn new_account(&mut self, owner: &str) -> Result<Option<Account>> {
        let becomes = self.owners.of(owner);
        let (name, roles) = (becomes.account.as_str(), &becomes.roles);
        let accounts = &self.opened.accounts;
        let made = match &becomes.password {
            _ if self.dry_run => {
                // No account has the last numbers.
                let met = u64::try_from(self.accounts.len()).unwrap_or(0);
                let password = becomes.password.as_deref();
                accounts.preview(u64::MAX - met, name, password, roles)
            }
            Some(password) => accounts.create(name, password, roles),
            None => accounts.create_without_password(name, roles),
        };
        match made {
            Ok(account) => {
                self.step(Done::Made, Kind::Account, name);
                Ok(Some(account))
            }
            Err(access::Error::Invalid { reason }) => {
                if AccountName::parse(name).is_ok() {
                    self.report
                        .find("owner map", &format!("\"{owner}\": {reason}"));
                } else {
                    let reason = format!("{reason}; an owner map gives the owner another account");
                    self.report.find(&format!("owner \"{owner}\""), &reason);
                }
                Ok(None)
            }
            Err(failed) => Err(failed.into()),
        }
    }

    /// The account that an owner has become, if there is one; nothing is made or told.
    pub(super) fn known_account(&self, owner: &str) -> Result<Option<Account>> {
        match self.opened.accounts.by_name(&self.owners.of(owner).account) {
            Ok(account) => Ok(Some(Account::clone(&account))),
            Err(access::Error::NoSuchAccount { .. }) => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }
}
