//! How long a client that takes nothing is waited for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Ends a wait for a client with [`io::ErrorKind::TimedOut`] after so long.
#[derive(Debug)]
pub(super) struct WritePatience {
    longest_wait: Duration,
    /// When the client is given up. Set while something waits for it.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl WritePatience {
    /// Waits at most so long each time.
    pub(super) fn new(longest_wait: Duration) -> Self {
        Self {
            longest_wait,
            deadline: None,
        }
    }

    /// Passes on what was asked of the client's connection, and starts or stops the clock.
    pub(super) fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.deadline = None;
            return outcome;
        }
        let longest_wait = self.longest_wait;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(longest_wait)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
