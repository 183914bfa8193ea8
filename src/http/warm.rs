//! Answers kept for requests that come again. An answer of the Read API depends on the request, on
//! the service's records and on objects that never change: as long as no record was written, the
//! same request has the same answer, and it needs neither the store nor a thread that may block.

use std::sync::Arc;

use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPECT,
    FORWARDED, HOST, HeaderName, IF_MATCH, IF_RANGE, RANGE, TRANSFER_ENCODING,
};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use quick_cache::sync::Cache;

use super::etag::is_known;
use super::reply::Reply;
use crate::base::clock::Timestamp;
use crate::base::limits::{WARM_ANSWER_BYTES_MAX, WARM_BYTES};

/// Headers that an answer depends on.
const ASKED: [HeaderName; 5] = [
    HOST,
    HeaderName::from_static("private-token"),
    AUTHORIZATION,
    HeaderName::from_static("x-instance-id"),
    ACCEPT_ENCODING,
];
/// Headers that ask for more than an answer as it is kept.
const UNUSUAL: [HeaderName; 12] = [
    RANGE,
    IF_RANGE,
    IF_MATCH,
    EXPECT,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    FORWARDED,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-forwarded-prefix"),
];

/// Room for the parts of a usual question, in bytes.
const PARTS_BYTES: usize = 512;

/// All of a request that its answer depends on, as a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question([u8; 32]);

impl Question {
    /// The question of a request, `None` for one whose answer is not kept.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let (uri, headers) = (request.uri(), request.headers());
        let plain = request.method() == Method::GET
            && uri.authority().is_none()
            && !headers.keys().any(|name| UNUSUAL.contains(name));
        if !plain {
            return None;
        }
        let mut parts = Vec::with_capacity(PARTS_BYTES);
        let mut part = |tag: usize, bytes: &[u8]| {
            // The length keeps parts apart.
            parts.push(u8::try_from(tag).unwrap_or(u8::MAX));
            parts.extend_from_slice(&bytes.len().to_le_bytes());
            parts.extend_from_slice(bytes);
        };
        part(usize::from(request.version() == Version::HTTP_11), &[]);
        part(ASKED.len(), uri.path().as_bytes());
        part(ASKED.len(), uri.query().unwrap_or_default().as_bytes());
        for (tag, name) in ASKED.iter().enumerate() {
            for value in headers.get_all(name) {
                part(tag, value.as_bytes());
            }
        }
        Some(Self(*blake3::hash(&parts).as_bytes()))
    }
}

/// An answer, and how long it is right.
#[derive(Debug)]
struct Kept {
    /// The store's generation before the answer was made.
    generation: u64,
    until: Timestamp,
    /// `None` where only clients that have the bytes have asked.
    whole: Option<Reply>,
    /// For a client that has the bytes.
    unchanged: Reply,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl quick_cache::Weighter<Question, Arc<Kept>> for ByBytes {
    fn weight(&self, _: &Question, kept: &Arc<Kept>) -> u64 {
        // The headers of both forms take about as much as this.
        4096 + kept.whole.as_ref().map_or(0, Reply::body_bytes)
    }
}

/// Answers by question, within a bound of bytes.
#[derive(Debug)]
pub(super) struct Warm {
    answers: Cache<Question, Arc<Kept>, ByBytes>,
}

impl Warm {
    pub(super) fn new() -> Self {
        let items = usize::try_from(WARM_BYTES / 8192).unwrap_or(1024);
        Self {
            answers: Cache::with_weighter(items, WARM_BYTES, ByBytes),
        }
    }

    /// The answer to a request that came before, if it is still right.
    pub(super) fn answer(
        &self,
        question: Question,
        headers: &HeaderMap,
        generation: u64,
        now: Timestamp,
    ) -> Option<Reply> {
        let kept = self.answers.get(&question)?;
        if kept.generation != generation || now >= kept.until {
            return None;
        }
        let tag = kept.unchanged.header(&ETAG);
        if tag.is_some_and(|tag| is_known(tag, headers)) {
            return kept.unchanged.duplicate();
        }
        kept.whole.as_ref()?.duplicate()
    }

    /// Keeps an answer that may be kept. `generation` is the store's from before it was made.
    pub(super) fn keep(&self, question: Question, reply: &Reply, generation: u64) {
        let Some(until) = reply.keep_until() else {
            return;
        };
        let whole = match reply.status {
            StatusCode::OK if reply.body_bytes() <= WARM_ANSWER_BYTES_MAX => reply.duplicate(),
            StatusCode::NOT_MODIFIED => None,
            _ => return,
        };
        if let Some(unchanged) = reply.unchanged() {
            let kept = Kept {
                generation,
                until,
                whole,
                unchanged,
            };
            self.answers.insert(question, Arc::new(kept));
        }
    }
}
