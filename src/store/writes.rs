//! Whether a store takes changes, and large bodies.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::threads::lock;

/// Whether a store takes changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// It does.
    Taken,
    /// The last change found no room, or less is free than is to stay so; it heals.
    Full,
    /// Another process holds what has to be written first; it heals when that ends.
    Busy,
    /// The database that it lies in is set to take none, and is read on; it heals when that ends.
    DatabaseReadOnly,
    /// The last change was refused for want of a right; it heals.
    Denied,
    /// It lies elsewhere, and does not answer or cannot be used: nothing is read, either. It heals.
    Away,
    /// It lies elsewhere, and no longer has what it had: nothing is read or written until a restart.
    WentBack,
    /// The folder of the store is not at its place: nothing is written until it is back, or a restart.
    Moved,
    /// A write has failed: nothing more is written until a restart.
    Stopped,
}

/// Whether a store takes bodies that are too large for a row, and has those that it took. All else goes on where not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeBodies {
    /// It does; as always where they lie in the store itself.
    Well,
    /// Where they lie the last one found no room; it heals.
    Full,
    /// Where they lie the last one was refused for want of a right; it heals.
    Denied,
    /// Where they lie nothing can be had; it heals.
    Away,
}

/// Something that was met the last time that it could be. It is believed for so long: whoever is sent no requests
/// meanwhile would never find that it is over.
#[derive(Debug)]
pub(super) struct Trouble {
    believed_for: Duration,
    met: Mutex<Option<Instant>>,
}

impl Trouble {
    /// One that was not met yet.
    pub(super) fn believed_for(believed_for: Duration) -> Self {
        Self {
            believed_for,
            met: Mutex::default(),
        }
    }

    /// Want of room, which a change meets.
    pub(super) fn of_room() -> Self {
        Self::believed_for(Duration::from_mins(1))
    }

    /// A refusal by what is set where the changes go: somebody may give the right, or have changes taken, at any time.
    #[cfg(feature = "fleet")]
    pub(super) fn of_denial() -> Self {
        Self::believed_for(Duration::from_mins(1))
    }

    /// One of which the log is told once a minute.
    pub(super) fn that_is_told() -> Self {
        Self::believed_for(Duration::from_mins(1))
    }

    /// Notes whether it was met now.
    pub(super) fn note(&self, is_met: bool) {
        *self.met() = is_met.then(Instant::now);
    }

    /// Notes that it was met now, unless that is known. True if it was not: for what is told once for so long.
    pub(super) fn is_news(&self) -> bool {
        let mut met = self.met();
        let is_news = met.is_none_or(|at| at.elapsed() >= self.believed_for);
        if is_news {
            *met = Some(Instant::now());
        }
        is_news
    }

    /// True if it was met the last time, and not too long ago.
    pub(super) fn lasts(&self) -> bool {
        self.met()
            .is_some_and(|at| at.elapsed() < self.believed_for)
    }

    fn met(&self) -> MutexGuard<'_, Option<Instant>> {
        lock(&self.met)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn want_of_room_is_believed_for_a_minute_after_the_last_change_that_met_it() {
        let room = Trouble::of_room();
        assert!(!room.lasts());
        room.note(true);
        advance(Duration::from_secs(40)).await;
        room.note(true);
        advance(Duration::from_secs(59)).await;
        assert!(room.lasts());
        advance(Duration::from_secs(1)).await;
        assert!(!room.lasts());
        room.note(true);
        room.note(false);
        assert!(!room.lasts());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_met_again_and_again_is_news_once_a_minute() {
        let told = Trouble::that_is_told();
        assert!(told.is_news());
        for _ in 0..59 {
            advance(Duration::from_secs(1)).await;
            assert!(!told.is_news());
        }
        advance(Duration::from_secs(1)).await;
        assert!(told.is_news());
    }
}
