//! A list that is too long for memory: made, and compressed, while it is sent. Memory stays at two pieces
//! whatever the length of the list and of its entries.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::GzEncoder;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, VARY};
use serde::Serialize;

use crate::base::limits::{LIST_PART_BYTES, LIST_PART_OF_FOLDERS_BYTES, LISTED_ENTRIES_WHOLE_MAX};
use crate::http::error::{ApiFlavor, Error};
use crate::http::reply::coding::{Coding, encoder};
use crate::http::reply::json_text::EntriesText;
use crate::http::reply::stream::{ChunkStream, Pieces};
use crate::http::reply::{Freshness, Reply, VARY_COMPRESSED};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::shape::entry::EntryJson;
use crate::repo::Listing;

/// Entries looked up at once: some hundred KiB of JSON, where their paths are not long.
const ENTRIES_AT_ONCE: u64 = 1000;
/// The same of the folders of one folder.
const FOLDERS_AT_ONCE: u64 = 10_000;
/// About so many bytes are told of an entry.
const ENTRY_BYTES: usize = 512;

/// True for a listing that is not held in memory as a whole.
pub(in crate::http) fn is_long(listing: &Listing) -> bool {
    listing.total() > LISTED_ENTRIES_WHOLE_MAX
}

/// About so many bytes are told of so many entries of a listing.
pub(in crate::http) fn bytes_of(entries: u64) -> usize {
    usize::try_from(entries)
        .unwrap_or(usize::MAX)
        .saturating_mul(ENTRY_BYTES)
}

/// Answers with a whole listing, as this API shows it, and these header lines. The tag is of what is listed and how:
/// the bytes are not known before they are sent.
pub(in crate::http) fn respond(
    context: &RequestContext,
    listing: Listing,
    flavor: ApiFlavor,
    freshness: Freshness,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let content = listing.content();
    let mut parts: Vec<&[u8]> = vec![content.as_bytes()];
    for (name, value) in lines {
        parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
    }
    if flavor == ApiFlavor::Admin {
        parts.push(b"admin");
    }
    let entries = Entries {
        listing,
        flavor,
        made: 0,
    };
    tagged(context, parts, entries, freshness, lines)
}

/// Answers with a list that is made part by part, with a tag of what it is made of.
pub(in crate::http) fn tagged(
    context: &RequestContext,
    mut made_of: Vec<&[u8]>,
    parts: impl Parts + 'static,
    freshness: Freshness,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let coding = Coding::accepted(context.headers());
    made_of.extend(coding.name().map(str::as_bytes));
    let tag = ETag::of_parts(&made_of);
    let kept = |reply: Reply| {
        reply
            .validated(&tag, freshness)
            .with(VARY, HeaderValue::from_static(VARY_COMPRESSED))
    };
    if tag.is_known_to(context.headers()) {
        return kept(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    kept(reply(coding, parts, lines))
}

/// The same without a tag.
pub(in crate::http) fn untagged(context: &RequestContext, parts: impl Parts + 'static) -> Reply {
    let coding = Coding::accepted(context.headers());
    let vary = (VARY, HeaderValue::from_static(VARY_COMPRESSED));
    reply(coding, parts, &[vary])
}

/// A long list, part by part.
pub(in crate::http) trait Parts: Send + Sync {
    /// The JSON of the next entries with commas between them, `None` at the end. May block.
    ///
    /// # Errors
    /// The rest cannot be made. The client sees the answer cut short.
    fn next_part(&mut self) -> io::Result<Option<Vec<u8>>>;
}

/// Answers with a list that is made part by part, in this coding, and these header lines.
fn reply(
    coding: Coding,
    parts: impl Parts + 'static,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let body = body(coding, parts);
    let mut reply = Reply::pieces(StatusCode::OK, "application/json", body);
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    reply.coded(coding)
}

/// The body of such an answer.
pub(in crate::http) fn body(coding: Coding, parts: impl Parts + 'static) -> ChunkStream {
    ChunkStream::new(LongList::new(parts, coding))
}

/// Entries that are made one after the other, as long as who asked for them may have them.
pub(in crate::http) struct Each<I, F> {
    pub(in crate::http) entries: I,
    /// Looks whether that is so, before each part: who takes a list slowly may lose the right to it meanwhile.
    pub(in crate::http) check: F,
}

impl<T, I, F> Parts for Each<I, F>
where
    T: Serialize,
    I: Iterator<Item = Result<T, Error>> + Send + Sync,
    F: Fn() -> Result<(), Error> + Send + Sync,
{
    fn next_part(&mut self) -> io::Result<Option<Vec<u8>>> {
        (self.check)().map_err(io::Error::other)?;
        let text = part(&mut self.entries, LIST_PART_BYTES).map_err(io::Error::other)?;
        Ok((!text.is_empty()).then_some(text))
    }
}

/// The JSON of the next entries with commas between them, empty at the end. None is made once there are so many bytes.
pub(in crate::http) fn part<T: Serialize>(
    entries: &mut impl Iterator<Item = Result<T, Error>>,
    bytes_max: usize,
) -> Result<Vec<u8>, Error> {
    let mut text = EntriesText::default();
    while text.len() < bytes_max
        && let Some(entry) = entries.next()
    {
        text.add(&entry?);
    }
    Ok(text.end())
}

/// A list on its way: a JSON array.
struct LongList<P> {
    parts: P,
    packer: Option<GzEncoder<Vec<u8>>>,
    begun: bool,
    ended: bool,
}

impl<P: Parts> LongList<P> {
    fn new(parts: P, coding: Coding) -> Self {
        Self {
            parts,
            packer: (coding == Coding::Gzip).then(|| encoder(Vec::new())),
            begun: false,
            ended: false,
        }
    }

    /// The next part, with what stands before it, or the end.
    fn text(&mut self) -> io::Result<Vec<u8>> {
        let before = if self.begun { b',' } else { b'[' };
        if let Some(mut text) = self.parts.next_part()? {
            text.insert(0, before);
            self.begun = true;
            return Ok(text);
        }
        self.ended = true;
        let end: &[u8] = if self.begun { b"]" } else { b"[]" };
        Ok(end.to_vec())
    }
}

impl<P: Parts> Pieces for LongList<P> {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        while !self.ended {
            let text = self.text()?;
            let Some(packer) = &mut self.packer else {
                return Ok(Some(text.into()));
            };
            packer.write_all(&text)?;
            if self.ended {
                packer.try_finish()?;
            }
            let piece = std::mem::take(packer.get_mut());
            if !piece.is_empty() {
                return Ok(Some(piece.into()));
            }
        }
        Ok(None)
    }
}

/// The entries of a listing.
struct Entries {
    listing: Listing,
    flavor: ApiFlavor,
    /// Entries that are made.
    made: u64,
}

impl Parts for Entries {
    fn next_part(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.made >= self.listing.total() {
            return Ok(None);
        }
        let folders = self.listing.folders().saturating_sub(self.made);
        let bytes_max = if folders > 0 {
            LIST_PART_OF_FOLDERS_BYTES
        } else {
            LIST_PART_BYTES
        };
        let at_once = folders.clamp(ENTRIES_AT_ONCE, FOLDERS_AT_ONCE);
        let entries = self.listing.part(self.made, at_once);
        let entries = entries.map_err(io::Error::other)?;
        if entries.is_empty() {
            return Err(io::Error::other(
                "a listing has fewer entries than its folder says",
            ));
        }
        let mut text = EntriesText::default();
        for entry in &entries {
            if text.len() >= bytes_max {
                break;
            }
            let shown = match self.flavor {
                ApiFlavor::Read => EntryJson::new(entry),
                ApiFlavor::Admin => EntryJson::with_content(entry),
            };
            text.add(&shown);
            self.made += 1;
        }
        Ok(Some(text.end()))
    }
}
