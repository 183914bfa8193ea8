//! The accounts that owners become: found, made, or, in a dry run, only thought of.

use std::path::Path;

use super::Migration;
use super::report::{Done, Kind};
use crate::access;
use crate::access::{Account, MovedAccount};
use crate::base::account_name::AccountName;
use crate::cli::Result;

impl Migration<'_> {
    /// The account that an owner becomes: found, or made; in a dry run one that is not there. `None` when
    /// that cannot be.
    pub(super) fn account(&mut self, owner: &str) -> Result<Option<Account>> {
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        let account = match self.met_account(owner)? {
            MovedAccount::Present(account) => Some(self.present_account(owner, &account)?),
            MovedAccount::Removed if !self.renew => {
                let reason = format!(
                    "account {} was removed here; --renew makes it anew, an owner map gives the owner \
                     another account",
                    self.owners.of(owner).account
                );
                self.report.find(&at(owner), &reason);
                None
            }
            MovedAccount::Absent | MovedAccount::Removed => self.new_account(owner)?,
            MovedAccount::OfAnother { came_as, .. } => {
                let reason = format!(
                    "the account of this name here is {came_as} of the tree; an owner map gives the owner \
                     another account"
                );
                self.report.find(&at(owner), &reason);
                None
            }
        };
        self.accounts.insert(owner.to_owned(), account.clone());
        Ok(account)
    }

    /// An account that is here: what it lacks is told, and that it has another name.
    fn present_account(&mut self, owner: &str, account: &Account) -> Result<Account> {
        let becomes = self.owners.of(owner);
        for role in &becomes.roles {
            if !account.roles().contains(role) {
                let reason = format!(
                    "account {} is here, and has not {role}; \"siteconf user role add\" gives it",
                    account.name()
                );
                self.report.find("owner map", &reason);
            }
        }
        if account.name() != becomes.account {
            let remark = format!("it is account {} here", account.name());
            self.report.remark(Path::new(&at(owner)), &remark);
        }
        if !self.dry_run {
            let accounts = &self.opened.accounts;
            accounts.remember_moved(&becomes.account, account)?;
        }
        self.step(Done::Unchanged, Kind::Account, &becomes.account);
        Ok(account.clone())
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
            password => accounts.create_moved(name, password.as_deref(), roles),
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
                    self.report.find(&at(owner), &reason);
                }
                Ok(None)
            }
            Err(failed) => Err(failed.into()),
        }
    }

    /// The account that an owner has become, if there is one; nothing is made or told.
    pub(super) fn known_account(&self, owner: &str) -> Result<Option<Account>> {
        Ok(match self.met_account(owner)? {
            MovedAccount::Present(account) => Some(Account::clone(&account)),
            _ => None,
        })
    }

    /// What there is of the account that an owner becomes. One that the map names is meant, whatever it was
    /// called before.
    fn met_account(&self, owner: &str) -> Result<MovedAccount> {
        let name = self.owners.of(owner).account;
        Ok(match self.opened.accounts.moved(&name)? {
            MovedAccount::OfAnother { account, .. } if self.owners.has(owner) => {
                MovedAccount::Present(account)
            }
            met => met,
        })
    }
}

/// How an owner is named in the report.
pub(super) fn at(owner: &str) -> String {
    format!("owner \"{owner}\"")
}
