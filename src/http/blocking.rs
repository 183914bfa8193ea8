//! The one way from the network's tasks to work that blocks: SQLite, files, password hashing.

use tokio::task::JoinHandle;

use super::error::Error;

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
