//! Backups and collections take turns: one waits for the other.

use std::thread;
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::store;
use crate::store::StoreError;

/// How long one waits.
const WAIT: Duration = Duration::from_mins(1);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);

/// Begins what may not run beside something else, as soon as that has ended. It waits for a minute, and no longer when
/// it is asked to end.
///
/// # Errors
/// Those of `begin`; [`StoreError::Underway`] after the minute.
pub(in crate::cli) fn in_turn<T>(
    stop: &Stop,
    mut begin: impl FnMut() -> store::Result<T>,
) -> store::Result<T> {
    let began = Instant::now();
    loop {
        match begin() {
            Err(StoreError::Underway { .. }) if began.elapsed() < WAIT && !stop.is_asked() => {
                thread::sleep(LOOK);
            }
            outcome => return outcome,
        }
    }
}
