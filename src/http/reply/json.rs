//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, VARY};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use super::rendered::Rendered;
use super::{Freshness, Reply, VARY_COMPRESSED, gzip};
use crate::base::limits::COMPRESS_BYTES_MIN;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;

/// Header lines of an answer beside those that every answer has.
pub(in crate::http) type HeaderLines = [(HeaderName, HeaderValue)];

/// Renders a value for every client; compressed where `gzip` is wanted and worth it.
pub(in crate::http) fn rendered(
    value: &impl Serialize,
    lines: &HeaderLines,
    freshness: Freshness,
    gzip: bool,
) -> Rendered {
    let text = to_json(value);
    let gzip = gzip && text.len() >= COMPRESS_BYTES_MIN;
    let tag = tag_of(&text, lines, gzip);
    let bytes: Bytes = if gzip {
        gzip::compressed(&text).into()
    } else {
        text.into()
    };
    let reply = whole(bytes.clone(), lines, freshness, gzip, &tag);
    let unchanged = unchanged(&tag, freshness);
    Rendered::new(&reply, bytes, tag, &unchanged)
}

/// Answers a request with these headers with a value, made for it alone.
pub(in crate::http) fn respond(
    request: &HeaderMap,
    value: &impl Serialize,
    freshness: Freshness,
    lines: &HeaderLines,
) -> Reply {
    respond_text(request, to_json(value), freshness, lines)
}

/// Answers with a list of the Admin API, which changes from one request to the next.
pub(in crate::http) fn list(
    context: &RequestContext,
    value: &impl Serialize,
    lines: &HeaderLines,
) -> Reply {
    respond(context.headers(), value, Freshness::Moving, lines)
}

/// Answers with a list that is made on request and has no tag.
pub(in crate::http) fn untagged(request: &HeaderMap, value: &impl Serialize) -> Reply {
    let text = to_json(value);
    let gzip = text.len() >= COMPRESS_BYTES_MIN && gzip::is_accepted(request);
    let bytes = if gzip { gzip::compressed(&text) } else { text };
    let mut reply = Reply::bytes(StatusCode::OK, "application/json", bytes.into());
    if gzip {
        reply = reply.with(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    varied(reply)
}

/// Answers a request with these headers with a JSON text, made for it alone.
pub(in crate::http) fn respond_text(
    request: &HeaderMap,
    text: Vec<u8>,
    freshness: Freshness,
    lines: &HeaderLines,
) -> Reply {
    let gzip = text.len() >= COMPRESS_BYTES_MIN && gzip::is_accepted(request);
    let tag = tag_of(&text, lines, gzip);
    if tag.is_known_to(request) {
        return unchanged(&tag, freshness);
    }
    let bytes = if gzip { gzip::compressed(&text) } else { text };
    whole(bytes.into(), lines, freshness, gzip, &tag)
}

fn whole(
    bytes: Bytes,
    lines: &HeaderLines,
    freshness: Freshness,
    compressed: bool,
    tag: &ETag,
) -> Reply {
    let mut reply = Reply::bytes(StatusCode::OK, "application/json", bytes);
    if compressed {
        reply = reply.with(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    varied(reply.validated(tag, freshness))
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("answers have text keys and finite numbers")
}

/// A tag of all that makes the answer: a page may stay as it is while the list grows behind it, and
/// then its headers do not.
fn tag_of(text: &[u8], lines: &HeaderLines, gzip: bool) -> ETag {
    let digest = blake3::hash(text);
    let mut parts = vec![&digest.as_bytes()[..]];
    for (name, value) in lines {
        parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
    }
    if gzip {
        parts.push(b"gzip");
    }
    ETag::of_parts(&parts)
}

fn unchanged(tag: &ETag, freshness: Freshness) -> Reply {
    varied(Reply::empty(StatusCode::NOT_MODIFIED).validated(tag, freshness))
}

fn varied(reply: Reply) -> Reply {
    reply.with(VARY, HeaderValue::from_static(VARY_COMPRESSED))
}

#[cfg(test)]
mod tests {
    use hyper::header::{ETAG, IF_NONE_MATCH};

    use super::*;

    #[test]
    fn a_list_is_sent_once() {
        let mut request = HeaderMap::new();
        let list =
            |request: &HeaderMap, name: &str| respond(request, &[name], Freshness::Moving, &[]);
        let first = list(&request, "a");
        let tag = first.headers()[ETAG].clone();
        request.insert(IF_NONE_MATCH, tag.clone());
        let again = list(&request, "a");
        assert_eq!((first.status.as_u16(), first.body_bytes()), (200, 5));
        assert_eq!((again.status.as_u16(), again.body_bytes()), (304, 0));
        assert_eq!(again.headers()[ETAG], tag);
        assert_eq!(list(&request, "b").status.as_u16(), 200);
    }
}
