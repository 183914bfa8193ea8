//! Failures, counted by who failed, so that guessing takes long.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use quick_cache::unsync::Cache;

use crate::base::clock::Timestamp;
use crate::base::limits::FAILED_CLIENTS_KEPT;

/// In this time, in milliseconds, all that was counted is forgiven.
const MINUTE_MS: i64 = 60_000;

/// Counts failures, and says how long somebody who failed too often has to wait. Each failure is
/// forgiven after a minute's share: with 5 a minute, 5 may come at once and one more every 12 s.
///
/// # Limits
/// Remembers the 16,384 that failed last, some 40 bytes each.
#[derive(Debug)]
pub(in crate::http) struct Failures {
    /// Milliseconds after which one failure is forgiven; `None` when nothing is counted.
    forgiven_after_ms: Option<i64>,
    /// By the hash of who failed: when all is forgiven.
    clean_at: Mutex<Cache<u64, Timestamp>>,
    hasher: RandomState,
}

impl Failures {
    /// Allows so many a minute to each; 0 is no limit.
    pub(in crate::http) fn per_minute(most: u64) -> Self {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Self {
            forgiven_after_ms: (most > 0).then(|| (MINUTE_MS / most).max(1)),
            clean_at: Mutex::new(Cache::new(FAILED_CLIENTS_KEPT)),
            hasher: RandomState::new(),
        }
    }

    /// How long this one has to wait, in seconds; `None` for who may try.
    pub(in crate::http) fn wait_s(&self, who: &impl Hash, now: Timestamp) -> Option<u64> {
        let forgiven_after_ms = self.forgiven_after_ms?;
        let room_ms = MINUTE_MS - forgiven_after_ms;
        let wait_ms = self.counted_ms(who, now) - room_ms;
        let wait_ms = u64::try_from(wait_ms).ok().filter(|&ms| ms > 0)?;
        Some(wait_ms.div_ceil(1000))
    }

    /// Counts a failure.
    pub(in crate::http) fn add(&self, who: &impl Hash, now: Timestamp) {
        let Some(forgiven_after_ms) = self.forgiven_after_ms else {
            return;
        };
        let counted_ms = self.counted_ms(who, now) + forgiven_after_ms;
        let clean_at = Timestamp::from_ms(now.ms() + counted_ms.min(MINUTE_MS));
        self.table().insert(self.hasher.hash_one(who), clean_at);
    }

    /// Forgives all failures of this one.
    pub(in crate::http) fn forgive(&self, who: &impl Hash) {
        self.table().remove(&self.hasher.hash_one(who));
    }

    /// How long it takes until all is forgiven, in milliseconds: a minute at most, whatever a clock that
    /// was set back says.
    fn counted_ms(&self, who: &impl Hash, now: Timestamp) -> i64 {
        let clean_at = self.table().get(&self.hasher.hash_one(who)).copied();
        clean_at.map_or(0, |at| (at.ms() - now.ms()).clamp(0, MINUTE_MS))
    }

    fn table(&self) -> MutexGuard<'_, Cache<u64, Timestamp>> {
        self.clean_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{Clock, ManualClock};

    #[test]
    fn who_fails_too_often_waits_and_nobody_else() {
        let clock = ManualClock::new(Timestamp::from_ms(1_000_000));
        let failures = Failures::per_minute(5);
        for _ in 0..5 {
            assert_eq!(failures.wait_s(&"ann", clock.now()), None);
            failures.add(&"ann", clock.now());
        }
        assert_eq!(failures.wait_s(&"ann", clock.now()), Some(12));
        assert_eq!(failures.wait_s(&"bob", clock.now()), None);
        clock.advance_s(11);
        assert_eq!(failures.wait_s(&"ann", clock.now()), Some(1));
        clock.advance_s(1);
        assert_eq!(failures.wait_s(&"ann", clock.now()), None);
        failures.add(&"ann", clock.now());
        assert_eq!(failures.wait_s(&"ann", clock.now()), Some(12));
        failures.forgive(&"ann");
        assert_eq!(failures.wait_s(&"ann", clock.now()), None);
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let clock = ManualClock::new(Timestamp::from_ms(1_000_000_000));
        let failures = Failures::per_minute(1);
        failures.add(&"ann", clock.now());
        clock.set(Timestamp::from_ms(0));
        assert_eq!(failures.wait_s(&"ann", clock.now()), Some(60));
    }

    #[test]
    fn without_a_limit_nothing_is_counted_and_with_one_not_without_end() {
        let now = Timestamp::from_ms(0);
        let unlimited = Failures::per_minute(0);
        unlimited.add(&1, now);
        assert_eq!(unlimited.wait_s(&1, now), None);
        let failures = Failures::per_minute(1);
        for client in 0..2 * FAILED_CLIENTS_KEPT {
            failures.add(&client, now);
        }
        assert!(failures.table().len() <= FAILED_CLIENTS_KEPT);
    }
}
