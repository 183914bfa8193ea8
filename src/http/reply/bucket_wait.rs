//! What an answer that has begun does while the bucket of large files does not answer: it waits, without a thread.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::base::limits::BUCKET_WAIT_S_MAX;
use crate::repo::StoreError;

/// How long an answer waits, and how long until the bucket is asked again.
const WAIT_MAX: Duration = Duration::from_secs(BUCKET_WAIT_S_MAX);
const PAUSE: Duration = Duration::from_millis(250);

/// How long one answer has waited for the bucket.
#[derive(Debug, Default)]
pub(in crate::http) struct BucketWait {
    /// Since when it is waited for, while it does not answer.
    since: Option<Instant>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl BucketWait {
    /// Begins a pause if a read failed because the bucket is away. False where something else is wrong, and
    /// [`BUCKET_WAIT_S_MAX`] seconds after `asked` of the first one that failed.
    pub(in crate::http) fn goes_on(&mut self, error: &io::Error, asked: Instant) -> bool {
        let of_store = error
            .get_ref()
            .and_then(|of| of.downcast_ref::<StoreError>());
        if !matches!(of_store, Some(StoreError::BucketAway)) {
            return false;
        }
        self.pause = Some(Box::pin(sleep(PAUSE)));
        self.since.get_or_insert(asked).elapsed() < WAIT_MAX
    }

    /// Ready when it is time to ask again.
    pub(in crate::http) fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }

    /// The bucket has answered.
    pub(in crate::http) fn end(&mut self) {
        *self = Self::default();
    }
}
