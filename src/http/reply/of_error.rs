//! The answer that a refusal or a failure becomes (contract section 2).

use hyper::StatusCode;
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_RANGE, ETAG, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};

use super::Reply;
use crate::access;
use crate::http::error::{ApiFlavor, Error};
use crate::repo;

/// The body of every error.
#[derive(Debug, serde::Serialize)]
struct Message<'a> {
    message: &'a str,
}

/// The whole answer, in the words of the API that was asked.
pub(in crate::http) fn of_error(error: &Error, flavor: ApiFlavor) -> Reply {
    let status = error.status();
    let message = &error.message(flavor);
    let mut reply = Reply::json(status, &Message { message });
    match error {
        Error::Method { allow } => {
            let allow = HeaderValue::try_from(allow).expect("methods are visible ASCII");
            reply = reply.with(ALLOW, allow);
        }
        Error::Range { size } => {
            let range = HeaderValue::try_from(format!("bytes */{size}"));
            reply = reply.with(CONTENT_RANGE, range.expect("digits are visible ASCII"));
        }
        Error::Repo(repo::Error::Precondition { tag: Some(tag), .. })
        | Error::Access(access::Error::Repo(repo::Error::Precondition {
            tag: Some(tag), ..
        })) => {
            let tag = HeaderValue::try_from(format!("\"{tag}\""));
            reply = reply.with(ETAG, tag.expect("digits are visible ASCII"));
        }
        _ => {}
    }
    if let Some(seconds) = error.retry_after_s() {
        reply = reply.with(RETRY_AFTER, seconds.into());
    }
    match status {
        StatusCode::UNAUTHORIZED if flavor == ApiFlavor::Read => {
            reply.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
        StatusCode::REQUEST_TIMEOUT => reply.with(CONNECTION, HeaderValue::from_static("close")),
        _ => reply,
    }
}
