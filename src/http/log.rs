//! What the log says of a request.

use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Instant;

use hyper::{Method, StatusCode, Uri};

use super::error::Error;
use super::request::id::RequestId;
use super::request::query::keys_for_log;

/// Longest undecoded path that the log shows, in bytes.
const LOGGED_PATH_BYTES_MAX: usize = 1024;

/// Writes one line per request; of its query only the keys.
pub(in crate::http) fn request(
    id: RequestId,
    method: &Method,
    uri: &Uri,
    status: StatusCode,
    bytes: u64,
    started: Instant,
) {
    tracing::info!(
        %id,
        %method,
        path = shortened(uri.path()),
        query = uri.query().map(keys_for_log),
        status = status.as_u16(),
        bytes,
        micros = started.elapsed().as_micros(),
        "request",
    );
}

/// Writes what the client must not see: the whole chain of an error that is not the client's.
pub(in crate::http) fn failure(id: RequestId, error: &Error) {
    if !error.status().is_server_error() {
        return;
    }
    let mut chain = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _infallible = write!(chain, ": {cause}");
        source = cause.source();
    }
    tracing::error!(%id, error = chain, "request failed");
}

fn shortened(path: &str) -> &str {
    let mut end = path.len().min(LOGGED_PATH_BYTES_MAX);
    while !path.is_char_boundary(end) {
        end -= 1;
    }
    &path[..end]
}
