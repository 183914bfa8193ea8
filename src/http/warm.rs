//! Answers kept for requests that come again. An answer of the Read API depends on the request, on
//! the service's records and on objects that never change: as long as no record was written, the
//! same request has the same answer, and it needs neither hyper nor the store nor a thread that may
//! block.

use std::sync::Arc;

use hyper::StatusCode;
use quick_cache::sync::Cache;

use super::answer_head::AnswerHead;
use super::kept_body::KeptBody;
use super::request_head::RequestHead;
use crate::base::clock::Timestamp;
use crate::base::limits::WARM_BYTES;

/// What an entry of the table takes beside the bytes it holds, roughly.
const ENTRY_BYTES: u64 = 256;

/// An answer as it goes over the wire, and how long it is right.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) standing: Standing,
    /// The status, for the log.
    pub(super) status: StatusCode,
    pub(super) head: AnswerHead,
    pub(super) body: KeptBody,
}

/// What an answer depends on beside the request's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The store's generation before the answer was made.
    pub(super) generation: u64,
    /// The first moment at which it may be wrong though nothing was written.
    pub(super) until: Timestamp,
    /// True if the client was believed what it tells of another's request.
    pub(super) trusted: bool,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl quick_cache::Weighter<RequestHead, Arc<Kept>> for ByBytes {
    fn weight(&self, asked: &RequestHead, kept: &Arc<Kept>) -> u64 {
        let heads = (asked.len() + kept.head.len()) as u64;
        ENTRY_BYTES + heads + kept.body.weight()
    }
}

/// Answers by request, within a bound of bytes.
#[derive(Debug)]
pub(super) struct Warm {
    answers: Cache<RequestHead, Arc<Kept>, ByBytes>,
}

impl Warm {
    pub(super) fn new() -> Self {
        let items = usize::try_from(WARM_BYTES / 4096).unwrap_or(1024);
        Self {
            answers: Cache::with_weighter(items, WARM_BYTES, ByBytes),
        }
    }

    /// The answer to a request that came before, if it is still right at `now` for a client that is
    /// trusted or not.
    pub(super) fn answer(
        &self,
        head: &[u8],
        generation: u64,
        now: Timestamp,
        trusted: bool,
    ) -> Option<Arc<Kept>> {
        let kept = self.answers.get(head)?;
        let standing = kept.standing;
        let stands = standing.generation == generation
            && now < standing.until
            && standing.trusted == trusted;
        stands.then_some(kept)
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, head: RequestHead, kept: Kept) {
        self.answers.insert(head, Arc::new(kept));
    }
}
