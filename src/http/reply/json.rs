//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue, LINK, VARY};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use super::coding::Coding;
use super::rendered::Rendered;
use super::{Freshness, Reply, VARY_COMPRESSED};
use crate::http::error::Error;
use crate::http::list::links;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;

/// Header lines of an answer beside those that every answer has.
pub(in crate::http) type HeaderLines = [(HeaderName, HeaderValue)];

/// Renders a value for every client that takes this coding, in it where it is worth it.
pub(in crate::http) fn rendered(
    value: &impl Serialize,
    lines: &HeaderLines,
    freshness: Freshness,
    coding: Coding,
) -> Rendered {
    let text = to_json(value);
    let coding = coding.worth_it(text.len());
    let tag = tag_of(&text, lines, coding);
    let bytes = Bytes::from(coding.encode(text));
    let reply = whole(bytes.clone(), lines, freshness, coding, &tag);
    let unchanged = unchanged(&tag, freshness);
    Rendered::new(&reply, bytes, tag, &unchanged)
}

/// As [`rendered`], and counted for who sent this request, the first of those who get it.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn shared(
    context: &RequestContext,
    value: &impl Serialize,
    lines: &HeaderLines,
    freshness: Freshness,
    coding: Coding,
) -> Result<Rendered, Error> {
    rendered(value, lines, freshness, coding).counted(|bytes| context.count(bytes))
}

/// Answers a request with a value, made for it alone.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn respond(
    context: &RequestContext,
    value: &impl Serialize,
    freshness: Freshness,
    lines: &HeaderLines,
) -> Result<Reply, Error> {
    respond_text(context, to_json(value), freshness, lines)
}

/// The same with a part of a list: a `Link` names the next part, which is asked for by `next`, a parameter and its
/// value.
///
/// # Errors
/// As there.
pub(in crate::http) fn page(
    context: &RequestContext,
    shown: &impl Serialize,
    next: Option<(&str, &str)>,
) -> Result<Reply, Error> {
    let next = next.map(|next| (LINK, links::next(context, &[next])));
    respond(context, shown, Freshness::Moving, next.as_slice())
}

/// The same with a list whose entries are made one after the other, so that only their JSON is in memory.
///
/// # Errors
/// As there, and those of an entry.
pub(in crate::http) fn list_of<T: Serialize>(
    context: &RequestContext,
    entries: impl Iterator<Item = Result<T, Error>>,
    lines: &HeaderLines,
) -> Result<Reply, Error> {
    let mut text = vec![b'['];
    for entry in entries {
        if text.len() > 1 {
            text.push(b',');
        }
        text.append(&mut to_json(&entry?));
    }
    text.push(b']');
    respond_text(context, text, Freshness::Moving, lines)
}

/// Answers with a list that is made on request and has no tag.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn untagged(
    context: &RequestContext,
    value: &impl Serialize,
) -> Result<Reply, Error> {
    let text = to_json(value);
    let coding = Coding::accepted(context.headers()).worth_it(text.len());
    let bytes = context.count(coding.encode(text).into())?;
    let reply = Reply::bytes(StatusCode::OK, "application/json", bytes);
    Ok(varied(reply.coded(coding)))
}

/// Answers a request with a JSON text, made for it alone.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn respond_text(
    context: &RequestContext,
    text: Vec<u8>,
    freshness: Freshness,
    lines: &HeaderLines,
) -> Result<Reply, Error> {
    let request = context.headers();
    answer_to(request, text, freshness, lines, |bytes| {
        context.count(bytes)
    })
}

fn answer_to(
    request: &HeaderMap,
    text: Vec<u8>,
    freshness: Freshness,
    lines: &HeaderLines,
    count: impl FnOnce(Bytes) -> Result<Bytes, Error>,
) -> Result<Reply, Error> {
    let coding = Coding::accepted(request).worth_it(text.len());
    let tag = tag_of(&text, lines, coding);
    if tag.is_known_to(request) {
        return Ok(unchanged(&tag, freshness));
    }
    let bytes = count(coding.encode(text).into())?;
    Ok(whole(bytes, lines, freshness, coding, &tag))
}

fn whole(
    bytes: Bytes,
    lines: &HeaderLines,
    freshness: Freshness,
    coding: Coding,
    tag: &ETag,
) -> Reply {
    let mut reply = Reply::bytes(StatusCode::OK, "application/json", bytes).coded(coding);
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    varied(reply.validated(tag, freshness))
}

/// A value as the bytes of an answer.
pub(in crate::http) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("answers have text keys and finite numbers")
}

/// A tag of all that makes the answer: a page may stay as it is while the list grows behind it, and
/// then its headers do not.
fn tag_of(text: &[u8], lines: &HeaderLines, coding: Coding) -> ETag {
    let digest = blake3::hash(text);
    let mut parts = vec![&digest.as_bytes()[..]];
    for (name, value) in lines {
        parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
    }
    parts.extend(coding.name().map(str::as_bytes));
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
        let list = |request: &HeaderMap, name: &str| {
            answer_to(request, to_json(&[name]), Freshness::Moving, &[], Ok).unwrap()
        };
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
