//! A JSON object whose last field is a file in base64. Of a large file it is made while it is sent: memory does not
//! grow with the file.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;

use crate::http::error::Error;
use crate::http::reply::base64_object::Base64Object;
use crate::http::reply::file_chunks::FileChunks;
use crate::http::reply::json;
use crate::http::reply::json_text::{into_text, to_json};
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
    let Content { size, body, .. } = content;
    let mut head = into_text(to_json(object));
    head.pop();
    head.push_str(",\"content\":\"");
    match body {
        Body::Inline(bytes) => {
            let (whole, _) = Base64Object::new(head).made_of(&bytes, true);
            json::respond_text(context, whole.into(), freshness, &[])
        }
        Body::Large(large) => {
            let tag = ETag::of_parts(&[head.as_bytes()]);
            if tag.is_known_to(context.headers()) {
                return Ok(Reply::empty(StatusCode::NOT_MODIFIED).validated(&tag, freshness));
            }
            let chunks = FileChunks::in_object(large, size, context, Base64Object::new(head));
            let json = HeaderValue::from_static("application/json");
            let reply = Reply::large(StatusCode::OK, chunks).with(CONTENT_TYPE, json);
            Ok(reply.validated(&tag, freshness))
        }
    }
}
