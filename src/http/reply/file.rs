//! A file's bytes as an answer: type, tag, conditions, parts.

use std::io;

use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_SECURITY_POLICY, HeaderValue,
    IF_MATCH, IF_RANGE, RANGE,
};
use hyper::{HeaderMap, Method, StatusCode};

use super::disposition::Disposition;
use super::file_chunks::FileChunks;
use super::rendered::Rendered;
use super::{Freshness, Reply};
use crate::base::file_path::FilePath;
use crate::base::limits::INLINE_BYTES_MAX;
use crate::http::error::Error;
use crate::http::request::conditions::{ETag, IfMatch, if_match};
use crate::http::request::context::RequestContext;
use crate::http::request::range::{Part, part};
use crate::repo;
use crate::repo::{Body, Content, FileView};

const TEXT: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";

/// Nothing in a stored file runs in a browser.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// 304 when the client has the file already, `None` when it is to be sent.
///
/// # Errors
/// A failed `If-Match`.
pub(in crate::http) fn unchanged(
    context: &RequestContext,
    file: &FileView,
    freshness: Freshness,
) -> Result<Option<Reply>, Error> {
    let headers = context.headers();
    if let Some(IfMatch::OneOf(tags)) = if_match(headers)
        && !tags.contains(&file.blob().to_string())
    {
        return Err(repo::Error::file_precondition(None, Some(file.blob())).into());
    }
    let tag = ETag::of_blob(file.blob());
    Ok(tag
        .is_known_to(headers)
        .then(|| not_modified(&tag, freshness)))
}

/// True for a request that gets the whole file, or 304, whatever it holds.
pub(in crate::http) fn is_for_whole(headers: &HeaderMap) -> bool {
    !headers.contains_key(RANGE) && !headers.contains_key(IF_MATCH)
}

/// The answer to all who ask for a whole file, made of the answer to one of them.
pub(in crate::http) fn rendered(
    whole: &Reply,
    file: &FileView,
    bytes: Bytes,
    freshness: Freshness,
) -> Rendered {
    let tag = ETag::of_blob(file.blob());
    let unchanged = not_modified(&tag, freshness);
    Rendered::new(whole, Some(bytes), tag, &unchanged)
}

fn not_modified(tag: &ETag, freshness: Freshness) -> Reply {
    Reply::empty(StatusCode::NOT_MODIFIED).validated(tag, freshness)
}

/// Answers with a file's bytes, or the part of them that the request asks for. Of a large one nothing is read yet.
///
/// # Errors
/// [`Error::Range`].
pub(in crate::http) fn respond(
    context: &RequestContext,
    path: &FilePath,
    file: &FileView,
    content: Content,
    freshness: Freshness,
    disposition: Disposition,
) -> Result<Reply, Error> {
    let Content { size, body, .. } = content;
    let tag = ETag::of_blob(file.blob());
    let (status, from, length) = match asked_part(context, &tag, size) {
        Part::Whole => (StatusCode::OK, 0, size),
        Part::Slice { from, length } => (StatusCode::PARTIAL_CONTENT, from, length),
        Part::Unsatisfiable => return Err(Error::Range { size }),
    };
    let mut reply = match body {
        Body::Inline(bytes) => {
            let content_type = content_type(size, &bytes);
            Reply::bytes(status, content_type, slice_of(&bytes, from, length))
        }
        Body::Large(large) => {
            Reply::large(status, FileChunks::new(large, size, context, from, length))
        }
    };
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {from}-{}/{size}", from + length - 1);
        let range = HeaderValue::try_from(range).expect("digits are visible ASCII");
        reply = reply.with(CONTENT_RANGE, range);
    }
    Ok(reply
        .validated(&tag, freshness)
        .with(ACCEPT_RANGES, HeaderValue::from_static("bytes"))
        .with(CONTENT_DISPOSITION, disposition.header(path.name()))
        .with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)))
}

/// A text that is made for this answer, with the headers of a file that may hold anything.
///
/// # Errors
/// As [`RequestContext::count`].
pub(in crate::http) fn text(context: &RequestContext, text: String) -> Result<Reply, Error> {
    let bytes = context.count(text.into())?;
    Ok(Reply::bytes(StatusCode::OK, TEXT, bytes)
        .with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)))
}

/// The part that a `GET` asks for, when its `If-Range` still holds.
fn asked_part(context: &RequestContext, tag: &ETag, size: u64) -> Part {
    let headers = context.headers();
    let holds = headers
        .get(IF_RANGE)
        .is_none_or(|validator| tag.is_in_if_range(validator));
    let mut ranges = headers.get_all(RANGE).into_iter();
    match (ranges.next(), ranges.next()) {
        (Some(range), None) if holds && context.head.method == Method::GET => range
            .to_str()
            .map_or(Part::Whole, |range| part(range, size)),
        _ => Part::Whole,
    }
}

fn slice_of(bytes: &Bytes, from: u64, length: u64) -> Bytes {
    let at = |offset: u64| usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
    bytes.slice(at(from)..at(from + length))
}

/// The type by the bytes alone, never by the name or the one who sent them: the first 64 KiB decide,
/// with which `bytes` begin.
pub(super) fn content_type(size: u64, bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(INLINE_BYTES_MAX)];
    if is_text(head, head.len() as u64 == size) {
        TEXT
    } else {
        BINARY
    }
}

/// The failure of a read of a large file.
pub(super) fn unreadable(error: io::Error) -> Error {
    repo::Error::from(repo::StoreError::io("reading a large file", error)).into()
}

/// True for UTF-8 without NUL; a character that the end of an incomplete run cuts is no defect.
fn is_text(bytes: &[u8], complete: bool) -> bool {
    let utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => !complete && error.error_len().is_none(),
    };
    utf8 && !bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf_8_without_nul() {
        for (bytes, complete, expected) in [
            (&b""[..], true, true),
            (b"<html>", true, true),
            ("Привет".as_bytes(), true, true),
            (b"a\0b", true, false),
            (b"\xff\xfea\0", true, false),
            (b"\xd0", true, false),
            (b"\xd0", false, true),
            (b"\xd0a", false, false),
        ] {
            assert_eq!(is_text(bytes, complete), expected, "{bytes:?}");
        }
    }
}
