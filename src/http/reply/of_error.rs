//! The answer that a refusal or a failure becomes (contract section 2).

use hyper::StatusCode;
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_RANGE, ETAG, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};

use super::Reply;
use crate::http::error::{ApiFlavor, Error};
use crate::repo;

/// Seconds after which a client may try again what was refused for want of room.
const RETRY_AFTER_S: &str = "1";
/// Seconds after which somebody may have restarted the service.
const RETRY_AFTER_RESTART_S: &str = "60";

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
        Error::Repo(repo::Error::Precondition { tag: Some(tag), .. }) => {
            let tag = HeaderValue::try_from(format!("\"{tag}\""));
            reply = reply.with(ETAG, tag.expect("digits are visible ASCII"));
        }
        _ => {}
    }
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let seconds = if error.is_lasting() {
                RETRY_AFTER_RESTART_S
            } else {
                RETRY_AFTER_S
            };
            reply.with(RETRY_AFTER, HeaderValue::from_static(seconds))
        }
        StatusCode::UNAUTHORIZED if flavor == ApiFlavor::Read => {
            reply.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
        StatusCode::REQUEST_TIMEOUT => reply.with(CONNECTION, HeaderValue::from_static("close")),
        _ => reply,
    }
}
