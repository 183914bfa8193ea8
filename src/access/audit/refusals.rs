//! Refusals in the audit log: written in the background, and no more of them than somebody may read.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::access::error::Refusal;
use crate::base::actor::Actor;
use crate::base::clock::Clock;
use crate::base::limits::{REFUSALS_AUDITED_DAY_MAX, REFUSALS_AUDITED_MINUTE_MAX};
use crate::base::threads::lock;
use crate::repo::Projects;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::Batch;
use crate::store::background_writes::BackgroundWrites;

/// The spans of time in which so many may be written, in milliseconds.
const SPANS: [(i64, i64); 2] = [
    (60_000, REFUSALS_AUDITED_MINUTE_MAX),
    (24 * 3_600_000, REFUSALS_AUDITED_DAY_MAX),
];

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
    /// One for each action, so that one kind does not hide another; and of each, one for who is not known and one for
    /// accounts that are: nobody needs an account to hide theirs.
    budgets: Mutex<[[Budget; 2]; 4]>,
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

    /// Has a refusal written soon, if there is room for it. The next one that is written by the
    /// same budget says how many were not, those among them that the store refused, too.
    ///
    /// # Limits
    /// [`REFUSALS_AUDITED_MINUTE_MAX`] of a kind in a minute, [`REFUSALS_AUDITED_DAY_MAX`] in a day; and as many of
    /// accounts that are known.
    pub(in crate::access) fn note(
        &self,
        refused: Refused,
        refusal: &Refusal,
        from: IpAddr,
        request: impl fmt::Display,
    ) {
        let left_out = {
            let mut budgets = lock(&self.budgets);
            let is_known = refusal.account.is_some();
            budgets[refused as usize][usize::from(is_known)].take(self.clock.uptime_ms())
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

/// How much may be written: of each span, a share is given back after its part of the time.
#[derive(Debug, Default)]
struct Budget {
    /// When all is given back of each, by the clock that nobody sets.
    full_at_ms: [i64; SPANS.len()],
    left_out: u64,
}

impl Budget {
    /// Takes room for one. How many found none since the last that did; `None` if there is none now.
    fn take(&mut self, now_ms: i64) -> Option<u64> {
        let mut full_at_ms = self.full_at_ms;
        for (full_at_ms, (span_ms, most)) in full_at_ms.iter_mut().zip(SPANS) {
            let taken_ms = (*full_at_ms - now_ms).clamp(0, span_ms) + span_ms / most;
            if taken_ms > span_ms {
                self.left_out += 1;
                return None;
            }
            *full_at_ms = now_ms + taken_ms;
        }
        // Only where all have room.
        self.full_at_ms = full_at_ms;
        Some(std::mem::take(&mut self.left_out))
    }
}
