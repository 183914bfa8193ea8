//! Telling a head that is no longer kept from damage.

use std::thread;
use std::time::{Duration, Instant};

use crate::base::may_block;

/// How long a record may be older than what is kept, because another process has written.
const OLD_MAX: Duration = Duration::from_millis(250);
/// Pause before it is read again.
const READ_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Objects that a head did not have: its record was older than what is kept in the store, or the store
/// is damaged.
#[derive(Debug, Default)]
pub(super) struct MissingObjects {
    since: Option<Instant>,
}

impl MissingObjects {
    /// One was missing; the change may be tried again when this returns.
    pub(super) fn met(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        may_block(|| thread::sleep(READ_AGAIN_AFTER));
    }

    /// True if it is not for the record's age.
    pub(super) fn is_damage(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= OLD_MAX)
    }
}
