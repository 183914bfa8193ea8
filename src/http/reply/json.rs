//! JSON answers that a client may keep: with a tag, sent again only when they changed, compressed for
//! whoever takes it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK, VARY};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use super::coding::{Coding, encoder};
use super::json_text::{EntriesText, to_json};
use super::rendered::Rendered;
use super::stream::ChunkStream;
use super::{Freshness, Reply, VARY_COMPRESSED};
use crate::base::limits::{BRANCHES_WHOLE_BYTES_MAX, LIST_PART_BYTES, SHORT_LIST_BYTES_MAX};
use crate::http::admission::fair_semaphore::FairPermit;
use crate::http::error::Error;
use crate::http::list::links;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;

/// Header lines of an answer beside those that every answer has.
pub(in crate::http) type HeaderLines = [(HeaderName, HeaderValue)];

/// The stamp of an entry that is shown in no state which it could be shown in again. See [`ListText::of`].
pub(in crate::http) const PASSING: [u8; 16] = [0; 16];

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
    list: ListText<'_>,
    lines: &HeaderLines,
    coding: Coding,
) -> Result<Rendered, Error> {
    let ListText { made, room: _room } = list;
    rendered_list(made, lines, coding).counted(|bytes| context.count(bytes))
}

fn rendered_list(made: Made, lines: &HeaderLines, coding: Coding) -> Rendered {
    let freshness = Freshness::Moving;
    let (digest, bytes) = match made {
        Made::Whole(text) => return rendered_text(text, lines, freshness, coding),
        Made::Packed { bytes, digest } => (digest, Some(bytes)),
        Made::Long(digest) => (digest, None),
    };
    let tag = tag_of(&digest, lines, coding);
    let reply = if let Some(bytes) = &bytes {
        whole(bytes.clone(), lines, freshness, coding, &tag)
    } else {
        let json = HeaderValue::from_static("application/json");
        let head = Reply::empty(StatusCode::OK).with(CONTENT_TYPE, json);
        with_lines(head, lines, freshness, coding, &tag)
    };
    let unchanged = unchanged(&tag, freshness);
    Rendered::new(&reply, bytes, tag, &unchanged)
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
    let mut array = EntriesText::array();
    for entry in entries {
        array.add(&entry?);
    }
    respond_text(context, array.end(), Freshness::Moving, lines)
}

/// Answers a request with a list, made for it alone; `again` makes the body of a long one.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn respond_list(
    context: &RequestContext,
    list: ListText<'_>,
    coding: Coding,
    again: impl FnOnce() -> ChunkStream,
) -> Result<Reply, Error> {
    let ListText { made, room: _room } = list;
    if let Made::Whole(text) = made {
        return respond_text(context, text, Freshness::Moving, &[]);
    }
    let rendered = rendered_list(made, &[], coding).counted(|bytes| context.count(bytes))?;
    let headers = context.headers();
    let whole = rendered.whole_reply(headers);
    Ok(whole.unwrap_or_else(|| rendered.reply(headers).with_pieces(again())))
}

/// A list whose entries can be made once more, in the room that it was made in.
pub(in crate::http) struct ListText<'a> {
    made: Made,
    room: Option<FairPermit<'a>>,
}

/// What is held of such a list.
#[derive(Debug)]
enum Made {
    /// Its text.
    Whole(Vec<u8>),
    /// Of a longer one that is sent compressed: all that is sent, and the digest of its text.
    Packed { bytes: Bytes, digest: blake3::Hash },
    /// Of one of which more than [`BRANCHES_WHOLE_BYTES_MAX`] would be sent: what its tag is made of. It is to be made
    /// while it is sent.
    Long(blake3::Hash),
}

impl<'a> ListText<'a> {
    /// Of these entries, which are made one after the other. Each comes with a stamp, which says in which state it is
    /// shown and is never that of another state: the tag of a long list, whose entries may be others when they are
    /// sent, depends on them.
    ///
    /// # Limits
    /// A text that grows beyond what needs no room waits for it, unless it has `room`: see
    /// [`RequestContext::room_to_list`].
    ///
    /// # Errors
    /// Those of an entry, and as there.
    pub(in crate::http) fn of<T: Serialize>(
        context: &'a RequestContext,
        mut room: Option<FairPermit<'a>>,
        coding: Coding,
        entries: impl Iterator<Item = Result<(T, [u8; 16]), Error>>,
    ) -> Result<Self, Error> {
        let made = Made::of(entries, coding, |bytes| {
            if room.is_none() {
                room = context.room_to_list(bytes)?;
            }
            Ok(())
        })?;
        Ok(Self { made, room })
    }
}

impl Made {
    /// `grown` is told how many bytes of text are held.
    fn of<T: Serialize>(
        entries: impl Iterator<Item = Result<(T, [u8; 16]), Error>>,
        coding: Coding,
        mut grown: impl FnMut(usize) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut array = EntriesText::array();
        let mut stamps = blake3::Hasher::new();
        let mut long: Option<LongText> = None;
        let mut held_max = BRANCHES_WHOLE_BYTES_MAX;
        for entry in entries {
            let (entry, stamp) = entry?;
            stamps.update(&stamp);
            array.add(&entry);
            grown(array.len())?;
            if array.len() > SHORT_LIST_BYTES_MAX {
                array.reserve(BRANCHES_WHOLE_BYTES_MAX + LIST_PART_BYTES);
            }
            if array.len() > held_max {
                let long = long.get_or_insert_with(|| LongText::begun(coding));
                long.add(array.held());
                array.let_go();
                held_max = LIST_PART_BYTES;
            }
        }
        let text = array.end();
        let Some(mut long) = long else {
            return Ok(Self::Whole(text));
        };
        long.add(&text);
        let (digest, bytes) = long.end();
        Ok(match bytes {
            Some(bytes) => Self::Packed { bytes, digest },
            None => Self::Long(stamps.update(digest.as_bytes()).finalize()),
        })
    }
}

/// A text that is too long to be held.
struct LongText {
    digest: blake3::Hasher,
    /// What is sent of it so far, where that is compressed and not too long, too.
    packer: Option<GzEncoder<Vec<u8>>>,
}

impl LongText {
    fn begun(coding: Coding) -> Self {
        Self {
            digest: blake3::Hasher::new(),
            packer: (coding == Coding::Gzip).then(|| encoder(Vec::new())),
        }
    }

    fn add(&mut self, text: &[u8]) {
        self.digest.update(text);
        if let Some(packer) = &mut self.packer {
            packer.write_all(text).expect("a vector takes everything");
            if packer.get_ref().len() > BRANCHES_WHOLE_BYTES_MAX {
                self.packer = None;
            }
        }
    }

    /// The digest of the text, and all that is sent of it, if that is held.
    fn end(self) -> (blake3::Hash, Option<Bytes>) {
        let packed = self
            .packer
            .map(|packer| packer.finish().expect("a vector takes everything"));
        let packed = packed.filter(|packed| packed.len() <= BRANCHES_WHOLE_BYTES_MAX);
        // It may be kept: without the room that it had to grow.
        let bytes = packed.map(|packed| Bytes::from(packed.into_boxed_slice()));
        (self.digest.finalize(), bytes)
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
    use std::io::Read as _;

    use hyper::header::{ETAG, IF_NONE_MATCH};

    use super::*;

    /// A list of these entries, all of them with this stamp.
    fn made(entries: &[String], stamp: u8, coding: Coding) -> Made {
        let entries = entries.iter().map(|entry| Ok((entry, [stamp; 16])));
        Made::of(entries, coding, |_| Ok(())).unwrap()
    }

    #[test]
    fn a_long_list_has_another_tag_for_each_state_of_its_entries() {
        let entry = "x".repeat(BRANCHES_WHOLE_BYTES_MAX / 3);
        for (count, is_long) in [(0, false), (1, false), (2, false), (4, true), (9, true)] {
            let entries = vec![entry.clone(); count];
            let text = to_json(&entries);
            let lists = [1, 1, 2].map(|stamp| made(&entries, stamp, Coding::Identity));
            if is_long {
                let digests = lists.map(|list| match list {
                    Made::Long(digest) => digest,
                    list => panic!("{list:?}"),
                });
                assert_eq!(digests[0], digests[1]);
                assert_ne!(digests[0], digests[2]);
            } else {
                let is_text = |list: &Made| matches!(list, Made::Whole(whole) if *whole == text);
                assert!(lists.iter().all(is_text));
            }
        }
    }

    #[test]
    fn a_long_list_is_held_where_it_is_short_enough_once_it_is_packed() {
        let entries = vec!["x".repeat(LIST_PART_BYTES / 2); 40];
        let text = to_json(&entries);
        for stamp in [1, 2] {
            let Made::Packed { bytes, digest } = made(&entries, stamp, Coding::Gzip) else {
                panic!("it is not packed");
            };
            assert_eq!(digest, blake3::hash(&text));
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
            decoder.read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == text);
        }
        let mut noise = vec![0; 3 * BRANCHES_WHOLE_BYTES_MAX / 2];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        let entries: Vec<_> = noise.chunks(LIST_PART_BYTES).map(hex::encode).collect();
        let list = made(&entries, 1, Coding::Gzip);
        assert!(matches!(list, Made::Long(_)), "it is held");
    }

    #[test]
    fn how_much_is_held_of_a_list_is_told_while_it_is_made() {
        let entry = "x".repeat(LIST_PART_BYTES);
        let mut most = 0;
        let entries = (0..64).map(|_| Ok((&entry, [0; 16])));
        Made::of(entries, Coding::Identity, |bytes| {
            most = most.max(bytes);
            Ok(())
        })
        .unwrap();
        let longest = BRANCHES_WHOLE_BYTES_MAX + LIST_PART_BYTES + 3;
        assert!(
            (BRANCHES_WHOLE_BYTES_MAX..=longest).contains(&most),
            "{most}"
        );
        let entries = (0..64).map(|_| Ok((&entry, [0; 16])));
        let refused = Made::of(entries, Coding::Identity, |_| Err(Error::NoRoute));
        assert!(matches!(refused, Err(Error::NoRoute)));
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
