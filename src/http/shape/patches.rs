//! Text diffs as far as the limits of an answer go.

use std::time::{Duration, Instant};

use crate::base::limits::{COMPARE_DIFF_BYTES_MAX, COMPARE_MS_MAX};
use crate::http::error::Error;
use crate::repo;
use crate::repo::{FileDifference, Patch};

/// How much more text is compared for one answer.
pub(in crate::http) struct Budget {
    time: Duration,
    bytes: usize,
}

impl Budget {
    pub(in crate::http) fn new() -> Self {
        Self::of_time(Duration::from_millis(COMPARE_MS_MAX))
    }

    /// One with less time than an answer has.
    pub(in crate::http) fn of_time(time: Duration) -> Self {
        Self {
            time,
            bytes: COMPARE_DIFF_BYTES_MAX,
        }
    }

    fn is_spent(&self) -> bool {
        self.bytes == 0 || self.time.is_zero()
    }

    /// The patch of a file, `None` when there is nothing left for it.
    pub(in crate::http) fn patch(
        &mut self,
        difference: &FileDifference,
    ) -> Result<Option<Patch>, Error> {
        if self.is_spent() {
            return Ok(None);
        }
        let begun = Instant::now();
        let patch = repo::patch(difference.old.as_ref(), difference.new.as_ref())?;
        self.time = self.time.saturating_sub(begun.elapsed());
        if let Patch::Text { hunks, .. } = &patch {
            self.bytes = self.bytes.saturating_sub(hunks.len());
        }
        Ok(Some(patch))
    }
}
