//! The one way from the network's tasks to work that blocks: SQLite, files, password hashing.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle, yield_now};
use tokio::time::timeout;

use super::admission::fair_semaphore::{Asker, FairPermit, FairSemaphore};
use super::admission::{borrowed_permit, places};
use super::error::Error;
use super::settings::Limits;
use crate::base::limits::{
    FIRST_LOOKS_AT_ONCE_MAX, LARGE_BATCHES_AT_ONCE_MAX, LONG_LIST_WAIT_S_MAX,
    LONG_LISTS_AT_ONCE_MAX, READ_THREADS_MAX,
};
use crate::base::may_block;

/// How long a list waits for a place among the long ones.
const LONG_LIST_WAIT: Duration = Duration::from_secs(LONG_LIST_WAIT_S_MAX);

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

/// Threads of their own for work that many ask for at once. The blocking pool starts one for each that comes before
/// another is known to be free, hundreds in a burst, and each keeps memory of what it has handled.
#[derive(Debug)]
pub(in crate::http) struct FewThreads(Option<Runtime>);

impl FewThreads {
    /// So many at most, of this name, which start when they are needed and end when they are not.
    pub(in crate::http) fn new(name: &str, most: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(most)
            .thread_name(name)
            .build();
        Self(Some(runtime.expect(
            "a runtime without a driver needs nothing of the system",
        )))
    }

    /// Starts the work when one is free, in the order in which it came, unless nobody waits for it any more.
    #[expect(
        clippy::disallowed_methods,
        reason = "as `start`, on threads of its own"
    )]
    pub(in crate::http) fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Wanted<T> {
        let span = tracing::Span::current();
        let runtime = self.0.as_ref().expect("it ends when it is dropped");
        Wanted(runtime.spawn_blocking(move || span.in_scope(work)))
    }
}

/// Work that is not begun any more once this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Wanted<T>(JoinHandle<T>);

impl<T> From<JoinHandle<T>> for Wanted<T> {
    fn from(work: JoinHandle<T>) -> Self {
        Self(work)
    }
}

impl<T> Future for Wanted<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Wanted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for FewThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // A task may drop it, which must not wait.
            runtime.shutdown_background();
        }
    }
}

/// A kind of requests, which wait for others of their kind alone.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum Kind {
    /// Of the Admin API, and what else waits for a commit: first uses of tokens.
    Admin,
    /// A batch that takes much memory and time.
    LargeBatch,
    /// Of the Read API, where it takes long enough to free the other clients of its thread first.
    Read,
}

/// How many requests may hold a thread.
#[derive(Debug)]
pub(in crate::http) struct Threads {
    workers: FairSemaphore,
    /// Those of the Read API, which many ask at once: for what takes longer, and for what is looked up, where
    /// nobody stays for long.
    readers: FairSemaphore,
    lookers: Semaphore,
    /// For sessions that are shown for the first time, which reads the store.
    first_looks: FairSemaphore,
    of_first_looks: FewThreads,
    /// For what has a thread and makes a long list.
    listers: FairSemaphore,
    /// For batches that take much memory and time.
    large_batches: FairSemaphore,
    longest_wait: Duration,
}

impl Threads {
    /// As many at once as the settings say; others wait at most so long.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        Self {
            workers: FairSemaphore::new(limits.threads_max),
            readers: FairSemaphore::new(READ_THREADS_MAX.min(limits.threads_max)),
            lookers: places(READ_THREADS_MAX.min(limits.threads_max)),
            first_looks: FairSemaphore::new(FIRST_LOOKS_AT_ONCE_MAX as u64),
            of_first_looks: FewThreads::new("first-looks", FIRST_LOOKS_AT_ONCE_MAX),
            listers: FairSemaphore::new(LONG_LISTS_AT_ONCE_MAX),
            large_batches: FairSemaphore::of_one_each(LARGE_BATCHES_AT_ONCE_MAX),
            longest_wait: Duration::from_secs(limits.thread_wait_s_max),
        }
    }

    /// Runs the work of a request where it was read, once one more thread may wait: the other clients of
    /// this thread go on meanwhile, and requests beyond those of its kind that may wait without one, fairly between
    /// askers.
    ///
    /// # Errors
    /// The work's own, and [`Error::Overloaded`] when there was none in time; nothing is done then.
    pub(in crate::http) async fn run<T>(
        &self,
        kind: Kind,
        asker: Asker,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let places = match kind {
            Kind::Admin => &self.workers,
            Kind::LargeBatch => &self.large_batches,
            Kind::Read => &self.readers,
        };
        let _place = self.enter(places, asker).await?;
        may_block(work)
    }

    /// The same for what is answered from memory, or frees the other clients itself when it has to read. It waits for
    /// nothing that takes longer.
    ///
    /// # Errors
    /// As [`Threads::run`].
    pub(in crate::http) async fn look<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _place = match self.lookers.try_acquire() {
            Ok(place) => place,
            Err(_) => self.in_time(borrowed_permit(&self.lookers)).await?,
        };
        let found = work();
        if found.is_err() {
            // Whoever shows what memory does not know has read the store for it.
            give_thread_back().await;
        }
        found
    }

    /// Looks up what is shown for the first time, on one of few threads that do nothing else.
    ///
    /// # Errors
    /// As [`Threads::run`]; [`Error::Crashed`] when it panicked.
    pub(in crate::http) async fn look_first<T: Send + 'static>(
        &self,
        asker: Asker,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _place = self.enter(&self.first_looks, asker).await?;
        let done = self.of_first_looks.start(work).await;
        done.unwrap_or(Err(Error::Crashed))
    }

    /// Waits, with the thread that this request has, for a place among those that make a long list.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there was none in time.
    pub(in crate::http) fn enter_to_list(&self, asker: Asker) -> Result<FairPermit<'_>, Error> {
        let longest = self.longest_wait.min(LONG_LIST_WAIT);
        let listers = &self.listers;
        match listers.try_enter(asker) {
            Some(place) => Ok(place),
            None => may_block(|| Handle::current().block_on(within(longest, listers.enter(asker)))),
        }
    }

    async fn enter<'a>(
        &self,
        semaphore: &'a FairSemaphore,
        asker: Asker,
    ) -> Result<FairPermit<'a>, Error> {
        match semaphore.try_enter(asker) {
            Some(place) => Ok(place),
            None => self.in_time(semaphore.enter(asker)).await,
        }
    }

    async fn in_time<T>(&self, place: impl Future<Output = T>) -> Result<T, Error> {
        within(self.longest_wait, place).await
    }
}

/// Gives back the thread that a request has to itself once it has blocked: it would have it until it waits for
/// something, while the next one that blocks takes another.
pub(in crate::http) async fn give_thread_back() {
    yield_now().await;
}

async fn within<T>(longest: Duration, place: impl Future<Output = T>) -> Result<T, Error> {
    let place = timeout(longest, place).await;
    place.map_err(|_| Error::Overloaded("too many requests at once"))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::Waker;

    use super::*;

    fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn few_threads_do_no_more_at_once_than_they_are_and_nothing_in_vain() {
        let threads = FewThreads::new("few", 2);
        let (begun, begins) = channel();
        let (release, released) = channel::<()>();
        let released = std::sync::Arc::new(std::sync::Mutex::new(released));
        let start = |number: u32| {
            let (begun, released) = (begun.clone(), std::sync::Arc::clone(&released));
            threads.start(move || {
                begun.send(number).unwrap();
                released.lock().unwrap().recv().unwrap();
                number
            })
        };
        let mut all: Vec<_> = (0..5).map(start).collect();
        let mut first = [begins.recv().unwrap(), begins.recv().unwrap()];
        first.sort_unstable();
        assert_eq!(first, [0, 1]);
        // Nobody waits for this one any more.
        drop(all.remove(3));
        assert!(begins.try_recv().is_err());
        (0..4).for_each(|_| release.send(()).unwrap());
        let mut done = Vec::new();
        for one in all {
            done.push(one.await.unwrap());
        }
        assert_eq!(done, [0, 1, 2, 4]);
        let mut rest: Vec<_> = begins.try_iter().collect();
        rest.sort_unstable();
        assert_eq!(rest, [2, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_and_is_then_refused_undone() {
        let limits = Limits {
            threads_max: 1,
            thread_wait_s_max: 7,
            ..Limits::default()
        };
        let threads = Threads::new(&limits);
        let asker = Asker::Session(1);
        let held = threads.workers.enter(asker).await;
        let done = std::cell::Cell::new(0);
        let work = || {
            done.set(done.get() + 1);
            Ok(())
        };
        let mut waits = pin!(threads.run(Kind::Admin, asker, work));
        assert!(poll_once(waits.as_mut()).is_pending());
        let since = tokio::time::Instant::now();
        let refused = threads.run(Kind::Admin, asker, work).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "too many requests at once; try again in a moment"
        );
        assert_eq!((since.elapsed().as_secs(), done.get()), (7, 0));
        drop(held);
        let free = Threads::new(&limits);
        free.run(Kind::Admin, asker, work).await.unwrap();
        assert!(done.get() == 1 && free.workers.try_enter(asker).is_some());
    }
}
