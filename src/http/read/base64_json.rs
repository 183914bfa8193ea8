//! A JSON object whose last field is a file in base64, made while it is sent: memory does not grow with
//! the file.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;

use crate::base::outboard::PIECE_BYTES;
use crate::http::error::Error;
use crate::http::reply::json;
use crate::http::reply::stream::{ChunkStream, Pieces};
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::repo::{Body, Content};

/// Answers with `object`, which serialises to an object with at least one field and tells the file's
/// SHA-256, and the bytes of the file as its field `content`. Of a large one nothing is read yet.
///
/// # Errors
/// As [`RequestContext::count`].
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
        return json::respond_text(context, whole, freshness, &[]);
    }
    let tag = ETag::of_parts(&[&head]);
    if tag.is_known_to(context.headers()) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).validated(&tag, freshness));
    }
    let length = head.len() as u64 + content.size.div_ceil(3) * 4 + 2;
    let pieces = Encoded {
        head,
        content,
        offset: 0,
        rest: Vec::new(),
        at_end: false,
    };
    let body = ChunkStream::of_file(pieces, Some(length), context.piece_shares());
    Ok(Reply::pieces(StatusCode::OK, "application/json", body).validated(&tag, freshness))
}

/// The object under way.
struct Encoded {
    /// What stands before the file, until its beginning was read.
    head: Vec<u8>,
    content: Content,
    offset: u64,
    /// Bytes that were read and are no whole group of three.
    rest: Vec<u8>,
    at_end: bool,
}

impl Pieces for Encoded {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
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
            let mut made =
                String::from_utf8(std::mem::take(&mut self.head)).expect("JSON is UTF-8");
            BASE64_STANDARD.encode_string(chunk, &mut made);
            return Ok(Some(made.into()));
        }
        if self.at_end {
            return Ok(None);
        }
        self.at_end = true;
        Ok(Some(Bytes::from_static(b"\"}")))
    }
}
