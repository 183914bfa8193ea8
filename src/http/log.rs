//! What the log says of a request.

use std::error::Error as _;
use std::net::IpAddr;
use std::time::Duration;

use hyper::{Method, StatusCode, Uri};

use super::error::Error;
use super::request::context::Who;
use super::request::id::RequestId;
use super::request::query::keys_for_log;
use super::route::template::Template;
use crate::access::Refusal;

/// Longest method and undecoded path that the log shows, in bytes each.
const LOGGED_BYTES_MAX: usize = 1024;

/// What is said of a request that was answered.
#[derive(Debug)]
pub(in crate::http) struct Line<'a> {
    pub(in crate::http) id: RequestId,
    /// The address of who sent it.
    pub(in crate::http) client: IpAddr,
    pub(in crate::http) method: &'a Method,
    pub(in crate::http) uri: &'a Uri,
    pub(in crate::http) status: StatusCode,
    pub(in crate::http) route: Template,
    /// Length of the body of the answer.
    pub(in crate::http) bytes: u64,
    /// Who sent it, if that was found out.
    pub(in crate::http) who: Option<&'a Who>,
    /// The id by which a trusted proxy knows it.
    pub(in crate::http) proxy_request_id: Option<&'a str>,
    /// Who was refused and why, if somebody was.
    pub(in crate::http) refusal: Option<Refusal>,
    /// From the request's head to the answer's, without what it was held.
    pub(in crate::http) took: Duration,
    /// How long it was held, for a client that waits.
    pub(in crate::http) held: Duration,
}

/// Writes one line per request; of its query only the keys. The README's filter for fail2ban knows the
/// order of the first fields.
pub(in crate::http) fn request(line: &Line<'_>) {
    let refusal = line.refusal.as_ref();
    tracing::info!(
        id = %line.id,
        client = %line.client,
        method = shortened(line.method.as_str()),
        path = shortened(line.uri.path()),
        status = line.status.as_u16(),
        route = line.route.path(),
        query = line.uri.query().map(keys_for_log),
        bytes = line.bytes,
        micros = micros(line.took),
        held_micros = (!line.held.is_zero()).then(|| micros(line.held)),
        account = refusal
            .and_then(|refusal| refusal.account.as_deref())
            .or(line.who.map(|who| who.account().name())),
        token = line.who.and_then(Who::token),
        reason = refusal.map(|refusal| refusal.reason),
        proxy_request_id = line.proxy_request_id,
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
        let told = cause.to_string();
        // Most errors say what they come from.
        if !chain.contains(&told) {
            chain.push_str(": ");
            chain.push_str(&told);
        }
        source = cause.source();
    }
    tracing::error!(%id, error = chain, "request failed");
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(LOGGED_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
