//! How far the clock of this machine is from the database's, which all daemons have in common. Sessions and
//! tokens end by the clock of the daemon that is asked: where clocks differ, they end at one and count at another.

use std::sync::{Mutex, MutexGuard};

use crate::base::clock::{Timestamp, ahead_ms};
use crate::base::limits::CLOCK_SKEW_TOLD_MS;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Skew {
    /// How many milliseconds the clock of this machine is ahead, at least; `None` before it was compared.
    ahead_ms: Mutex<Option<i64>>,
}

impl Skew {
    /// Takes what the database's clock showed between two readings of the clock of this machine. The log is
    /// told when they part, and when they agree again.
    pub(super) fn note(&self, before: Timestamp, told: Timestamp, after: Timestamp) {
        if after < before {
            // It was set meanwhile.
            return;
        }
        let ahead = ahead_ms(before, told, after);
        let was = self.known().replace(ahead);
        let (is_told, was_told) = (is_much(ahead), was.is_some_and(is_much));
        if is_told && !was_told {
            tracing::warn!(
                ahead_ms = ahead,
                "the clock of this machine differs from the database's: sessions and tokens end earlier at \
                 one daemon than at another; set both by NTP"
            );
        } else if was_told && !is_told {
            tracing::info!("the clock of this machine agrees with the database's again");
        }
    }

    /// How many milliseconds the clock of this machine is ahead, at least; below 0 it is behind. `None` before
    /// they were compared.
    pub(super) fn ahead_ms(&self) -> Option<i64> {
        *self.known()
    }

    fn known(&self) -> MutexGuard<'_, Option<i64>> {
        self.ahead_ms.lock().expect("no panic while held")
    }
}

fn is_much(ahead_ms: i64) -> bool {
    ahead_ms.unsigned_abs() > CLOCK_SKEW_TOLD_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_the_readings_is_no_difference() {
        let skew = Skew::default();
        let at = Timestamp::from_ms;
        for (before, told, after, ahead) in [
            (1_000, 1_200, 1_500, 0),
            (1_000, 1_000, 1_000, 0),
            (5_000, 1_000, 5_500, 4_000),
            (1_000, 9_000, 1_500, -7_500),
            // The clock was set back meanwhile: what was known stays.
            (9_000, 5_000, 1_000, -7_500),
        ] {
            skew.note(at(before), at(told), at(after));
            assert_eq!(skew.ahead_ms(), Some(ahead), "{before} {told} {after}");
        }
    }
}
