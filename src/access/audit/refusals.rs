//! Refusals in the audit log: written in the background, and no more of them than somebody may read.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::budgets::Budgets;
use crate::access::error::Refusal;
use crate::base::actor::Actor;
use crate::base::clock::Clock;
use crate::base::threads::lock;
use crate::repo::Projects;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::Batch;
use crate::store::background_writes::BackgroundWrites;

/// Who is named in the log where a request that was refused named no account that is known.
pub const UNKNOWN_ACCOUNT: &str = "unknown account";

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A login, for its name or its password.
    Login,
    /// A login, because there were too many.
    ManyLogins,
    /// A token that does not count.
    Token,
    /// Somebody without the right.
    Right,
}

impl Refused {
    fn action(self) -> Action {
        match self {
            Self::Login => Action::LoginRefused,
            Self::ManyLogins => Action::LoginThrottled,
            Self::Token => Action::TokenRefused,
            Self::Right => Action::Forbidden,
        }
    }
}

/// The way of refusals into the audit log.
#[derive(Debug)]
pub(in crate::access) struct Refusals {
    clock: Arc<dyn Clock>,
    background: Arc<BackgroundWrites>,
    /// Those of each action, so that one kind does not hide another.
    budgets: Mutex<[Budgets; 4]>,
    written: AtomicU64,
}

impl Refusals {
    pub(in crate::access) fn new(projects: &Projects) -> Self {
        Self {
            clock: Arc::clone(projects.clock()),
            background: Arc::clone(projects.background()),
            budgets: Mutex::default(),
            written: AtomicU64::new(0),
        }
    }

    /// Has a refusal written soon, if there is room for it. The next one of its kind that is written says how many were
    /// not, those among them that the store refused, too: of whichever account, or of nobody who is known, as this one.
    ///
    /// # Limits
    /// [`REFUSALS_AUDITED_MINUTE_MAX`] of a kind in a minute, [`REFUSALS_AUDITED_DAY_MAX`] in a day. Of an account that
    /// is known a quarter and a tenth of that, for up to [`ACCOUNTS_MAX`] accounts, and for all others together as much
    /// as for who is not known.
    ///
    /// [`REFUSALS_AUDITED_MINUTE_MAX`]: crate::base::limits::REFUSALS_AUDITED_MINUTE_MAX
    /// [`REFUSALS_AUDITED_DAY_MAX`]: crate::base::limits::REFUSALS_AUDITED_DAY_MAX
    /// [`ACCOUNTS_MAX`]: super::budgets::ACCOUNTS_MAX
    pub(in crate::access) fn note(
        &self,
        refused: Refused,
        refusal: &Refusal,
        from: IpAddr,
        request: impl fmt::Display,
    ) {
        let left_out = {
            let mut budgets = lock(&self.budgets);
            budgets[refused as usize].take(refusal.account.as_deref(), self.clock.uptime_ms())
        };
        let Some(left_out) = left_out else {
            return;
        };
        let left_out = left_out + self.background.take_lost();
        let by = refusal.account.as_deref().unwrap_or(UNKNOWN_ACCOUNT);
        let actor = Actor::account(by, Some(from));
        let record = AuditRecord {
            token: refusal.token.clone(),
            detail: audit::detail(format!("{}: {request}", refusal.reason)),
            left_out: Some(left_out).filter(|count| *count > 0),
            ..AuditRecord::new(self.clock.now(), &actor, refused.action())
        };
        let mut batch = Batch::default();
        audit::add(&mut batch, &record);
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        // In the order in which they came.
        self.background.put(format!("audit/{number:016x}"), batch);
    }
}
