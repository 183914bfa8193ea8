//! The gate's side for what is the caller's alone: sessions, and the password.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Caller, Gate};
use crate::access::error::{Error, Refusal, Result};
use crate::access::session_records::Session;
use crate::access::sessions::shown_id;
use crate::base::clock::Timestamp;
use crate::base::secret::Secret;

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// What it is ended by. Nobody can log in with it.
    pub id: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was last used, up to a minute behind.
    pub last_used_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
    /// The address that it was opened from, where that is known.
    pub from: Option<IpAddr>,
    /// True for the one that asks.
    pub is_present: bool,
}

impl Caller {
    /// When the session ends, however much it is used.
    pub fn session_ends_at(&self) -> Timestamp {
        self.ends_at
    }
}

impl Gate {
    /// How long a session is kept that is not used, in seconds.
    pub fn session_idle_s(&self) -> u64 {
        self.sessions.idle_s()
    }

    /// True if the account of this name has a session that was opened from such an address, and that nothing
    /// ended but time. There may be no such account.
    pub fn has_session_from(&self, name: &str, is_there: impl Fn(IpAddr) -> bool) -> Result<bool> {
        match self.known_account(name)? {
            Some(account) => self.sessions.has_one_from(&account, is_there),
            None => Ok(false),
        }
    }

    /// The caller's sessions, the last used first.
    pub fn own_sessions(&self, caller: &Caller) -> Result<Vec<SessionView>> {
        let sessions = self.sessions.of_account(&caller.account)?;
        let view = |session: &Arc<Session>| self.view_of(caller, session);
        Ok(sessions.iter().map(view).collect())
    }

    fn view_of(&self, caller: &Caller, session: &Session) -> SessionView {
        SessionView {
            id: shown_id(session.digest),
            created_at: session.created_at,
            last_used_at: session.last_seen,
            expires_at: self.sessions.end_of(session),
            from: session.from,
            is_present: session.digest == caller.session,
        }
    }

    /// Ends one of the caller's sessions; true if it was the one that asks. It counts no more when this
    /// returns.
    ///
    /// # Errors
    /// [`Error::NoSuchSession`], for another's too.
    pub fn end_own_session(&self, caller: &Caller, id: &str) -> Result<bool> {
        self.sessions.end(&caller.account, id, &caller.actor())?;
        Ok(shown_id(caller.session) == id)
    }

    /// Gives the caller another password, ends all its sessions, and opens a new one in place of the one
    /// that asks, in one commit: whoever else had that cookie is out.
    ///
    /// # Errors
    /// [`Error::WrongPassword`] when `old` is not the present one; [`Error::Invalid`] for a new one that
    /// breaks the rule; [`Error::Unauthenticated`] when meanwhile the session was ended, or the account
    /// disabled, removed, renamed or given a password by somebody else: that stands.
    ///
    /// # Limits
    /// As [`Gate::login`], twice.
    pub fn change_own_password(&self, caller: &Caller, old: &str, new: &str) -> Result<Secret> {
        let account = &caller.account;
        if !self.accounts.is_password(Some(account), old) {
            let refusal = Refusal::of(&account.name, "wrong old password");
            return Err(Error::WrongPassword(refusal));
        }
        let first = self.first_password_of(account);
        // While the session goes on, `old` is the password.
        let accounts = self.accounts.clone().acting(caller.actor());
        let accounts = accounts.made_by(caller.maker(), |_| true);
        let overtaken = || Error::ended_session(&account.name);
        let changed = accounts.set_password_and(&account.name, new, |changed, batch| {
            // The name may be another's now.
            if changed.number != account.number {
                return Err(overtaken());
            }
            let (secret, _) = self.sessions.begin(changed, caller.from, batch);
            Ok(secret)
        });
        let secret = changed.map_err(|error| match error {
            Error::NoSuchAccount { .. } => overtaken(),
            other => other,
        })?;
        first.forget();
        Ok(secret)
    }
}
