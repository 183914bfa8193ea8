//! Which server was last seen to commit.

use tokio::sync::{Notify, watch};

/// When a server started, by its own clock, in microseconds since 1970. A standby that has taken the place of its
/// primary is told from it by that: an address may lead to either, and connections stay with the one that they were
/// made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::postgres) struct Started(pub(super) i64);

/// The server that has committed the last sign of life. What another one tells may be over.
#[derive(Debug, Default)]
pub(in crate::store::postgres) struct Primary {
    /// `None` where no sign of life was committed yet, as by commands.
    seen: watch::Sender<Option<Started>>,
    doubted: Notify,
}

impl Primary {
    /// Notes that a server has committed a sign of life.
    pub(in crate::store::postgres) fn note(&self, started: Started) {
        self.seen.send_replace(Some(started));
    }

    /// False if another server was seen to commit since this one was.
    fn may_be(&self, started: Started) -> bool {
        self.seen.borrow().is_none_or(|seen| seen == started)
    }

    /// Says whether what this server has told may be believed. Where another one was seen to commit, the next sign of
    /// life is waited for, which shows who commits now.
    pub(in crate::store::postgres) async fn is(&self, started: Started) -> bool {
        if self.may_be(started) {
            return true;
        }
        let mut seen = self.seen.subscribe();
        self.doubted.notify_one();
        // The server outlives who asks.
        seen.changed().await.is_ok() && self.may_be(started)
    }

    /// Ends when another server than this one is seen to commit, from now on.
    pub(in crate::store::postgres) async fn is_another_than(&self, started: Started) {
        let mut seen = self.seen.subscribe();
        while seen.changed().await.is_ok() {
            if *seen.borrow() != Some(started) {
                return;
            }
        }
    }

    /// Ends when somebody has met another server than the one that was last seen to commit.
    pub(in crate::store::postgres) async fn doubted(&self) {
        self.doubted.notified().await;
    }
}
