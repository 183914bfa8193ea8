//! How many projects, accounts, sessions and tokens there are. It reads them all: for once a
//! minute, not for every request.

use std::sync::Arc;

use super::error::Result;
use super::gate::Gate;
use super::keys;
use super::session_records::Session;
use super::token::Token;

/// A token that ends within so many seconds is about to.
const SOON_S: u64 = 30 * 24 * 3600;

/// How many there are of what counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Projects.
    pub projects: u64,
    /// Accounts, disabled ones too.
    pub accounts: u64,
    /// Sessions.
    pub sessions: u64,
    /// Tokens.
    pub tokens: u64,
    /// Of these, those that end within 30 days.
    pub tokens_ending: u64,
}

impl Gate {
    /// Counts what counts now.
    pub fn census(&self) -> Result<Census> {
        let now = self.projects.steady_clock().now();
        let count = |records: usize| u64::try_from(records).unwrap_or(u64::MAX);
        let mut census = Census {
            projects: count(self.projects.all()?.len()),
            accounts: count(self.accounts.list()?.len()),
            ..Census::default()
        };
        let records = &self.accounts.records;
        records.each(keys::SESSIONS, |session: Arc<Session>| {
            census.sessions += u64::from(self.sessions.counts(&session, now));
        })?;
        records.each(keys::TOKENS, |token: Arc<Token>| {
            if !token.has_expired(now) {
                census.tokens += 1;
                let ends = token.expires_at.is_some_and(|at| at <= now.plus_s(SOON_S));
                census.tokens_ending += u64::from(ends);
            }
        })?;
        Ok(census)
    }
}
