//! How a watch asks: whether the server may hold its answer back, and how long the watch pauses then.

use std::collections::VecDeque;
use std::time::Duration;

use super::bring::Done;
use super::remote::client::jittered;

/// How long the server is asked to hold its answer back until something is new.
const WAIT: Duration = Duration::from_secs(30);
/// An answer without something new that came sooner was not held.
const SOON: Duration = Duration::from_secs(5);
/// So many questions in a row that were not held show that none is: a restart of the service answers one early and
/// refuses the next, or the first may have told a tag that is new while the head is not.
const VAIN_MAX: u32 = 3;
/// How many questions are then asked by the interval, before one may be held again.
const POLLS: u32 = 10;
/// Pause after a change.
const AFTER_CHANGE: Duration = Duration::from_secs(1);
/// How many heads are remembered, to see one come back.
const RECENT_MAX: usize = 8;

/// How a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// It was not to be held.
    Plainly,
    /// It was held, until something was new or the time was over.
    Held,
    /// It was to be held, and was answered at once.
    AtOnce,
    /// It was to be held and broke off, as by a proxy; one that was not to be held was answered.
    Cut,
}

/// How a watch asks.
#[derive(Debug)]
pub(super) struct Pace {
    /// Between two questions that are not held.
    interval: Duration,
    /// True once the folder is known to hold a head: then there is something to wait for.
    has_head: bool,
    /// Questions that were to be held and were not, one after the other.
    vain: u32,
    /// Questions that are still asked by the interval.
    polls: u32,
    /// The last heads, without a quiet time between them.
    recent: VecDeque<String>,
    /// How often one of them came back.
    returns: u32,
}

impl Answered {
    /// How a question was answered that was to be held for `wait` and took so long.
    pub(super) fn after(took: Duration, wait: Duration) -> Self {
        if took < SOON.min(wait / 2) {
            Self::AtOnce
        } else {
            Self::Held
        }
    }
}

impl Pace {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            has_head: false,
            vain: 0,
            polls: 0,
            recent: VecDeque::new(),
            returns: 0,
        }
    }

    /// How long the server may hold the next answer back; `None` for a plain question.
    pub(super) fn wait(&self) -> Option<Duration> {
        (self.has_head && self.polls == 0).then_some(WAIT)
    }

    /// Takes note of a pull after which the folder holds this head; gives the pause before the next.
    pub(super) fn after(&mut self, answered: Answered, done: &Done, head: &str) -> Duration {
        let is_new = *done != Done::Unchanged;
        let is_poll = self.has_head && answered == Answered::Plainly;
        self.has_head = true;
        match answered {
            Answered::Plainly => self.polls = self.polls.saturating_sub(1),
            Answered::Held => self.vain = 0,
            Answered::AtOnce if is_new => {}
            Answered::AtOnce | Answered::Cut => self.vain += 1,
        }
        if self.vain >= VAIN_MAX {
            self.polls = POLLS;
            // Of the next one that is to be held one is enough.
            self.vain = VAIN_MAX - 1;
        }
        let by_interval = if is_poll || self.polls > 0 {
            jittered(self.interval)
        } else {
            Duration::ZERO
        };
        if is_new {
            return by_interval.max(self.after_change(head));
        }
        if answered == Answered::Held {
            self.recent.clear();
            self.returns = 0;
        }
        by_interval
    }

    /// Twice as long with each return of a head that the folder had lately: two services behind one
    /// name, or somebody who changes the folder as often as it is mended, are no reason to hurry.
    fn after_change(&mut self, head: &str) -> Duration {
        if self.recent.iter().any(|known| known == head) {
            self.returns += 1;
        } else {
            self.returns = 0;
            self.recent.push_back(head.to_owned());
            if self.recent.len() > RECENT_MAX {
                self.recent.pop_front();
            }
        }
        let longest = self.interval.max(AFTER_CHANGE);
        let factor = 1_u32 << self.returns.min(20);
        jittered((AFTER_CHANGE * factor).min(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::pull::bring::Switched;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn changed() -> Done {
        Done::Switched(Switched::default())
    }

    /// True for a pause of so many seconds and its jitter.
    fn is(pause: Duration, seconds: u64) -> bool {
        let least = Duration::from_secs(seconds);
        least <= pause && pause <= least + least / 4
    }

    #[test]
    fn an_answer_that_came_soon_was_not_held() {
        let after =
            |ms, wait_s| Answered::after(Duration::from_millis(ms), Duration::from_secs(wait_s));
        assert_eq!(after(4_900, 30), Answered::AtOnce);
        assert_eq!(after(5_000, 30), Answered::Held);
        assert_eq!(after(400, 1), Answered::AtOnce);
        assert_eq!(after(600, 1), Answered::Held);
    }

    fn watching() -> Pace {
        let mut pace = Pace::new(INTERVAL);
        assert_eq!(pace.wait(), None);
        assert_eq!(
            pace.after(Answered::Plainly, &Done::Unchanged, "a"),
            Duration::ZERO
        );
        assert_eq!(pace.wait(), Some(WAIT));
        pace
    }

    #[test]
    fn a_server_that_does_not_hold_is_asked_by_the_interval_and_later_to_hold_again() {
        for vain in [Answered::AtOnce, Answered::Cut] {
            let mut pace = watching();
            for _ in 1..VAIN_MAX {
                assert_eq!(pace.after(vain, &Done::Unchanged, "a"), Duration::ZERO);
            }
            for _ in 0..3 {
                assert_eq!(pace.wait(), Some(WAIT));
                assert!(is(pace.after(vain, &Done::Unchanged, "a"), 30));
                for _ in 0..POLLS {
                    assert_eq!(pace.wait(), None);
                    let pause = pace.after(Answered::Plainly, &Done::Unchanged, "a");
                    assert!(is(pause, 30));
                }
            }
            assert_eq!(
                pace.after(Answered::Held, &Done::Unchanged, "a"),
                Duration::ZERO
            );
            // Then a restart of the service, which answers one early and refuses the next, does no harm.
            for restart in [Answered::AtOnce, Answered::Cut] {
                let pause = pace.after(restart, &Done::Unchanged, "a");
                assert_eq!(pause, Duration::ZERO);
            }
            assert_eq!(pace.wait(), Some(WAIT));
        }
    }

    #[test]
    fn heads_that_come_back_are_taken_less_and_less_often() {
        let mut pace = watching();
        assert!(is(pace.after(Answered::AtOnce, &changed(), "a"), 1));
        assert!(is(pace.after(Answered::AtOnce, &changed(), "b"), 1));
        for seconds in [2, 4, 8, 16, 30, 30] {
            let head = if seconds % 3 == 1 { "a" } else { "b" };
            assert!(is(pace.after(Answered::AtOnce, &changed(), head), seconds));
        }
        // What is new is not kept waiting for that, nor what comes after a quiet time.
        assert!(is(pace.after(Answered::AtOnce, &changed(), "c"), 1));
        assert!(is(pace.after(Answered::AtOnce, &changed(), "b"), 2));
        assert_eq!(
            pace.after(Answered::Held, &Done::Unchanged, "b"),
            Duration::ZERO
        );
        assert!(is(pace.after(Answered::Held, &changed(), "a"), 1));
    }
}
