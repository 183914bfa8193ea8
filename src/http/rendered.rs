//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, VARY};
use serde::Serialize;

use super::call::Call;
use super::etag::ETag;
use super::gzip;
use super::pages::PageHeaders;
use super::reply::{Freshness, Reply};
use crate::base::limits::COMPRESS_BYTES_MIN;

/// Answers with this value; `page` says what part of a list it is.
pub(super) fn list(
    call: &Call,
    value: &impl Serialize,
    freshness: Freshness,
    page: &PageHeaders,
) -> Reply {
    json(call, bytes_of(value), freshness, page.lines())
}

/// Answers with this value.
pub(super) fn object(call: &Call, value: &impl Serialize, freshness: Freshness) -> Reply {
    json(call, bytes_of(value), freshness, &[])
}

fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("answers have text keys and finite numbers")
}

/// Answers with this JSON text and these header lines.
pub(super) fn json(
    call: &Call,
    bytes: Vec<u8>,
    freshness: Freshness,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let compress = bytes.len() >= COMPRESS_BYTES_MIN && gzip::is_accepted(call.headers());
    let tag = tag_of(&bytes, lines, compress);
    let kept = |reply: Reply| {
        reply.validated(&tag, freshness).with(
            VARY,
            HeaderValue::from_static("Authorization, Cookie, Private-Token, Accept-Encoding"),
        )
    };
    if tag.is_known_to(call.headers()) {
        return kept(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    let mut reply = if compress {
        let compressed = gzip::compressed(&bytes).into();
        Reply::bytes(StatusCode::OK, "application/json", compressed)
            .with(CONTENT_ENCODING, HeaderValue::from_static("gzip"))
    } else {
        Reply::bytes(StatusCode::OK, "application/json", bytes.into())
    };
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    kept(reply)
}

/// A tag of all that makes the answer: a page may stay as it is while the list grows behind it, and
/// then its headers do not.
fn tag_of(bytes: &[u8], lines: &[(HeaderName, HeaderValue)], compressed: bool) -> ETag {
    let mut parts = vec![bytes];
    for (name, value) in lines {
        parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
    }
    if compressed {
        parts.push(b"gzip");
    }
    ETag::of_parts(&parts)
}
