//! How much work checks may take together.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::clock::Clock;
use crate::base::limits::{CHECK_STEPS, CHECKS_S_MAX, CHECKS_STEPS_MAX};
use crate::repo::{Error, Result};
use crate::store::StoreError;

/// What may still be spent on checks. Clones share it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Effort {
    left: Arc<Mutex<Left>>,
    /// `None` where nothing is counted.
    clock: Option<Arc<dyn Clock>>,
    /// True where the bytes that keep to a format count.
    counts_formats: bool,
    refusal: &'static str,
}

#[derive(Debug, Default)]
struct Left {
    steps: f64,
    /// The time that checks themselves may still take, in milliseconds.
    ms: i64,
}

impl Effort {
    /// For all files of a change.
    ///
    /// # Limits
    /// [`CHECKS_STEPS_MAX`] and [`CHECKS_S_MAX`].
    pub(in crate::repo) fn of_change(clock: &Arc<dyn Clock>) -> Self {
        let refusal = "it takes too long to hold all files of this change against the rules, so nothing was \
                       changed: make it in several parts";
        Self::limited(clock, refusal)
    }

    /// For all files that a rollback brings back. A whole branch may come back at once, of whatever size, so the
    /// bytes that are held against a format take time alone, where they keep to it.
    ///
    /// # Limits
    /// As [`Effort::of_change`].
    pub(in crate::repo) fn of_rollback(clock: &Arc<dyn Clock>) -> Self {
        Self {
            counts_formats: false,
            ..Self::of_change(clock)
        }
    }

    /// For the schemas of all branches.
    ///
    /// # Limits
    /// As [`Effort::of_change`].
    pub(in crate::repo) fn of_schemas(clock: &Arc<dyn Clock>) -> Self {
        let refusal = "it takes too long to read the schemas of all branches, so nothing was changed: make \
                       them simpler, or the same in more branches";
        Self::limited(clock, refusal)
    }

    /// For who may take as long as it takes.
    pub(in crate::repo) fn unlimited() -> Self {
        Self {
            left: Arc::default(),
            clock: None,
            counts_formats: false,
            refusal: "",
        }
    }

    fn limited(clock: &Arc<dyn Clock>, refusal: &'static str) -> Self {
        let left = Left {
            steps: CHECKS_STEPS_MAX,
            ms: CHECKS_S_MAX * 1000,
        };
        Self {
            left: Arc::new(Mutex::new(left)),
            clock: Some(Arc::clone(clock)),
            counts_formats: true,
            refusal,
        }
    }

    /// Takes so many steps, before they are made.
    ///
    /// # Errors
    /// [`Error::Invalid`] where so many are not left; [`StoreError::Busy`] where no time is, as a machine that has
    /// less to do makes the same steps sooner.
    pub(super) fn spend(&self, steps: f64) -> Result<()> {
        if self.clock.is_none() {
            return Ok(());
        }
        let mut left = self.left();
        left.steps -= steps;
        if left.steps < 0.0 {
            return Err(Error::invalid(self.refusal));
        }
        if left.ms <= 0 {
            return Err(StoreError::Busy.into());
        }
        Ok(())
    }

    /// Takes the steps to hold so many bytes against a format.
    ///
    /// # Errors
    /// As [`Effort::spend`].
    pub(super) fn spend_on_format(&self, bytes: f64) -> Result<()> {
        let counted = if self.counts_formats { bytes } else { 0.0 };
        self.spend(CHECK_STEPS + counted)
    }

    /// Counts so many bytes that do not keep to a format, if they were not counted before: a fault at the beginning
    /// takes no time, but all bytes were read.
    pub(super) fn count_broken(&self, bytes: f64) {
        if !self.counts_formats {
            self.left().steps -= bytes;
        }
    }

    /// Does a part of a check, whose time counts. What is not done here does not: waiting for the branch, and for
    /// contents.
    pub(super) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(clock) = &self.clock else {
            return work();
        };
        let begun = clock.uptime_ms();
        let done = work();
        self.left().ms -= clock.uptime_ms() - begun;
        done
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};

    /// An effort, and how long it takes.
    fn with_clock(effort: impl FnOnce(&Arc<dyn Clock>) -> Effort) -> (Effort, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(0)));
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
        (effort(&shared), clock)
    }

    #[test]
    fn only_the_time_of_checks_counts() {
        let (effort, clock) = with_clock(Effort::of_change);
        clock.advance_s(3600);
        effort.timed(|| clock.advance_s(19));
        clock.advance_s(3600);
        effort.spend(1.0).unwrap();
        effort.clone().timed(|| clock.advance_s(1));
        let refused = effort.spend(1.0);
        assert!(matches!(refused, Err(Error::Store(error)) if matches!(*error, StoreError::Busy)));
        // More than there may be is no matter of time.
        let refused = effort.spend(CHECKS_STEPS_MAX);
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }

    #[test]
    fn what_comes_back_is_held_against_formats_whatever_its_size() {
        let bytes = CHECKS_STEPS_MAX / 10.0;
        let fails_at =
            |effort: &Effort| (0..100).position(|_| effort.spend_on_format(bytes).is_err());
        let (rollback, _) = with_clock(Effort::of_rollback);
        assert_eq!(fails_at(&rollback), None);
        rollback.count_broken(bytes);
        rollback.spend(1.0).unwrap();
        rollback.count_broken(CHECKS_STEPS_MAX);
        assert!(rollback.spend(1.0).is_err());
        let (change, _) = with_clock(Effort::of_change);
        assert_eq!(fails_at(&change), Some(9));
    }
}
