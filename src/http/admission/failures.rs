//! Failures, counted by who failed, so that guessing takes long.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard};

use quick_cache::unsync::Cache;

use super::network::ClientNetwork;
use crate::base::limits::{FAILED_CLIENTS_KEPT, FAILURES_SITE_FACTOR};
use crate::base::threads::lock;

/// In this time, in milliseconds, all that was counted is forgiven.
const MINUTE_MS: i64 = 60_000;

/// Counts failures, and says how long somebody who failed too often has to wait. Each failure is
/// forgiven after a minute's share: with 5 a minute, 5 may come at once and one more every 12 s.
/// `now_ms` is of the clock that nobody sets ([`Clock::uptime_ms`](crate::base::clock::Clock::uptime_ms)), so that one
/// who is refused has to wait as long as it was told, whatever becomes of the time of day.
///
/// # Limits
/// Remembers the 16,384 that failed last, some 40 bytes each.
#[derive(Debug)]
pub(in crate::http) struct Failures {
    /// Milliseconds after which one failure is forgiven; `None` when nothing is counted.
    forgiven_after_ms: Option<i64>,
    /// By the hash of who failed: when all is forgiven, by the same clock.
    clean_at_ms: Mutex<Cache<u64, i64>>,
    hasher: RandomState,
}

impl Failures {
    /// Allows so many a minute to each; 0 is no limit.
    pub(in crate::http) fn per_minute(most: u64) -> Self {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Self {
            forgiven_after_ms: (most > 0).then(|| (MINUTE_MS / most).max(1)),
            clean_at_ms: Mutex::new(Cache::new(FAILED_CLIENTS_KEPT)),
            hasher: RandomState::new(),
        }
    }

    /// How long this one has to wait, in seconds; `None` for who may try.
    pub(in crate::http) fn wait_s(&self, who: &impl Hash, now_ms: i64) -> Option<u64> {
        let forgiven_after_ms = self.forgiven_after_ms?;
        let room_ms = MINUTE_MS - forgiven_after_ms;
        let wait_ms = self.counted_ms(who, now_ms) - room_ms;
        let wait_ms = u64::try_from(wait_ms).ok().filter(|&ms| ms > 0)?;
        Some(wait_ms.div_ceil(1000))
    }

    /// Counts a failure.
    pub(in crate::http) fn add(&self, who: &impl Hash, now_ms: i64) {
        let Some(forgiven_after_ms) = self.forgiven_after_ms else {
            return;
        };
        let counted_ms = self.counted_ms(who, now_ms) + forgiven_after_ms;
        let clean_at_ms = now_ms + counted_ms.min(MINUTE_MS);
        self.table().insert(self.hasher.hash_one(who), clean_at_ms);
    }

    /// Forgives all failures of this one.
    pub(in crate::http) fn forgive(&self, who: &impl Hash) {
        self.table().remove(&self.hasher.hash_one(who));
    }

    /// How long it takes until all is forgiven, in milliseconds.
    fn counted_ms(&self, who: &impl Hash, now_ms: i64) -> i64 {
        let clean_at_ms = self.table().get(&self.hasher.hash_one(who)).copied();
        clean_at_ms.map_or(0, |at_ms| (at_ms - now_ms).max(0))
    }

    fn table(&self) -> MutexGuard<'_, Cache<u64, i64>> {
        lock(&self.clean_at_ms)
    }
}

/// Failures by client, and by the site of those that have one: who has a /48 of IPv6 has many clients.
#[derive(Debug)]
pub(in crate::http) struct ClientFailures {
    of_client: Failures,
    of_site: Failures,
}

impl ClientFailures {
    /// Allows so many a minute to each client, and [`FAILURES_SITE_FACTOR`] times as many to each site; 0 is no
    /// limit.
    pub(in crate::http) fn per_minute(most: u64) -> Self {
        Self {
            of_client: Failures::per_minute(most),
            of_site: Failures::per_minute(most.saturating_mul(FAILURES_SITE_FACTOR)),
        }
    }

    /// As [`Failures::wait_s`].
    pub(in crate::http) fn wait_s(&self, client: &ClientNetwork, now_ms: i64) -> Option<u64> {
        let site = client.site();
        let by_site = site.and_then(|site| self.of_site.wait_s(&site, now_ms));
        self.of_client.wait_s(client, now_ms).max(by_site)
    }

    /// As [`Failures::add`].
    pub(in crate::http) fn add(&self, client: &ClientNetwork, now_ms: i64) {
        self.of_client.add(client, now_ms);
        if let Some(site) = client.site() {
            self.of_site.add(&site, now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{Clock, ManualClock, Timestamp};

    #[test]
    fn who_fails_too_often_waits_and_nobody_else() {
        let clock = ManualClock::new(Timestamp::from_ms(1_000_000));
        let failures = Failures::per_minute(5);
        for _ in 0..5 {
            assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), None);
            failures.add(&"ann", clock.uptime_ms());
        }
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), Some(12));
        assert_eq!(failures.wait_s(&"bob", clock.uptime_ms()), None);
        clock.advance_s(11);
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), Some(1));
        clock.advance_s(1);
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), None);
        failures.add(&"ann", clock.uptime_ms());
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), Some(12));
        failures.forgive(&"ann");
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), None);
    }

    #[test]
    fn who_is_refused_waits_as_long_as_it_was_told_whatever_the_time_of_day_becomes() {
        let clock = ManualClock::new(Timestamp::from_ms(1_000_000_000));
        let failures = Failures::per_minute(1);
        failures.add(&"ann", clock.uptime_ms());
        for set_to_ms in [0, 2_000_000_000] {
            clock.set(Timestamp::from_ms(set_to_ms));
            assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), Some(60));
        }
        clock.set(Timestamp::from_ms(0));
        clock.advance_s(60);
        assert_eq!(failures.wait_s(&"ann", clock.uptime_ms()), None);
    }

    #[test]
    fn a_48_of_ipv6_fails_as_ten_clients_and_no_more() {
        let failures = ClientFailures::per_minute(3);
        let client = |site: u16, network: u16| {
            ClientNetwork::of([0x2001, 0xdb8, site, network, 0, 0, 0, 1].into())
        };
        for network in 0..10 {
            for _ in 0..3 {
                assert_eq!(failures.wait_s(&client(1, network), 0), None);
                failures.add(&client(1, network), 0);
            }
            assert!(failures.wait_s(&client(1, network), 0).is_some());
        }
        assert_eq!(failures.wait_s(&client(1, 10), 0), Some(2));
        assert_eq!(failures.wait_s(&client(2, 10), 0), None);
    }

    #[test]
    fn without_a_limit_nothing_is_counted_and_with_one_not_without_end() {
        let now = 0;
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
