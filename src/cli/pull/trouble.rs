//! Failures one after the other, after which the attempts become rarer.

use std::time::Duration;

use super::remote::client::jittered;
use crate::base::clock::{Clock, SystemClock, Timestamp};

/// First pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// Failures of one kind, if there are any.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    since: Option<Timestamp>,
    pause: Duration,
}

impl Trouble {
    /// Takes note of a failure. Gives when the first of them was, and the pause before the next attempt,
    /// which is as long as `wanted` at least, within bounds.
    pub(super) fn fail(&mut self, wanted: Duration) -> (Timestamp, Duration) {
        let since = *self.since.get_or_insert_with(|| SystemClock.now());
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, PAUSE_MAX);
        let pause = self.pause.max(wanted.min(PAUSE_MAX));
        (since, jittered(pause))
    }

    /// Takes note of a success. Gives when the first failure before it was.
    pub(super) fn end(&mut self) -> Option<Timestamp> {
        std::mem::take(self).since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let mut trouble = Trouble::default();
        assert_eq!(trouble.end(), None);
        let first = trouble.fail(Duration::ZERO).0;
        for seconds in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let (since, pause) = trouble.fail(Duration::ZERO);
            assert_eq!(since, first);
            let least = Duration::from_secs(seconds);
            assert!(least <= pause && pause <= least + least / 4, "{pause:?}");
        }
        assert_eq!(trouble.end(), Some(first));
        // The server may want more, but not for ever.
        assert!(trouble.fail(Duration::from_secs(9)).1 >= Duration::from_secs(9));
        assert!(trouble.fail(Duration::MAX).1 <= PAUSE_MAX * 5 / 4);
    }
}
