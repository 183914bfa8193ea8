//! How long a client is waited for while its body comes.

use std::time::Duration;

/// The time that a client has left. Only time in which the service waited for it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Patience {
    left: Duration,
    /// For a body that must only keep on coming.
    steady: Option<Steady>,
}

/// Each time that so many bytes have come, the client has the whole time again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Steady {
    grace: Duration,
    /// Bytes that must come in that time.
    bytes: u64,
    bytes_missing: u64,
}

impl Patience {
    /// The whole body must be there within this time.
    pub(in crate::http) fn for_whole(seconds: u64) -> Self {
        Self {
            left: Duration::from_secs(seconds),
            steady: None,
        }
    }

    /// The body must come at this many bytes a second on average, in every stretch of this time.
    pub(in crate::http) fn for_steady(seconds: u64, bytes_s_min: u64) -> Self {
        let grace = Duration::from_secs(seconds);
        let bytes = seconds.saturating_mul(bytes_s_min).max(1);
        Self {
            left: grace,
            steady: Some(Steady {
                grace,
                bytes,
                bytes_missing: bytes,
            }),
        }
    }

    /// Wants this many bytes a second at least, of a body that must keep on coming and of which nothing has come.
    pub(in crate::http) fn want(&mut self, bytes_s_min: u64) {
        if let Some(steady) = &mut self.steady {
            let bytes = steady.grace.as_secs().saturating_mul(bytes_s_min);
            steady.bytes = steady.bytes.max(bytes);
            steady.bytes_missing = steady.bytes;
        }
    }

    /// The time left.
    pub(in crate::http) fn left(&self) -> Duration {
        self.left
    }

    /// So many bytes came, and were waited for so long.
    pub(in crate::http) fn received(&mut self, bytes: usize, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
        if let Some(steady) = &mut self.steady {
            steady.bytes_missing = steady.bytes_missing.saturating_sub(bytes as u64);
            if steady.bytes_missing == 0 {
                *self = Self {
                    left: steady.grace,
                    steady: Some(Steady {
                        bytes_missing: steady.bytes,
                        ..*steady
                    }),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Seconds that a client is waited for which sends so many bytes a second.
    fn lasts_s(mut patience: Patience, bytes_per_s: usize) -> Option<u64> {
        for second in 0..1000 {
            if patience.left() < SECOND {
                return Some(second);
            }
            patience.received(bytes_per_s, SECOND);
        }
        None
    }

    #[test]
    fn a_small_body_has_one_time_and_a_large_one_must_keep_on_coming() {
        assert_eq!(lasts_s(Patience::for_whole(20), 1 << 20), Some(20));
        for (bytes_per_s, lasts) in [(0, Some(30)), (1, Some(30)), (1023, Some(30)), (1024, None)] {
            let patience = Patience::for_steady(30, 1024);
            assert_eq!(lasts_s(patience, bytes_per_s), lasts, "{bytes_per_s}");
        }
        let mut wanted = Patience::for_steady(30, 1024);
        wanted.want(2048);
        assert_eq!(lasts_s(wanted, 2047), Some(30));
        assert_eq!(lasts_s(wanted, 2048), None);
        let mut paused = Patience::for_steady(30, 1024);
        paused.received(1 << 30, SECOND);
        assert_eq!(lasts_s(paused, 1), Some(30), "haste is not saved up");
        assert_eq!(
            lasts_s(Patience::for_steady(30, 0), 1),
            None,
            "any pace will do"
        );
        assert_eq!(
            lasts_s(Patience::for_steady(30, 0), 0),
            Some(30),
            "silence will not"
        );
    }
}
