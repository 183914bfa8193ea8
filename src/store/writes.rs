//! Whether a store takes changes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Whether a store takes changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// It does.
    Taken,
    /// The last change found no room, or less is free than is to stay so; it heals.
    Full,
    /// It lies elsewhere, and does not answer or cannot be used: nothing is read, either. It heals.
    Away,
    /// It lies elsewhere, and no longer has what it had: nothing is read or written until a restart.
    WentBack,
    /// A write has failed: nothing more is written until a restart.
    Stopped,
}

/// Whether the last change found room.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// When one found none.
    lacked: Mutex<Option<Instant>>,
}

impl Room {
    /// After so long it counts as there: whoever is sent no requests while it lacks would never find it.
    const BELIEVED_FOR: Duration = Duration::from_mins(1);

    /// Notes whether a change found room.
    pub(super) fn note(&self, is_lacking: bool) {
        *self.lacked() = is_lacking.then(Instant::now);
    }

    /// True if the last change found none, not longer than a minute ago.
    pub(super) fn is_lacking(&self) -> bool {
        self.lacked()
            .is_some_and(|at| at.elapsed() < Self::BELIEVED_FOR)
    }

    fn lacked(&self) -> MutexGuard<'_, Option<Instant>> {
        self.lacked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn want_of_room_is_believed_for_a_minute_after_the_last_change_that_met_it() {
        let room = Room::default();
        assert!(!room.is_lacking());
        room.note(true);
        advance(Duration::from_secs(40)).await;
        room.note(true);
        advance(Duration::from_secs(59)).await;
        assert!(room.is_lacking());
        advance(Duration::from_secs(1)).await;
        assert!(!room.is_lacking());
        room.note(true);
        room.note(false);
        assert!(!room.is_lacking());
    }
}
