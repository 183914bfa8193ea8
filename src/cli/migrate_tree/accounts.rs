//! The accounts that owners become: found, made, or, in a dry run, only thought of.

use std::path::Path;

use super::Migration;
use super::report::{Done, Kind};
use crate::access;
use crate::access::Account;
use crate::cli::Result;

/// What there is of the account that an owner becomes.
enum Met {
    /// Nothing: it can be made.
    Absent,
    /// It is there, perhaps under another name by now.
    Present(Account),
    /// The owner's account was removed here.
    Removed,
    /// The account that has the owner's name is that of another owner.
    OfAnother(String),
}

impl Migration<'_> {
    /// The account that an owner becomes: found, or made; in a dry run one that is not there. `None` when
    /// that cannot be.
    pub(super) fn account(&mut self, owner: &str) -> Result<Option<Account>> {
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        let account = match self.met_account(owner)? {
            Met::Present(account) => Some(self.present_account(owner, account)?),
            Met::Removed if !self.renew => {
                let reason = "its account was removed here; --renew makes it anew, an owner map gives the \
                              owner another account";
                self.report.find(&at(owner), reason);
                None
            }
            Met::Absent | Met::Removed => self.new_account(owner)?,
            Met::OfAnother(other) => {
                let reason = format!(
                    "the account of this name here is {other} of the tree; an owner map gives the owner \
                     another account"
                );
                self.report.find(&at(owner), &reason);
                None
            }
        };
        if let Some(account) = &account {
            self.migrated.insert(owner.to_owned(), account.number());
        }
        self.accounts.insert(owner.to_owned(), account.clone());
        Ok(account)
    }

    /// An account that is here: what it lacks is told, and that it has another name.
    fn present_account(&mut self, owner: &str, account: Account) -> Result<Account> {
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
            self.opened.accounts.remember_migrated(owner, &account)?;
        }
        self.step(Done::Unchanged, Kind::Account, &becomes.account);
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
            password => accounts.create_migrated(owner, name, password.as_deref(), roles),
        };
        match made {
            Ok(account) => {
                self.step(Done::Made, Kind::Account, name);
                Ok(Some(account))
            }
            Err(access::Error::Invalid { reason }) => {
                if self.owners.has(owner) {
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
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        Ok(match self.met_account(owner)? {
            Met::Present(account) => Some(account),
            _ => None,
        })
    }

    /// What there is of the account that an owner becomes. One that the map names is meant, whoever it was
    /// before; else the owner's own goes on, whatever it is called.
    fn met_account(&self, owner: &str) -> Result<Met> {
        let is_named = self.owners.has(owner);
        let here = self.account_named(&self.owners.of(owner).account)?;
        Ok(match (here, self.migrated.get(owner)) {
            (Some(account), _) if is_named => Met::Present(account),
            (_, Some(number)) => match self.opened.accounts.by_number(*number)? {
                Some(account) => Met::Present(Account::clone(&account)),
                None => Met::Removed,
            },
            (Some(account), None) => {
                let mut migrated = self.migrated.iter();
                let other = migrated.find(|(_, number)| **number == account.number());
                match other {
                    Some((other, _)) => Met::OfAnother(other.clone()),
                    None => Met::Present(account),
                }
            }
            (None, None) => Met::Absent,
        })
    }

    /// The account of this name, in a dry run also one that would have been made by now.
    fn account_named(&self, name: &str) -> Result<Option<Account>> {
        match self.opened.accounts.by_name(name) {
            Ok(account) => Ok(Some(Account::clone(&account))),
            Err(access::Error::NoSuchAccount { .. }) if self.dry_run => {
                let mut planned = self.accounts.values().flatten();
                Ok(planned.find(|account| account.name() == name).cloned())
            }
            Err(access::Error::NoSuchAccount { .. }) => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }
}

/// How an owner is named in the report.
pub(super) fn at(owner: &str) -> String {
    format!("owner \"{owner}\"")
}
