//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK, VARY};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use super::coding::Coding;
use super::rendered::Rendered;
use super::{Freshness, Reply, VARY_COMPRESSED};
use crate::base::limits::BRANCHES_WHOLE_BYTES_MAX;
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
    rendered_text(to_json(value), lines, freshness, coding)
}

fn rendered_text(
    text: Vec<u8>,
    lines: &HeaderLines,
    freshness: Freshness,
    coding: Coding,
) -> Rendered {
    let coding = coding.worth_it(text.len());
    let tag = tag_of(&blake3::hash(&text), lines, coding);
    let bytes = Bytes::from(coding.encode(text));
    let reply = whole(bytes.clone(), lines, freshness, coding, &tag);
    let unchanged = unchanged(&tag, freshness);
    Rendered::new(&reply, Some(bytes), tag, &unchanged)
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

/// The same of a list, which always has to be asked for again. Of a long one there is no more than the head.
///
/// # Errors
/// As there.
pub(in crate::http) fn shared_list(
    context: &RequestContext,
    list: ListText,
    lines: &HeaderLines,
    coding: Coding,
) -> Result<Rendered, Error> {
    let freshness = Freshness::Moving;
    match list {
        ListText::Whole(text) => {
            rendered_text(text, lines, freshness, coding).counted(|bytes| context.count(bytes))
        }
        ListText::Long(digest) => {
            let tag = tag_of(&digest, lines, coding);
            let json = HeaderValue::from_static("application/json");
            let head = Reply::empty(StatusCode::OK).with(CONTENT_TYPE, json);
            let head = with_lines(head, lines, freshness, coding, &tag);
            let unchanged = unchanged(&tag, freshness);
            Ok(Rendered::new(&head, None, tag, &unchanged))
        }
    }
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
    let mut array = JsonArray::default();
    for entry in entries {
        array.add(&entry?);
    }
    respond_text(context, array.end(), Freshness::Moving, lines)
}

/// The text of a list whose entries can be made once more, or what its tag is made of.
#[derive(Debug)]
pub(in crate::http) enum ListText {
    /// All of it.
    Whole(Vec<u8>),
    /// The digest of more than [`BRANCHES_WHOLE_BYTES_MAX`] bytes, which are to be made while they are sent.
    Long(blake3::Hash),
}

impl ListText {
    /// Of these entries, which are made one after the other.
    ///
    /// # Errors
    /// Those of an entry.
    pub(in crate::http) fn of<T: Serialize>(
        entries: impl Iterator<Item = Result<T, Error>>,
    ) -> Result<Self, Error> {
        let mut array = JsonArray::default();
        let mut hasher = None;
        for entry in entries {
            array.add(&entry?);
            if array.text.len() > BRANCHES_WHOLE_BYTES_MAX {
                let hasher = hasher.get_or_insert_with(blake3::Hasher::new);
                hasher.update(&array.text);
                array.text.clear();
            }
        }
        let text = array.end();
        Ok(match hasher {
            None => Self::Whole(text),
            Some(mut hasher) => Self::Long(hasher.update(&text).finalize()),
        })
    }
}

/// A JSON array to which one entry after the other is added.
#[derive(Default)]
struct JsonArray {
    /// What was not taken out of it.
    text: Vec<u8>,
    begun: bool,
}

impl JsonArray {
    fn add(&mut self, entry: &impl Serialize) {
        self.text.push(if self.begun { b',' } else { b'[' });
        self.begun = true;
        self.text.append(&mut to_json(entry));
    }

    fn end(mut self) -> Vec<u8> {
        let end: &[u8] = if self.begun { b"]" } else { b"[]" };
        self.text.extend_from_slice(end);
        self.text
    }
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
    let tag = tag_of(&blake3::hash(&text), lines, coding);
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
    let reply = Reply::bytes(StatusCode::OK, "application/json", bytes);
    with_lines(reply, lines, freshness, coding, tag)
}

fn with_lines(
    reply: Reply,
    lines: &HeaderLines,
    freshness: Freshness,
    coding: Coding,
    tag: &ETag,
) -> Reply {
    let mut reply = reply.coded(coding);
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
fn tag_of(digest: &blake3::Hash, lines: &HeaderLines, coding: Coding) -> ETag {
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
    fn the_digest_of_a_long_list_is_that_of_its_text() {
        let entry = "x".repeat(BRANCHES_WHOLE_BYTES_MAX / 3);
        for (count, is_long) in [(0, false), (1, false), (2, false), (4, true), (9, true)] {
            let entries = vec![&entry; count];
            let text = to_json(&entries);
            match ListText::of(entries.iter().map(Ok)).unwrap() {
                ListText::Whole(whole) => assert!(!is_long && whole == text),
                ListText::Long(digest) => assert!(is_long && digest == blake3::hash(&text)),
            }
        }
    }

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
