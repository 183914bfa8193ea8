//! The one way from the network's tasks to work that blocks: SQLite, files, password hashing.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::admission::places;
use super::error::Error;
use super::settings::Limits;
use crate::base::may_block;

/// Starts the work on the blocking pool. It runs to its end even when nobody waits any more: hyper
/// drops the request's future as soon as the client leaves, and a save must not stop half-way.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that may move work to the blocking pool"
)]
pub(super) fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
}

/// Runs the work on the blocking pool and waits for it.
///
/// # Errors
/// The work's own, and [`Error::Crashed`] when it panicked.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    start(work).await.unwrap_or(Err(Error::Crashed))
}

/// Room for requests that hold a thread.
#[derive(Debug)]
pub(in crate::http) struct Threads {
    room: Semaphore,
    longest_wait: Duration,
}

impl Threads {
    /// Room for so many at once, for which others wait at most so long.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        Self {
            room: places(limits.threads_max),
            longest_wait: Duration::from_secs(limits.thread_wait_s_max),
        }
    }

    /// Runs the work of a request where it was read, once there is room for one more thread that waits:
    /// the other clients of this thread go on meanwhile, and the requests beyond the room wait without
    /// one.
    ///
    /// # Errors
    /// The work's own, and [`Error::NoRoom`] when there was none in time; nothing is done then.
    pub(in crate::http) async fn run<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let room = match self.room.try_acquire() {
            Ok(room) => room,
            Err(_) => timeout(self.longest_wait, self.room.acquire())
                .await
                .map_err(|_| Error::NoRoom("too many requests at once"))?
                .expect("the semaphore is never closed"),
        };
        let done = may_block(work);
        drop(room);
        done
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_and_is_then_refused_undone() {
        let limits = Limits {
            threads_max: 1,
            thread_wait_s_max: 7,
            ..Limits::default()
        };
        let threads = Threads::new(&limits);
        let room = threads.room.acquire().await.unwrap();
        let done = std::cell::Cell::new(0);
        let work = || {
            done.set(done.get() + 1);
            Ok(())
        };
        let mut waits = pin!(threads.run(work));
        assert!(poll_once(waits.as_mut()).is_pending());
        let since = tokio::time::Instant::now();
        let refused = threads.run(work).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "too many requests at once; try again in a moment"
        );
        assert_eq!((since.elapsed().as_secs(), done.get()), (7, 0));
        drop(room);
        let free = Threads::new(&limits);
        free.run(work).await.unwrap();
        assert!(done.get() == 1 && free.room.available_permits() == 1);
    }
}
