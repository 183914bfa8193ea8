//! Reads that wait for the database, and how many may go on while it answers none.
//!
//! Each holds a thread and a place of its caller. A lock on a table would hold all places until the server gives up
//! each statement, and who needs nothing of the database would wait behind those that get nothing.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use crate::base::limits::READS_WAITING_MAX;
use crate::base::threads::lock;
use crate::store::{Result, StoreError};

/// After so long without an answer to any read the database counts as silent: longer than it takes to have one from
/// another connection, or of a server that has started again.
const SILENT_AFTER: Duration = Duration::from_secs(2);
/// What follows such a pause finds out anew.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(1);

/// The reads that are under way.
#[derive(Debug)]
pub(super) struct WaitingReads {
    /// Room for those that wait however long it takes.
    room: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    under_way: usize,
    /// When the last one ended.
    ended: Instant,
    /// When the last one was answered, or the first began of those that were not.
    silent_since: Instant,
}

impl WaitingReads {
    /// None are.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            room: Semaphore::new(READS_WAITING_MAX),
            state: Mutex::new(State {
                under_way: 0,
                ended: now,
                silent_since: now,
            }),
        }
    }

    /// The answer of a read.
    ///
    /// # Errors
    /// Its own, and [`StoreError::Unavailable`] as soon as the database is silent and [`READS_WAITING_MAX`] wait that
    /// came before.
    pub(super) async fn wait_for<T>(&self, read: impl Future<Output = Result<T>>) -> Result<T> {
        let _under_way = UnderWay::among(self);
        let room = self.room.try_acquire();
        let answer = tokio::select! {
            // First: what is refused at once is not sent, for the server to do it when nobody waits any more.
            biased;
            () = self.until_silent(), if room.is_err() => Err(StoreError::Unavailable),
            answer = read => answer,
        };
        if !matches!(answer, Err(StoreError::Unavailable)) {
            self.state().silent_since = Instant::now();
        }
        answer
    }

    async fn until_silent(&self) {
        loop {
            let silent_from = self.state().silent_since + SILENT_AFTER;
            if silent_from <= Instant::now() {
                return;
            }
            sleep_until(silent_from).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A read that is under way, until it is dropped.
struct UnderWay<'a>(&'a WaitingReads);

impl<'a> UnderWay<'a> {
    fn among(all: &'a WaitingReads) -> Self {
        let mut state = all.state();
        let now = Instant::now();
        if state.under_way == 0 && state.ended + FORGOTTEN_AFTER < now {
            state.silent_since = now;
        }
        state.under_way += 1;
        drop(state);
        Self(all)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way -= 1;
        state.ended = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::Arc;

    use super::*;

    /// Has so many wait that are never answered.
    fn begin(all: &Arc<WaitingReads>, number: usize) -> Vec<tokio::task::JoinHandle<Result<()>>> {
        let one = || {
            let all = Arc::clone(all);
            tokio::spawn(async move { all.wait_for(pending()).await })
        };
        (0..number).map(|_| one()).collect()
    }

    async fn refusal_of_one(all: &WaitingReads) -> Duration {
        let began = Instant::now();
        let refused = all.wait_for(pending::<Result<()>>()).await;
        assert!(matches!(refused, Err(StoreError::Unavailable)));
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn some_wait_on_for_a_silent_database_and_the_others_are_refused() {
        let all = Arc::new(WaitingReads::new());
        let waiting = begin(&all, READS_WAITING_MAX);
        tokio::task::yield_now().await;
        assert_eq!(refusal_of_one(&all).await, SILENT_AFTER);
        // It is known now, and nothing is sent.
        assert_eq!(refusal_of_one(&all).await, Duration::ZERO);
        let refused = all.wait_for(async { panic!("it was sent") }).await;
        assert!(matches!(refused, Err::<(), _>(StoreError::Unavailable)));
        assert!(waiting.iter().all(|one| !one.is_finished()));
        // What it answers ends that.
        waiting[0].abort();
        tokio::task::yield_now().await;
        all.wait_for(ready(Ok(()))).await.unwrap();
        let first = begin(&all, 1);
        tokio::task::yield_now().await;
        assert_eq!(refusal_of_one(&all).await, SILENT_AFTER);
        // Long after that, too, some wait on.
        waiting
            .iter()
            .chain(&first)
            .for_each(tokio::task::JoinHandle::abort);
        tokio::time::sleep(FORGOTTEN_AFTER * 2).await;
        let waiting = begin(&all, READS_WAITING_MAX);
        tokio::task::yield_now().await;
        assert_eq!(refusal_of_one(&all).await, SILENT_AFTER);
        assert!(waiting.iter().all(|one| !one.is_finished()));
    }
}
