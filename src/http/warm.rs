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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::http::request_id::RequestIds;

    fn kept(generation: u64, until: i64, trusted: bool) -> Kept {
        let id = RequestIds::new().next();
        let written = format!(
            "HTTP/1.1 200 OK\r\nX-Request-Id: {id}\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        );
        Kept {
            standing: Standing {
                generation,
                until: Timestamp::from_ms(until),
                trusted,
            },
            status: StatusCode::OK,
            head: AnswerHead::new(written.as_bytes(), id).unwrap(),
            body: KeptBody::Bytes(Bytes::from(vec![0; 1000])),
        }
    }

    #[test]
    fn an_answer_stands_until_something_changes() {
        let warm = Warm::new();
        warm.keep(RequestHead::new(b"a".to_vec()), kept(7, 1000, true));
        let stands = |head: &[u8], generation, now, trusted| {
            let now = Timestamp::from_ms(now);
            warm.answer(head, generation, now, trusted).is_some()
        };
        assert!(stands(b"a", 7, 999, true));
        assert!(!stands(b"a", 7, 1000, true));
        assert!(!stands(b"a", 8, 999, true));
        assert!(!stands(b"a", 7, 999, false));
        assert!(!stands(b"b", 7, 999, true));
        assert!(!stands(b"", 7, 999, true));
    }

    #[test]
    fn the_table_is_bounded() {
        let warm = Warm::new();
        for number in 0..100_000_u32 {
            let head = RequestHead::new(number.to_le_bytes().to_vec());
            warm.keep(head, kept(1, 1, false));
        }
        assert!(warm.answers.weight() <= WARM_BYTES);
        assert!(warm.answers.len() > 10_000);
    }
}
