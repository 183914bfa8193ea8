//! Sessions: a login's secret, kept as a digest, and how long it counts.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;

use super::account::Account;
use super::accounts::Accounts;
use super::error::{Error, Refusal, Result};
use super::keys;
use super::records::Records;
use super::session_records::{Session, SessionOfAccount, forget, sessions_of};
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::base::limits::SESSIONS_PER_ACCOUNT_MAX;
use crate::base::secret::Secret;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::repo::{Projects, SteadyClock, TICK_S};
use crate::store::Versioned;
use crate::store::background_writes::BackgroundWrites;
use crate::store::{Batch, Expect};

/// Longest time, in seconds, by which the record of a session's last use may be behind.
const LAST_SEEN_BEHIND_S_MAX: u64 = 60;

/// Digits of a session's digest that it is shown under.
const SHOWN_DIGITS: usize = 16;

/// How long a session counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLifetimes {
    /// From the login, in seconds.
    pub absolute_s: u64,
    /// From the last request, in seconds. The last request is recorded once a minute at most, so a
    /// session may end a minute early.
    pub idle_s: u64,
}

impl Default for SessionLifetimes {
    /// 12 hours, and one hour.
    fn default() -> Self {
        Self {
            absolute_s: 12 * 3600,
            idle_s: 3600,
        }
    }
}

impl SessionLifetimes {
    fn have_passed(self, session: &Session, now: Timestamp) -> bool {
        // One of a time to come is of a clock that was wrong: it would last until then.
        session.last_seen > now.plus_s(TICK_S)
            || session.created_at.plus_s(self.absolute_s) <= now
            || session.last_seen.plus_s(self.idle_s) <= now
    }

    /// How old the record of the last use must be to be written again: for a very short idle time
    /// sooner than in a minute, or a busy session would end.
    fn touch_after_s(self) -> u64 {
        LAST_SEEN_BEHIND_S_MAX.min(self.idle_s / 2)
    }
}

/// Whence somebody logs in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit<'a> {
    /// The address that the request comes from, for the audit log.
    pub from: Option<IpAddr>,
    /// The session that the browser had before, which ends: it is of no more use to anybody honest.
    pub old_session: Option<&'a Secret>,
}

/// All sessions of the service.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    records: Records,
    accounts: Accounts,
    clock: Arc<SteadyClock>,
    background: Arc<BackgroundWrites>,
    lifetimes: SessionLifetimes,
    /// Most of one account.
    pub(super) most: u64,
}

impl Sessions {
    pub(super) fn new(projects: &Projects, lifetimes: SessionLifetimes) -> Self {
        Self {
            records: Records::new(projects),
            accounts: Accounts::new(projects),
            clock: Arc::clone(projects.steady_clock()),
            background: Arc::clone(projects.background()),
            lifetimes,
            most: SESSIONS_PER_ACCOUNT_MAX,
        }
    }

    /// Opens a session with a new secret, in place of the one that a browser had before. The account's
    /// oldest sessions give way to it when there are as many as it may have.
    ///
    /// # Errors
    /// [`Error::WrongLogin`] where the account, of which the password was checked as it is here, was disabled, removed
    /// or given another password meanwhile.
    ///
    /// # Durability
    /// When it returns, the session outlives a crash.
    pub(super) fn open(&self, account: &Account, visit: &Visit<'_>) -> Result<(Secret, Session)> {
        self.records.retry_on_conflict(|| {
            let mut batch = Batch::with_reserve();
            let account = self.hold_checked(account, &mut batch)?;
            let old = visit.old_session.map(|old| self.kept(old.digest()));
            let old = old.transpose()?.flatten();
            if let Some(old) = &old {
                forget(old.value.account, old.value.digest, &mut batch);
            }
            let mut others = sessions_of(&self.records, account.number)?;
            others.retain(|other| {
                old.as_ref()
                    .is_none_or(|old| old.value.digest != other.digest)
            });
            others.sort_by_key(|other| (other.created_at, other.digest));
            let most = usize::try_from(self.most).unwrap_or(usize::MAX);
            let too_many = (others.len() + 1).saturating_sub(most);
            for oldest in &others[..too_many] {
                forget(account.number, oldest.digest, &mut batch);
            }
            let opened = self.begin(&account, visit.from, &mut batch);
            let ended = u64::try_from(too_many).unwrap_or(u64::MAX) + u64::from(old.is_some());
            let actor = Actor::account(&account.name, visit.from);
            let login = AuditRecord {
                sessions: Some(ended).filter(|count| *count > 0),
                ..self.records.audit_record(&actor, Action::Login)
            };
            audit::add(&mut batch, &login);
            self.records.commit_and_settle(batch)?;
            Ok(opened)
        })
    }

    /// Has a batch committed only while an account lets in whoever has shown the password that it had here. Gives it as
    /// it is now.
    ///
    /// # Errors
    /// [`Error::WrongLogin`].
    fn hold_checked(&self, checked: &Account, batch: &mut Batch) -> Result<Arc<Account>> {
        let refused = |reason| Error::WrongLogin(Refusal::of(&checked.name, reason));
        let Some(kept) = self.accounts.kept(checked.number)? else {
            return Err(Error::WrongLogin(Refusal::new("unknown account")));
        };
        if !kept.value.enabled {
            return Err(refused("disabled account"));
        }
        if kept.value.generation != checked.generation {
            return Err(refused("account changed meanwhile"));
        }
        // It is only read: logins of one account do not stand in each other's way.
        batch.expect((keys::account(checked.number), kept.expect()));
        Ok(kept.value)
    }

    /// Adds a new session of an account to a batch.
    pub(super) fn begin(
        &self,
        account: &Account,
        from: Option<IpAddr>,
        batch: &mut Batch,
    ) -> (Secret, Session) {
        let secret = Secret::generate();
        let (digest, now) = (secret.digest(), self.clock.now());
        let session = Session {
            digest,
            account: account.number,
            generation: account.generation,
            created_at: now,
            last_seen: now,
            from,
        };
        let of_account = SessionOfAccount {
            digest,
            created_at: now,
        };
        let key = keys::account_session(account.number, digest);
        batch.write(key, Expect::Absent, &of_account);
        batch.write(keys::session(digest), Expect::Absent, &session);
        (secret, session)
    }

    /// The sessions of an account that count, the last used first.
    pub(super) fn of_account(&self, account: &Account) -> Result<Vec<Arc<Session>>> {
        self.background.flush(keys::SESSIONS);
        let now = self.clock.now();
        let mut sessions = Vec::new();
        for listed in sessions_of(&self.records, account.number)? {
            let kept = self.kept(listed.digest)?.map(|kept| kept.value);
            sessions.extend(kept.filter(|session| {
                session.generation == account.generation && self.counts(session, now)
            }));
        }
        sessions.sort_by_key(|session| (Reverse(session.last_seen), session.digest));
        Ok(sessions)
    }

    /// True if an account has a session that was opened from such an address, and that nothing ended but time.
    pub(super) fn has_one_from(
        &self,
        account: &Account,
        is_there: impl Fn(IpAddr) -> bool,
    ) -> Result<bool> {
        for listed in sessions_of(&self.records, account.number)? {
            let kept = self.kept(listed.digest)?.map(|kept| kept.value);
            let here = kept.is_some_and(|session| {
                session.generation == account.generation && session.from.is_some_and(&is_there)
            });
            if here {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the session of an account that is shown under this id.
    ///
    /// # Errors
    /// [`Error::NoSuchSession`].
    pub(super) fn end(&self, account: &Account, id: &str, actor: &Actor) -> Result<()> {
        self.records.retry_on_conflict(|| {
            let sessions = sessions_of(&self.records, account.number)?;
            let listed = sessions
                .iter()
                .find(|session| shown_id(session.digest) == id);
            let digest = listed.ok_or(Error::NoSuchSession)?.digest;
            let kept = self.kept(digest)?.ok_or(Error::NoSuchSession)?;
            let ended = AuditRecord {
                detail: audit::detail(format!("session {id}")),
                ..self.records.audit_record(actor, Action::SessionEnded)
            };
            let mut batch = Batch::with_reserve();
            batch.delete(keys::session(digest), kept.expect());
            batch.delete(
                keys::account_session(account.number, digest),
                Expect::Anything,
            );
            audit::add(&mut batch, &ended);
            self.records.commit_and_settle(batch)
        })
    }

    /// When a session ends, however much it is used.
    pub(super) fn end_of(&self, session: &Session) -> Timestamp {
        session.created_at.plus_s(self.lifetimes.absolute_s)
    }

    /// How long a session is kept that is not used, in seconds.
    pub(super) fn idle_s(&self) -> u64 {
        self.lifetimes.idle_s
    }

    /// The account that is logged in by this secret, and its session, as they are now.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] when the session is unknown, has passed, or was ended by a logout, a
    /// change of the password or the disabling of the account.
    pub(super) fn account(&self, secret: &Secret) -> Result<(Arc<Account>, Arc<Session>)> {
        let (kept, account) = self.counted(secret)?;
        self.touch(&kept, self.clock.now());
        Ok((account, kept.value))
    }

    /// As [`Sessions::account`], without recording a use.
    ///
    /// # Errors
    /// As there.
    pub(super) fn account_unused(&self, secret: &Secret) -> Result<(Arc<Account>, Arc<Session>)> {
        let (kept, account) = self.counted(secret)?;
        Ok((account, kept.value))
    }

    /// A session that counts, and its account.
    fn counted(&self, secret: &Secret) -> Result<(Versioned<Session>, Arc<Account>)> {
        let read = || {
            let kept = self.kept(secret.digest())?;
            kept.ok_or_else(|| Error::Unauthenticated(Refusal::new("unknown session")))
        };
        let mut kept = read()?;
        if self.lifetimes.have_passed(&kept.value, self.clock.now()) {
            // A use that is about to be noted counts.
            self.background.flush(&keys::session(secret.digest()));
            kept = read()?;
        }
        let (session, now) = (&kept.value, self.clock.now());
        let account = self.accounts.by_number(session.account)?;
        let is_open = account
            .as_ref()
            .is_some_and(|account| account.enabled && account.generation == session.generation);
        let has_passed = |now| self.lifetimes.have_passed(session, now);
        match account {
            Some(account) if is_open && !has_passed(now) => Ok((kept, account)),
            ended => {
                // It is removed so that a clock set back does not revive it. A clock that is doubted refuses, and
                // ends nothing for good.
                if !is_open || has_passed(self.clock.believed()) {
                    let mut batch = Batch::with_reserve();
                    forget(session.account, session.digest, &mut batch);
                    self.background.put(keys::session(session.digest), batch);
                }
                Err(Error::Unauthenticated(Refusal {
                    account: ended.map(|account| account.name.clone()),
                    ..Refusal::new("ended session")
                }))
            }
        }
    }

    /// True while a session has not passed; its account may have been disabled.
    pub(super) fn counts(&self, session: &Session, now: Timestamp) -> bool {
        !self.lifetimes.have_passed(session, now)
    }

    /// Ends a session; an unknown one has ended already.
    pub(super) fn close(&self, secret: &Secret, from: Option<IpAddr>) -> Result<()> {
        self.records.retry_on_conflict(|| {
            let Some(kept) = self.kept(secret.digest())? else {
                return Ok(());
            };
            let account = self.accounts.by_number(kept.value.account)?;
            let name = account.as_ref().map_or("", |account| account.name());
            let logout = self
                .records
                .audit_record(&Actor::account(name, from), Action::Logout);
            let mut batch = Batch::with_reserve();
            let (account, digest) = (kept.value.account, kept.value.digest);
            // Of two that end it at once one does.
            batch.delete(keys::session(digest), kept.expect());
            batch.delete(keys::account_session(account, digest), Expect::Anything);
            audit::add(&mut batch, &logout);
            self.records.commit_and_settle(batch)
        })
    }

    /// Has the use recorded soon, expecting the version read: a logout meanwhile must not be undone.
    fn touch(&self, kept: &Versioned<Session>, now: Timestamp) {
        if kept.value.last_seen.plus_s(self.lifetimes.touch_after_s()) > now {
            return;
        }
        let session = Session {
            last_seen: now,
            ..Session::clone(&kept.value)
        };
        let mut batch = Batch::default();
        batch.write(keys::session(session.digest), kept.expect(), &session);
        self.background.put(keys::session(session.digest), batch);
    }

    fn kept(&self, digest: Sha256) -> Result<Option<Versioned<Session>>> {
        self.records.get(&keys::session(digest))
    }
}

/// What a session is shown under: the beginning of its digest, from which nobody gets its secret.
pub(super) fn shown_id(digest: Sha256) -> String {
    let mut id = digest.to_string();
    id.truncate(SHOWN_DIGITS);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{Clock, ManualClock};
    use crate::store::memory::MemoryStore;

    #[test]
    fn a_request_under_way_does_not_undo_a_logout() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(0)));
        let projects = Projects::new(Arc::new(MemoryStore::default()), clock.clone());
        let accounts = Accounts::new(&projects);
        let sessions = Sessions::new(&projects, SessionLifetimes::default());
        let eve = accounts.create("eve", "correct horse", &[]).unwrap();
        let (secret, _) = sessions.open(&eve, &Visit::default()).unwrap();
        let read = sessions.kept(secret.digest()).unwrap().unwrap();
        sessions.close(&secret, None).unwrap();
        clock.advance_s(120);
        sessions.touch(&read, clock.now());
        sessions.background.flush(keys::SESSIONS);
        assert!(sessions.account(&secret).is_err());
    }

    #[test]
    fn a_login_that_the_new_password_overtook_opens_nothing() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(0)));
        let projects = Projects::new(Arc::new(MemoryStore::default()), clock);
        let accounts = Accounts::new(&projects);
        let sessions = Sessions::new(&projects, SessionLifetimes::default());
        let overtaken = accounts.create("eve", "correct horse", &[]).unwrap();
        accounts.set_password("eve", "battery staple").unwrap();
        let opened = sessions.open(&overtaken, &Visit::default());
        assert!(matches!(opened, Err(Error::WrongLogin(_))), "{opened:?}");
        let kept = sessions_of(&sessions.records, overtaken.number).unwrap();
        assert!(kept.is_empty(), "{kept:?}");
    }
}
