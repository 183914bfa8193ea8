//! A listing that is too long for memory: made, and compressed, while it is sent. Memory stays at two
//! pieces whatever the length.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::GzEncoder;
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, VARY};

use crate::base::limits::LISTED_ENTRIES_WHOLE_MAX;
use crate::http::reply::gzip;
use crate::http::reply::stream::{ChunkStream, Pieces};
use crate::http::reply::{Freshness, Reply, VARY_COMPRESSED};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::shape::entry::EntryJson;
use crate::repo::Listing;

/// Entries looked up at once: some hundred KiB of JSON.
const ENTRIES_AT_ONCE: u64 = 1000;

/// Whose listing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Form {
    /// The Read API's.
    Read,
    /// The Admin API's, which tells more of files.
    Admin,
}

/// True for a listing that is not held in memory as a whole.
pub(in crate::http) fn is_long(listing: &Listing) -> bool {
    listing.total() > LISTED_ENTRIES_WHOLE_MAX
}

/// Answers with a whole listing and these header lines. The tag is of what is listed and how: the
/// bytes are not known before they are sent.
pub(in crate::http) fn respond(
    context: &RequestContext,
    listing: Listing,
    form: Form,
    freshness: Freshness,
    lines: &[(HeaderName, HeaderValue)],
) -> Reply {
    let packed = gzip::is_accepted(context.headers());
    let content = listing.content();
    let mut parts: Vec<&[u8]> = vec![content.as_bytes()];
    for (name, value) in lines {
        parts.extend([name.as_str().as_bytes(), value.as_bytes()]);
    }
    if form == Form::Admin {
        parts.push(b"admin");
    }
    if packed {
        parts.push(b"gzip");
    }
    let tag = ETag::of_parts(&parts);
    let kept = |reply: Reply| {
        reply
            .validated(&tag, freshness)
            .with(VARY, HeaderValue::from_static(VARY_COMPRESSED))
    };
    if tag.is_known_to(context.headers()) {
        return kept(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    let body = ChunkStream::new(LongList::new(listing, form, packed), None);
    let mut reply = Reply::pieces(StatusCode::OK, "application/json", body);
    for (name, value) in lines {
        reply = reply.with(name.clone(), value.clone());
    }
    if packed {
        reply = reply.with(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    kept(reply)
}

/// A listing on its way: a JSON array.
struct LongList {
    listing: Listing,
    form: Form,
    packer: Option<GzEncoder<Vec<u8>>>,
    /// Entries that are made.
    made: u64,
    ended: bool,
}

impl LongList {
    fn new(listing: Listing, form: Form, packed: bool) -> Self {
        Self {
            listing,
            form,
            packer: packed.then(|| gzip::encoder(Vec::new())),
            made: 0,
            ended: false,
        }
    }

    /// The next entries, with what stands before and behind them.
    fn text(&mut self) -> io::Result<Vec<u8>> {
        // Each part with folders reads all of them, so they come as one.
        let folders = self.listing.folders().saturating_sub(self.made);
        let entries = self.listing.part(self.made, folders.max(ENTRIES_AT_ONCE));
        let entries = entries.map_err(io::Error::other)?;
        if entries.is_empty() {
            return Err(io::Error::other(
                "a listing has fewer entries than its folder says",
            ));
        }
        let mut text = Vec::new();
        for entry in &entries {
            text.push(if self.made == 0 { b'[' } else { b',' });
            let shown = match self.form {
                Form::Read => EntryJson::new(entry),
                Form::Admin => EntryJson::with_content(entry),
            };
            serde_json::to_writer(&mut text, &shown)?;
            self.made += 1;
        }
        if self.made >= self.listing.total() {
            text.push(b']');
            self.ended = true;
        }
        Ok(text)
    }
}

impl Pieces for LongList {
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
