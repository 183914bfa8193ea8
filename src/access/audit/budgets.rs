//! How many refusals of one kind the audit log tells of: no more than somebody may read, and of no account so many that
//! those of another are left out for them.

use std::collections::BTreeMap;
use std::mem;

use crate::base::limits::{REFUSALS_AUDITED_DAY_MAX, REFUSALS_AUDITED_MINUTE_MAX};

/// Spans of time, in milliseconds, and how many may be written in each.
type Spans = [(i64, i64); 2];

/// What all have together who have no share of their own.
const TOGETHER: Spans = spans(1, 1);
/// What each account has. Some in a minute are wanted: who mistypes a password does so a few times in a row.
const OF_ACCOUNT: Spans = spans(4, 10);
/// How many accounts have a share of their own at once.
pub(super) const ACCOUNTS_MAX: usize = 50;

/// These parts of what may be written in a minute and in a day.
const fn spans(of_minute: i64, of_day: i64) -> Spans {
    [
        (60_000, REFUSALS_AUDITED_MINUTE_MAX / of_minute),
        (24 * 3_600_000, REFUSALS_AUDITED_DAY_MAX / of_day),
    ]
}

/// The budgets of one kind of refusals.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    unknown: Budget,
    unknown_left_out: u64,
    /// Of the accounts that were refused of late, by their names. Their number bounds what is written as a whole, and
    /// an attacker must know the names of so many to hide what others are refused.
    accounts: BTreeMap<String, Budget>,
    /// Of all other accounts.
    others: Budget,
    /// Of all accounts, so that none is lost with a share that is forgotten.
    known_left_out: u64,
}

impl Budgets {
    /// Takes room for one refusal, of this account or of nobody who is known. How many found none since the last that
    /// did, of accounts or of who is not known; `None` if there is none now.
    pub(super) fn take(&mut self, account: Option<&str>, now_ms: i64) -> Option<u64> {
        let (has_room, left_out) = if let Some(name) = account {
            let has_room = self.take_of(name, now_ms);
            (has_room, &mut self.known_left_out)
        } else {
            let has_room = self.unknown.take(TOGETHER, now_ms);
            (has_room, &mut self.unknown_left_out)
        };
        if has_room {
            return Some(mem::take(left_out));
        }
        *left_out += 1;
        None
    }

    /// Takes room for one refusal of this account: of its own share, or where too many have one, of that of all others.
    fn take_of(&mut self, name: &str, now_ms: i64) -> bool {
        if let Some(own) = self.accounts.get_mut(name) {
            return own.take(OF_ACCOUNT, now_ms);
        }
        if self.accounts.len() >= ACCOUNTS_MAX {
            // A whole one is as one that was never taken of.
            self.accounts.retain(|_, budget| !budget.is_whole(now_ms));
        }
        if self.accounts.len() >= ACCOUNTS_MAX {
            return self.others.take(TOGETHER, now_ms);
        }
        let own = self.accounts.entry(name.to_owned()).or_default();
        own.take(OF_ACCOUNT, now_ms)
    }
}

/// How much may be written: of each span, a share is given back after its part of the time.
#[derive(Debug, Default)]
struct Budget {
    /// When all is given back of each, by the clock that nobody sets.
    full_at_ms: [i64; 2],
}

impl Budget {
    /// Takes room for one; false if there is none now.
    fn take(&mut self, spans: Spans, now_ms: i64) -> bool {
        let mut full_at_ms = self.full_at_ms;
        for (full_at_ms, (span_ms, most)) in full_at_ms.iter_mut().zip(spans) {
            let taken_ms = (*full_at_ms - now_ms).clamp(0, span_ms) + span_ms / most;
            if taken_ms > span_ms {
                return false;
            }
            *full_at_ms = now_ms + taken_ms;
        }
        // Only where all have room.
        self.full_at_ms = full_at_ms;
        true
    }

    /// True if all of it was given back.
    fn is_whole(&self, now_ms: i64) -> bool {
        self.full_at_ms.iter().all(|full_at| *full_at <= now_ms)
    }
}
