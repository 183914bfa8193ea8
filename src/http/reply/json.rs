//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use std::sync::OnceLock;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, VARY};
use serde::Serialize;

use super::gzip;
use super::{Freshness, Reply};
use crate::base::limits::COMPRESS_BYTES_MIN;
use crate::http::list::pagination::PageHeaders;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;

/// A JSON text, with what its answers are made of.
#[derive(Debug)]
pub(in crate::http) struct JsonBody {
    plain: Bytes,
    /// A digest of the plain text.
    digest: [u8; 32],
    /// Made when somebody takes it.
    compressed: OnceLock<Bytes>,
}

impl JsonBody {
    /// Takes a text that is there.
    pub(in crate::http) fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: blake3::hash(&bytes).into(),
            plain: bytes.into(),
            compressed: OnceLock::new(),
        }
    }

    /// The text of a value.
    pub(in crate::http) fn of(value: &impl Serialize) -> Self {
        Self::new(serde_json::to_vec(value).expect("answers have text keys and finite numbers"))
    }

    /// Length of the plain text in bytes.
    pub(in crate::http) fn len(&self) -> usize {
        self.plain.len()
    }

    fn compressed(&self) -> Bytes {
        let compressed = || gzip::compressed(&self.plain).into();
        self.compressed.get_or_init(compressed).clone()
    }

    /// A tag of all that makes the answer: a page may stay as it is while the list grows behind it,
    /// and then its headers do not.
    fn tag(&self, lines: &[(HeaderName, HeaderValue)], compressed: bool) -> ETag {
        let mut parts = vec![&self.digest[..]];
        for (name, value) in lines {
            parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
        }
        if compressed {
            parts.push(b"gzip");
        }
        ETag::of_parts(&parts)
    }
}

/// Answers with this value; `page` says what part of a list it is.
pub(in crate::http) fn list(
    context: &RequestContext,
    value: &impl Serialize,
    freshness: Freshness,
    page: &PageHeaders,
) -> Reply {
    text(context, &JsonBody::of(value), freshness, page.lines())
}

/// Answers with this value.
pub(in crate::http) fn object(
    context: &RequestContext,
    value: &impl Serialize,
    freshness: Freshness,
) -> Reply {
    text(context, &JsonBody::of(value), freshness, &[])
}

/// Answers with this text and these header lines.
pub(in crate::http) fn text(
    context: &RequestContext,
    text: &JsonBody,
    freshness: Freshness,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let compress = text.len() >= COMPRESS_BYTES_MIN && gzip::is_accepted(context.headers());
    let tag = text.tag(lines, compress);
    let kept = |reply: Reply| {
        reply.validated(&tag, freshness).with(
            VARY,
            HeaderValue::from_static("Authorization, Cookie, Private-Token, Accept-Encoding"),
        )
    };
    if tag.is_known_to(context.headers()) {
        return kept(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    let mut reply = if compress {
        Reply::bytes(StatusCode::OK, "application/json", text.compressed())
            .with(CONTENT_ENCODING, HeaderValue::from_static("gzip"))
    } else {
        Reply::bytes(StatusCode::OK, "application/json", text.plain.clone())
    };
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    kept(reply)
}
