//! The administration of accounts.

use std::sync::Arc;

use super::account::Account;
use super::error::{Error, Result};
use super::keys;
use super::maker::{Maker, May};
use super::password::{self, HashingMemory, PasswordHash};
use super::records::Records;
use super::rights::role::Role;
use super::session_records;
use super::token::Token;
use crate::base::account_name::AccountName;
use crate::base::actor::Actor;
use crate::base::clock::Clock;
use crate::base::repo_id::RepoId;
use crate::repo::audit::{self, Action, AuditRecord};
use crate::repo::{Project, Projects};
use crate::store::{Batch, Expect, Versioned};

/// All accounts of the service. Each change is durable when its function returns, together with its
/// record in the audit log, and counts from the next request on; for a daemon beside this process as soon
/// as its store has noticed.
#[derive(Clone, Debug)]
pub struct Accounts {
    pub(super) records: Records,
    clock: Arc<dyn Clock>,
    pub(super) hashing: HashingMemory,
    projects: Projects,
    actor: Actor,
    may_leave_no_root: bool,
}

impl Accounts {
    /// The accounts that lie in the same store as these projects. Changes are the service's own.
    pub fn new(projects: &Projects) -> Self {
        Self {
            records: Records::new(projects),
            clock: Arc::clone(projects.clock()),
            hashing: HashingMemory::default(),
            projects: projects.clone(),
            actor: Actor::service(),
            may_leave_no_root: false,
        }
    }

    /// The same, with changes that are this actor's.
    #[must_use]
    pub fn acting(self, actor: Actor) -> Self {
        Self { actor, ..self }
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

    /// The same, with changes that may leave nobody who may do everything.
    #[must_use]
    pub fn leaving_no_root(self) -> Self {
        Self {
            may_leave_no_root: true,
            ..self
        }
    }

    /// True when there is no account yet: a first start.
    pub fn is_empty(&self) -> Result<bool> {
        self.records.is_empty(keys::ACCOUNTS)
    }

    /// Makes an account.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a malformed or taken name, or a password that breaks the rule.
    pub fn create(&self, name: &str, password: &str, roles: &[Role]) -> Result<Account> {
        let name = AccountName::parse(name)?;
        password::check(name.as_str(), password)?;
        self.make(&name, &PasswordHash::new(&self.hashing, password), roles)
    }

    /// Looks whether a new password of the account of this name is good enough.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the rule that it breaks.
    pub fn check_password(name: &str, password: &str) -> Result<()> {
        password::check(name, password)
    }

    /// # Errors
    /// [`Error::Invalid`] where there is an account of this name.
    pub(super) fn require_free(&self, name: &AccountName) -> Result<()> {
        if self.number_of(name.as_str())?.is_some() {
            return Err(Error::invalid(format!("the user name \"{name}\" is taken")));
        }
        Ok(())
    }

    pub(super) fn new_account(
        &self,
        number: u64,
        name: &AccountName,
        password: &PasswordHash,
        roles: &[Role],
    ) -> Account {
        let mut given = Vec::new();
        for role in roles {
            add(&mut given, role);
        }
        Account {
            number,
            name: name.to_string(),
            password: password.clone(),
            roles: given,
            enabled: true,
            created_at: self.clock.now(),
            generation: 0,
        }
    }

    fn make(&self, name: &AccountName, password: &PasswordHash, roles: &[Role]) -> Result<Account> {
        self.make_and(name, password, roles, |_, _| {})
    }

    /// Makes an account, with what `more` adds to the commit for its number.
    pub(super) fn make_and(
        &self,
        name: &AccountName,
        password: &PasswordHash,
        roles: &[Role],
        more: impl Fn(u64, &mut Batch),
    ) -> Result<Account> {
        self.records.retry_on_conflict(|| {
            let mut batch = self.records.held(Batch::default())?;
            self.require_free(name)?;
            let number = self
                .records
                .next_number(keys::ACCOUNT_COUNTER, &mut batch)?;
            let account = self.new_account(number, name, password, roles);
            batch.write(keys::account(number), Expect::Absent, &account);
            batch.write(keys::account_name(name.as_str()), Expect::Absent, &number);
            let roles: Vec<_> = account.roles.iter().map(Role::to_string).collect();
            let made = AuditRecord {
                account: Some(name.to_string()),
                detail: audit::detail(roles.join(" ")),
                ..self
                    .records
                    .audit_record(&self.actor, Action::AccountCreated)
            };
            audit::add(&mut batch, &made);
            more(number, &mut batch);
            self.records.commit(batch)?;
            Ok(account)
        })
    }

    /// All accounts, in the order in which they were made.
    pub fn list(&self) -> Result<Vec<Arc<Account>>> {
        let all = self.records.under(keys::ACCOUNTS)?;
        Ok(all.into_iter().map(|kept| kept.value).collect())
    }

    /// The account with this name.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`].
    pub fn by_name(&self, name: &str) -> Result<Arc<Account>> {
        Ok(self.kept_by_name(name)?.value)
    }

    /// The account with this number, `None` if there is none.
    pub fn by_number(&self, number: u64) -> Result<Option<Arc<Account>>> {
        Ok(self.kept(number)?.map(|kept| kept.value))
    }

    /// True if this is the account's password. Without an account it takes as long, and is false.
    pub(super) fn is_password(&self, account: Option<&Account>, password: &str) -> bool {
        let dummy = PasswordHash::dummy();
        let hash = account.map_or(&dummy, |account| &account.password);
        hash.matches(&self.hashing, password)
    }

    /// Has a batch that takes the role for everything away from somebody committed only while another has
    /// it: of two who take it from each other at once, one does.
    ///
    /// # Errors
    /// [`Error::LastRoot`].
    fn keep_a_root(&self, leaving: &Account, batch: &mut Batch) -> Result<()> {
        if self.may_leave_no_root || !may_do_everything(leaving) {
            return Ok(());
        }
        let all: Vec<Versioned<Account>> = self.records.under(keys::ACCOUNTS)?;
        let other = all
            .iter()
            .find(|other| other.value.number != leaving.number && may_do_everything(&other.value));
        let other = other.ok_or_else(|| Error::LastRoot {
            name: leaving.name.clone(),
        })?;
        let key = keys::account(other.value.number);
        batch.expected.push((key, other.expect()));
        Ok(())
    }

    /// The identifiers of the projects that an account owns, in their order.
    pub fn owned_by(&self, account: &Account) -> Result<Vec<String>> {
        let is_owned = |project: &Project| project.owner() == account.number;
        let owned = self.projects.all_that(is_owned)?;
        Ok(owned
            .iter()
            .map(|project| project.repo_id().to_string())
            .collect())
    }

    /// Has a batch committed only while an account owns nothing.
    ///
    /// # Errors
    /// [`Error::OwnsProjects`], for those that are deleted and can be restored, too.
    fn require_nothing_owned(&self, account: &Account, batch: &mut Batch) -> Result<()> {
        let owned = self.projects.owned_for(account.number, batch)?;
        let mut projects: Vec<_> = owned.iter().map(RepoId::to_string).collect();
        let is_deleted = projects.is_empty();
        if is_deleted {
            let deleted = self.projects.deleted(|deleted| {
                deleted.branch_name().is_none() && deleted.owner() == account.number
            })?;
            projects.extend(deleted.iter().map(|deleted| deleted.repo_id().to_string()));
        }
        if projects.is_empty() {
            return Ok(());
        }
        Err(Error::OwnsProjects {
            name: account.name.clone(),
            projects,
            deleted: is_deleted,
        })
    }

    /// Gives an account another password, and ends its sessions.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; [`Error::Invalid`] for a password that breaks the rule.
    pub fn set_password(&self, name: &str, password: &str) -> Result<()> {
        self.set_password_and(name, password, |_, _| Ok(()))
    }

    /// The same, with what `more` adds to the commit for the account as it is then, or refuses.
    ///
    /// # Errors
    /// As [`Accounts::set_password`]; those of `more`.
    pub(super) fn set_password_and<T>(
        &self,
        name: &str,
        password: &str,
        more: impl Fn(&Account, &mut Batch) -> Result<T>,
    ) -> Result<T> {
        password::check(name, password)?;
        let password = PasswordHash::new(&self.hashing, password);
        let set = |account: &mut Account| {
            account.password = password.clone();
            account.generation += 1;
            true
        };
        let done = self.change_and(name, Action::PasswordSet, None, set, more)?;
        Ok(done.expect("a new password is a change in any case"))
    }

    /// Lets an account in again, or shuts it out: its sessions end, and its tokens do not count until
    /// it is enabled again.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; [`Error::LastRoot`].
    pub fn set_enabled(&self, name: &str, enabled: bool) -> Result<()> {
        let action = if enabled {
            Action::AccountEnabled
        } else {
            Action::AccountDisabled
        };
        self.change_always(name, action, None, |account| {
            account.enabled = enabled;
            if !enabled {
                account.generation += 1;
            }
        })
    }

    /// Gives an account a role; false where it had it already.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`].
    pub fn add_role(&self, name: &str, role: &Role) -> Result<bool> {
        let given = |account: &mut Account| {
            let has = account.roles.contains(role);
            add(&mut account.roles, role);
            !has
        };
        self.change(name, Action::RoleAdded, Some(role), given)
    }

    /// Takes a role from an account; false where it did not have it.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; [`Error::LastRoot`].
    pub fn remove_role(&self, name: &str, role: &Role) -> Result<bool> {
        let taken = |account: &mut Account| {
            let had = account.roles.contains(role);
            account.roles.retain(|held| held != role);
            had
        };
        self.change(name, Action::RoleRemoved, Some(role), taken)
    }

    /// Gives an account another name. Its sessions, tokens and projects know it by its number, and stay.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; [`Error::Invalid`] for a malformed or taken name.
    pub fn rename(&self, name: &str, new: &str) -> Result<()> {
        let new = AccountName::parse(new)?;
        self.records.retry_on_conflict(|| {
            let mut batch = self.records.held(Batch::with_reserve())?;
            let kept = self.kept_by_name(name)?;
            self.require_free(&new)?;
            let mut account = Account::clone(&kept.value);
            account.name = new.to_string();
            let number = account.number;
            batch.write(keys::account(number), kept.expect(), &account);
            batch.delete(keys::account_name(name), Expect::Anything);
            batch.write(keys::account_name(new.as_str()), Expect::Absent, &number);
            let renamed = AuditRecord {
                account: Some(name.to_owned()),
                detail: audit::detail(format!("now {new}")),
                ..self
                    .records
                    .audit_record(&self.actor, Action::AccountRenamed)
            };
            audit::add(&mut batch, &renamed);
            self.records.commit_and_settle(batch)
        })
    }

    /// Removes an account that owns nothing, with its sessions and its tokens, of which it gives the number.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; [`Error::LastRoot`]; [`Error::OwnsProjects`].
    pub fn remove(&self, name: &str) -> Result<u64> {
        self.records.retry_on_conflict(|| {
            let mut batch = self.records.held(Batch::with_reserve())?;
            let kept = self.kept_by_name(name)?;
            let number = kept.value.number;
            self.keep_a_root(&kept.value, &mut batch)?;
            self.require_nothing_owned(&kept.value, &mut batch)?;
            batch.delete(keys::account(number), kept.expect());
            batch.delete(keys::account_name(name), Expect::Anything);
            let sessions = session_records::forget_all(&self.records, number, &mut batch)?;
            // Before the tokens are read: one that is made meanwhile moves it.
            batch.expect(self.records.counter(keys::TOKEN_COUNTER)?);
            let mut tokens: Vec<Versioned<Token>> = Vec::new();
            let found = |token| tokens.push(token);
            self.records.each_version(&keys::tokens(number), found)?;
            for token in &tokens {
                // One that changes meanwhile has the whole tried again.
                batch.delete(keys::token(number, token.value.number), token.expect());
                token.value.forget_values(token.value.values(), &mut batch);
            }
            let count = u64::try_from(tokens.len()).unwrap_or(u64::MAX);
            let removed = AuditRecord {
                account: Some(name.to_owned()),
                sessions: Some(sessions).filter(|count| *count > 0),
                detail: audit::detail(format!("{count} tokens revoked")),
                ..self
                    .records
                    .audit_record(&self.actor, Action::AccountRemoved)
            };
            audit::add(&mut batch, &removed);
            self.records.commit_and_settle(batch)?;
            // Of an account that is gone no session counts.
            session_records::forget_earlier(&self.projects, number, u64::MAX);
            Ok(count)
        })
    }

    /// True if this is the password of the account of this name.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`].
    pub fn has_password(&self, name: &str, password: &str) -> Result<bool> {
        Ok(self.is_password(Some(&*self.by_name(name)?), password))
    }

    /// As [`Accounts::change`], for what is a change in any case.
    fn change_always(
        &self,
        name: &str,
        action: Action,
        role: Option<&Role>,
        change: impl Fn(&mut Account),
    ) -> Result<()> {
        let change = |account: &mut Account| {
            change(account);
            true
        };
        self.change(name, action, role, change).map(drop)
    }

    /// Writes an account's record after a change to it, which says whether it was one: else nothing is
    /// written. A change of the generation takes the sessions' records with it; they would not count any
    /// more.
    fn change(
        &self,
        name: &str,
        action: Action,
        role: Option<&Role>,
        change: impl Fn(&mut Account) -> bool,
    ) -> Result<bool> {
        let changed = self.change_and(name, action, role, change, |_, _| Ok(()))?;
        Ok(changed.is_some())
    }

    /// The same, with what `more` adds to the commit; `None` where nothing was changed.
    fn change_and<T>(
        &self,
        name: &str,
        action: Action,
        role: Option<&Role>,
        change: impl Fn(&mut Account) -> bool,
        more: impl Fn(&Account, &mut Batch) -> Result<T>,
    ) -> Result<Option<T>> {
        self.records.retry_on_conflict(|| {
            let mut batch = self.records.held(Batch::with_reserve())?;
            let kept = self.kept_by_name(name)?;
            let mut account = Account::clone(&kept.value);
            if !change(&mut account) {
                // Who took it away a moment ago may still wait for the others.
                self.records.settle();
                return Ok(None);
            }
            if !may_do_everything(&account) {
                self.keep_a_root(&kept.value, &mut batch)?;
            }
            let mut sessions = None;
            if account.generation != kept.value.generation {
                let ended = session_records::forget_all(&self.records, account.number, &mut batch)?;
                sessions = Some(ended).filter(|count| *count > 0);
            }
            batch.write(keys::account(account.number), kept.expect(), &account);
            let changed = AuditRecord {
                account: Some(name.to_owned()),
                sessions,
                detail: role.map(Role::to_string),
                ..self.records.audit_record(&self.actor, action)
            };
            audit::add(&mut batch, &changed);
            let more = more(&account, &mut batch)?;
            self.records.commit_and_settle(batch)?;
            if account.generation != kept.value.generation {
                session_records::forget_earlier(&self.projects, account.number, account.generation);
            }
            Ok(Some(more))
        })
    }

    fn kept_by_name(&self, name: &str) -> Result<Versioned<Account>> {
        let number = self.number_of(name)?;
        let kept = number.map(|number| self.kept(number)).transpose()?;
        // It may have been renamed between the two looks.
        let kept = kept.flatten().filter(|kept| kept.value.name == name);
        kept.ok_or_else(|| Error::NoSuchAccount {
            name: name.to_owned(),
        })
    }

    fn number_of(&self, name: &str) -> Result<Option<u64>> {
        // Any other text may be long, and of slashes alone, each of which the cache of records looks at.
        let is_name = AccountName::parse(name).is_ok();
        let number = is_name.then(|| self.records.get(&keys::account_name(name)));
        Ok(number.transpose()?.flatten().map(|kept| *kept.value))
    }

    pub(super) fn kept(&self, number: u64) -> Result<Option<Versioned<Account>>> {
        self.records.get(&keys::account(number))
    }
}

/// True for one of those of whom there must be one.
fn may_do_everything(account: &Account) -> bool {
    account.enabled && account.is_root()
}

fn add(roles: &mut Vec<Role>, role: &Role) {
    if !roles.contains(role) {
        roles.push(role.clone());
    }
}
