//! What becomes of a lock whose holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what is right at every moment, as counts, caches and values that are only replaced are: whoever panicked
/// while it was held has ended one request or one task, and leaves nothing by halves that another could meet.
///
/// Where a change has several steps, and what a panic leaves between them must not be gone on with, as with what is
/// being stored, the lock is taken with `expect("no panic while held")`: then all who come later panic, too.
pub fn lock<T: ?Sized>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
