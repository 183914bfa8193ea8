//! An answer before it is sent, and the headers that every answer carries.

pub(in crate::http) mod base64_object;
mod bucket_wait;
pub(in crate::http) mod cache;
pub(in crate::http) mod coding;
pub(in crate::http) mod disposition;
pub(in crate::http) mod events;
pub(in crate::http) mod file;
pub(in crate::http) mod file_chunks;
pub(in crate::http) mod json;
pub(in crate::http) mod json_text;
pub(in crate::http) mod of_error;
pub(in crate::http) mod rendered;
pub(in crate::http) mod stream;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use serde::Serialize;

use super::admission::answers::AnswerRoom;
use super::admission::long::LongPermit;
use super::error::{self, Error};
use super::request::conditions::ETag;
use super::request::id::RequestId;
use crate::base::id::is_commit_id;
use coding::Coding;
use events::Events;
use file_chunks::FileChunks;
use json_text::to_json;
use stream::ChunkStream;

/// What every answer carries to protect who gets it.
const PROTECTION: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// What an answer depends on besides its address: who asks, and for a bound token from where.
const VARY_CREDENTIALS: &str = "Authorization, Cookie, Private-Token, X-Instance-Id";
/// The same, where the answer may be compressed.
pub(super) const VARY_COMPRESSED: &str =
    "Authorization, Cookie, Private-Token, X-Instance-Id, Accept-Encoding";

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    /// The status.
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
    /// True of one that was made as a whole and is not counted yet.
    is_uncounted: bool,
}

/// How long a client may use an answer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// After asking whether it has changed.
    Moving,
    /// For ever: the request names the content.
    Fixed,
}

impl Freshness {
    /// The freshness of what a reference names: only a full commit id names content.
    pub(super) fn of_reference(reference: Option<&str>) -> Self {
        match reference {
            Some(id) if is_commit_id(id) => Self::Fixed,
            _ => Self::Moving,
        }
    }

    const fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Moving => "private, no-cache",
            Self::Fixed => "private, max-age=31536000, immutable",
        })
    }
}

impl Reply {
    /// An answer without a body.
    pub(super) fn empty(status: StatusCode) -> Self {
        let mut headers = HeaderMap::with_capacity(32);
        for (name, value) in PROTECTION {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Self::prepared(status, headers, None)
    }

    /// An answer with headers that another answer had.
    fn prepared(status: StatusCode, headers: HeaderMap, bytes: Option<Bytes>) -> Self {
        Self {
            status,
            headers,
            body: ReplyBody::Whole(bytes),
            is_uncounted: false,
        }
    }

    /// The headers so far.
    fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The answer to `OPTIONS` of a route with these methods.
    pub(super) fn options(methods: &[Method]) -> Self {
        let allow = HeaderValue::try_from(error::allow(methods));
        let allow = allow.expect("methods are visible ASCII");
        Self::empty(StatusCode::NO_CONTENT).with(ALLOW, allow)
    }

    /// An answer with these bytes.
    pub(super) fn bytes(status: StatusCode, content_type: &'static str, bytes: Bytes) -> Self {
        let mut reply = Self::empty(status).with(CONTENT_LENGTH, bytes.len().into());
        reply.body = ReplyBody::Whole(Some(bytes));
        reply.with(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// An answer with this value as JSON, which [`Reply::counted`] counts.
    pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Self {
        Self {
            is_uncounted: true,
            ..Self::bytes(status, "application/json", to_json(value).into())
        }
    }

    /// The answer, with its bytes as `count` gives them where they were not counted yet.
    pub(super) fn counted(mut self, count: impl FnOnce(Bytes) -> Bytes) -> Self {
        if self.is_uncounted
            && let ReplyBody::Whole(bytes) = &mut self.body
        {
            *bytes = bytes.take().map(count);
        }
        self.is_uncounted = false;
        self
    }

    /// The answer in the memory that was taken before it was made, if any was.
    pub(in crate::http) fn in_room(self, room: Option<AnswerRoom>) -> Self {
        match room {
            Some(room) => self.counted(|bytes| room.hold(bytes)),
            None => self,
        }
    }

    /// An answer with a body that is read while it is sent. [`Reply::begun`] tells its type, if it is the file itself.
    pub(super) fn large(status: StatusCode, body: FileChunks) -> Self {
        let mut reply = Self::empty(status).with(CONTENT_LENGTH, body.left().into());
        reply.body = ReplyBody::Large(Box::new(body));
        reply
    }

    /// An answer with a body that is made while it is sent.
    pub(super) fn pieces(
        status: StatusCode,
        content_type: &'static str,
        body: ChunkStream,
    ) -> Self {
        let reply = Self::empty(status).with_pieces(body);
        reply.with(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// The answer with this body, which is made while it is sent.
    pub(super) fn with_pieces(mut self, body: ChunkStream) -> Self {
        self.body = ReplyBody::Pieces(body);
        self
    }

    /// An answer that tells what happens, for as long as the client listens.
    pub(super) fn events(events: Events) -> Self {
        let mut reply = Self::empty(StatusCode::OK);
        reply.body = ReplyBody::Events(events);
        reply.with(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
    }

    /// True if something of a large file has to be read before this can be sent.
    pub(super) fn is_to_begin(&self) -> bool {
        matches!(self.body, ReplyBody::Large(_))
    }

    /// The answer once that is read. It waits without a thread for its turn.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) async fn begun(mut self) -> Result<Self, Error> {
        if let ReplyBody::Large(body) = &mut self.body
            && let Some((size, beginning)) = body.begin().await.map_err(file::unreadable)?
        {
            let content_type = file::content_type(size, &beginning);
            let content_type = HeaderValue::from_static(content_type);
            self.headers.insert(CONTENT_TYPE, content_type);
        }
        Ok(self)
    }

    /// True if the body is made while it is sent.
    pub(super) fn is_made_while_sent(&self) -> bool {
        matches!(self.body, ReplyBody::Pieces(_))
    }

    /// The answer, whose body is made in turns with others if it is made while it is sent.
    pub(super) fn in_turns(mut self, place: LongPermit) -> Self {
        if let ReplyBody::Pieces(body) = &mut self.body {
            body.take_turns(place);
        }
        self
    }

    /// The answer with a header line more.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The answer with how its body is coded.
    pub(super) fn coded(self, coding: Coding) -> Self {
        match coding.name() {
            Some(name) => self.with(CONTENT_ENCODING, HeaderValue::from_static(name)),
            None => self,
        }
    }

    /// The answer with its tag and how long it may be used again.
    pub(super) fn validated(self, tag: &ETag, freshness: Freshness) -> Self {
        // A client's cache may serve several users: who asks is part of the key.
        self.with(ETAG, tag.header())
            .with(CACHE_CONTROL, freshness.header())
            .with(VARY, HeaderValue::from_static(VARY_CREDENTIALS))
    }

    /// Length of the body in bytes, as the headers say.
    pub(super) fn body_bytes(&self) -> u64 {
        let length = self.headers.get(CONTENT_LENGTH);
        length
            .and_then(|length| length.to_str().ok()?.parse().ok())
            .unwrap_or(0)
    }

    /// The answer as hyper sends it. A `HEAD` gets the headers alone; `close` ends the connection.
    pub(super) fn into_response(
        self,
        id: RequestId,
        head_only: bool,
        close: bool,
    ) -> Response<ReplyBody> {
        let Self {
            status,
            mut headers,
            body,
            ..
        } = self;
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        let body = if head_only {
            ReplyBody::Whole(None)
        } else {
            body
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        if close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        headers.insert(HeaderName::from_static("x-request-id"), id.header());
        *response.headers_mut() = headers;
        response
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum ReplyBody {
    /// In memory, sent with the headers in one write.
    Whole(Option<Bytes>),
    /// Read in pieces.
    Large(Box<FileChunks>),
    /// Made in pieces.
    Pieces(ChunkStream),
    /// Told when it happens.
    Events(Events),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Large(reader) => reader
                .poll_piece(cx)
                .map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
            Self::Pieces(reader) => reader
                .poll_piece(cx)
                .map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
            Self::Events(events) => events
                .poll_piece(cx)
                .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Large(reader) => reader.left() == 0,
            Self::Pieces(reader) => reader.is_at_end(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let left = match self {
            Self::Whole(bytes) => Some(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Large(reader) => Some(reader.left()),
            Self::Pieces(_) | Self::Events(_) => None,
        };
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::id::RequestIds;

    #[test]
    fn every_answer_carries_what_protects_it_and_head_keeps_the_length() {
        let id = RequestIds::new().next();
        let reply = Reply::json(StatusCode::OK, &"x");
        let response = reply.into_response(id, true, true);
        for (name, expected) in [
            ("content-length", "3"),
            ("content-type", "application/json"),
            ("cache-control", "no-store"),
            ("connection", "close"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-request-id", &id.to_string()),
        ] {
            assert_eq!(response.headers()[name], expected, "{name}");
        }
        assert_eq!(response.headers().len(), 9);
        assert!(response.body().is_end_stream());
    }

    #[test]
    fn only_a_full_commit_id_is_fresh_for_ever() {
        let id = "0a".repeat(20);
        let of = Freshness::of_reference;
        assert_eq!(of(Some(&id)), Freshness::Fixed);
        for moving in [None, Some("main"), Some("main@v0001"), Some(&id[..12])] {
            assert_eq!(of(moving), Freshness::Moving, "{moving:?}");
        }
    }
}
