//! What a connection and the request on it tell each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use hyper::Version;
use tokio::sync::Notify;

/// Shared by a connection and its requests, which come one after another.
#[derive(Debug, Default)]
pub(in crate::http) struct ConnectionState {
    /// True once a rest of a body was left in the connection, which then cannot carry another request.
    unread: AtomicBool,
    /// True if the end of an answer may be that of the connection alone.
    ends_answers: AtomicBool,
    /// Requests, or answers that go on, which want to know when the client leaves.
    held: AtomicUsize,
    has_left: AtomicBool,
    /// True once the client has sent much behind the request that is held.
    presses: AtomicBool,
    left: Notify,
    /// True while an answer wants to know whether there is room for more of it.
    room_wanted: AtomicBool,
    /// True once there is, for one who wants to know.
    room_found: AtomicBool,
    /// True once the client takes too little of an answer whose place another request needs.
    given_up: AtomicBool,
    /// The connection, which ends then.
    ends: AtomicWaker,
    /// Requests that were answered.
    answered: AtomicU64,
    /// How long the request was held, in nanoseconds.
    held_ns: AtomicU64,
}

/// Wants to know when the client leaves, until it is dropped.
#[derive(Debug)]
pub(in crate::http) struct Held(Arc<ConnectionState>);

impl ConnectionState {
    /// Notes whether a rest of a body was left.
    pub(in crate::http) fn note_unread(&self, unread: bool) {
        self.unread.fetch_or(unread, Ordering::Relaxed);
    }

    /// True if a rest of a body was left.
    pub(in crate::http) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Notes the version of the request: before HTTP/1.1 an answer whose length is not known beforehand has no other
    /// end than that of the connection.
    pub(in crate::http) fn note_version(&self, version: Version) {
        let ends_answers = version < Version::HTTP_11;
        self.ends_answers.store(ends_answers, Ordering::Relaxed);
    }

    /// True if an end of the connection may say that an answer is whole.
    pub(super) fn ends_answers(&self) -> bool {
        self.ends_answers.load(Ordering::Relaxed)
    }

    /// Counts a request, and tells whether it is the last that the connection may carry; 0 is no limit.
    pub(in crate::http) fn is_last(&self, most: u64) -> bool {
        self.answered.fetch_add(1, Ordering::Relaxed) + 1 == most
    }

    /// Has the end of the client looked for.
    pub(in crate::http) fn hold(self: &Arc<Self>) -> Held {
        if self.held.fetch_add(1, Ordering::AcqRel) == 0 {
            self.presses.store(false, Ordering::Release);
        }
        Held(Arc::clone(self))
    }

    /// True while somebody wants to know whether the client leaves, and is to go on.
    pub(in crate::http) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire) > 0 && !self.is_over()
    }

    /// The client sends nothing more.
    pub(in crate::http) fn leave(&self) {
        self.has_left.store(true, Ordering::Release);
        self.left.notify_one();
    }

    /// The client has sent so much behind the request that is held that it is not seen any more whether it
    /// leaves.
    pub(in crate::http) fn press(&self) {
        self.presses.store(true, Ordering::Release);
        self.left.notify_one();
    }

    /// Ready once the system takes more bytes for the client: for the body of an answer, which takes no memory
    /// before. The connection finds out and polls the body again.
    pub(in crate::http) fn poll_writable(&self) -> Poll<()> {
        if self.room_found.swap(false, Ordering::AcqRel) {
            return Poll::Ready(());
        }
        self.room_wanted.store(true, Ordering::Release);
        Poll::Pending
    }

    /// True while an answer wants to know of room.
    pub(super) fn wants_room(&self) -> bool {
        self.room_wanted.load(Ordering::Acquire)
    }

    /// Tells the answer that there is room.
    pub(super) fn find_room(&self) {
        self.room_wanted.store(false, Ordering::Release);
        self.room_found.store(true, Ordering::Release);
    }

    /// Has the connection ended: its client takes too little of an answer whose place another request needs.
    pub(in crate::http) fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.ends.wake();
    }

    /// Ready once the client is given up.
    pub(super) fn poll_given_up(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.ends.register(cx.waker());
        if self.is_given_up() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// True once the client is given up.
    pub(in crate::http) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    fn is_over(&self) -> bool {
        self.has_left.load(Ordering::Acquire) || self.presses.load(Ordering::Acquire)
    }

    /// Notes how long the request was held so far.
    pub(in crate::http) fn note_held(&self, held: Duration) {
        let held_ns = u64::try_from(held.as_nanos()).unwrap_or(u64::MAX);
        self.held_ns.store(held_ns, Ordering::Relaxed);
    }

    /// How long the request was held; nothing for the next one.
    pub(in crate::http) fn take_held(&self) -> Duration {
        Duration::from_nanos(self.held_ns.swap(0, Ordering::Relaxed))
    }
}

impl Held {
    /// Ends when the client sends nothing more, or much: it has left, or wants its answer now.
    pub(in crate::http) async fn left(&self) {
        while !self.0.is_over() {
            self.0.left.notified().await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}
