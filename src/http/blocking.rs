//! The one way from the network's tasks to work that blocks: SQLite, files, password hashing.

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::error::Error;
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

/// Runs the work of a request where it was read, once there is room for one more thread that waits: the
/// other clients of this thread go on meanwhile, and the requests beyond the room wait without one.
pub(in crate::http) async fn in_place<T>(threads: &Semaphore, work: impl FnOnce() -> T) -> T {
    let _room = threads
        .acquire()
        .await
        .expect("the semaphore is never closed");
    may_block(work)
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn who_finds_no_room_waits_and_does_nothing() {
        let threads = Semaphore::new(1);
        let room = threads.acquire().await.unwrap();
        let done = std::cell::Cell::new(false);
        let mut work = pin!(in_place(&threads, || done.set(true)));
        assert!(poll_once(work.as_mut()).is_pending() && !done.get());
        drop(room);
        work.await;
        assert!(done.get() && threads.available_permits() == 1);
    }
}
