//! What the log says of a request.

use std::error::Error as _;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Instant;

use hyper::{Method, StatusCode, Uri};

use super::error::Error;
use super::request::id::RequestId;
use super::request::query::keys_for_log;
use crate::access::Refusal;

/// Longest undecoded path that the log shows, in bytes.
const LOGGED_PATH_BYTES_MAX: usize = 1024;

/// What is said of a request that was answered.
#[derive(Debug)]
pub(in crate::http) struct Line<'a> {
    pub(in crate::http) id: RequestId,
    /// The address of who sent it.
    pub(in crate::http) client: IpAddr,
    pub(in crate::http) method: &'a Method,
    pub(in crate::http) uri: &'a Uri,
    pub(in crate::http) status: StatusCode,
    /// Length of the body of the answer.
    pub(in crate::http) bytes: u64,
    /// Who was refused and why, if somebody was.
    pub(in crate::http) refusal: Option<Refusal>,
    pub(in crate::http) started: Instant,
}

/// Writes one line per request; of its query only the keys. The README's filter for fail2ban knows the
/// order of the first fields.
pub(in crate::http) fn request(line: &Line<'_>) {
    let refusal = line.refusal.as_ref();
    tracing::info!(
        id = %line.id,
        client = %line.client,
        method = %line.method,
        path = shortened(line.uri.path()),
        status = line.status.as_u16(),
        query = line.uri.query().map(keys_for_log),
        bytes = line.bytes,
        micros = line.started.elapsed().as_micros(),
        account = refusal.and_then(|refusal| refusal.account.as_deref()),
        reason = refusal.map(|refusal| refusal.reason),
        "request",
    );
}

/// Writes what the client must not see: the whole chain of an error that is not the client's.
pub(in crate::http) fn failure(id: RequestId, error: &Error) {
    if !error.is_failure() {
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
