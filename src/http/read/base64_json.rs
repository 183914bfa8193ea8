//! A JSON object whose last field is a file in base64, made while it is sent: memory does not grow with
//! the file.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;

use crate::base::may_block;
use crate::base::outboard::PIECE_BYTES;
use crate::http::error::Error;
use crate::http::reply::file::unreadable;
use crate::http::reply::json;
use crate::http::reply::stream::{ChunkStream, Pieces};
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::repo::{Body, Content};

/// Answers with `object`, which serialises to an object with at least one field and tells the file's
/// SHA-256, and the bytes of the file as its field `content`.
///
/// # Errors
/// A large file whose beginning cannot be read: what comes later cuts the answer off.
pub(super) fn respond(
    context: &RequestContext,
    object: &impl Serialize,
    content: Content,
    freshness: Freshness,
) -> Result<Reply, Error> {
    let mut head = serde_json::to_vec(object).expect("answers have text keys and finite numbers");
    head.pop();
    head.extend_from_slice(b",\"content\":\"");
    if let Body::Inline(bytes) = &content.body {
        let mut whole = String::from_utf8(head).expect("JSON is UTF-8");
        BASE64_STANDARD.encode_string(bytes, &mut whole);
        whole.push_str("\"}");
        let whole = whole.into_bytes();
        return Ok(json::respond_text(context.headers(), whole, freshness, &[]));
    }
    let tag = ETag::of_parts(&[&head]);
    if tag.is_known_to(context.headers()) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).validated(&tag, freshness));
    }
    if let Body::Large(large) = &content.body {
        // Its first piece stays in memory.
        may_block(|| large.read_at(0, 1)).map_err(unreadable)?;
    }
    let length = head.len() as u64 + content.size.div_ceil(3) * 4 + 2;
    let pieces = Encoded {
        head: Some(head.into()),
        content,
        offset: 0,
        rest: Vec::new(),
        at_end: false,
    };
    let body = ChunkStream::new(pieces, Some(length));
    Ok(Reply::pieces(StatusCode::OK, "application/json", body).validated(&tag, freshness))
}

/// The object under way.
struct Encoded {
    head: Option<Bytes>,
    content: Content,
    offset: u64,
    /// Bytes that were read and are no whole group of three.
    rest: Vec<u8>,
    at_end: bool,
}

impl Pieces for Encoded {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        let left = usize::try_from(self.content.size - self.offset).unwrap_or(usize::MAX);
        if left > 0 {
            let mut chunk = std::mem::take(&mut self.rest);
            let begin = chunk.len();
            chunk.resize(begin + left.min(PIECE_BYTES), 0);
            if let Body::Large(large) = &self.content.body {
                large.read_exact_at(&mut chunk[begin..], self.offset)?;
            }
            self.offset += (chunk.len() - begin) as u64;
            if self.offset < self.content.size {
                // No padding before the end.
                self.rest = chunk.split_off(chunk.len() / 3 * 3);
            }
            return Ok(Some(BASE64_STANDARD.encode(chunk).into()));
        }
        if self.at_end {
            return Ok(None);
        }
        self.at_end = true;
        Ok(Some(Bytes::from_static(b"\"}")))
    }
}
