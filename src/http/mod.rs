//! The two APIs over HTTP/1.1, on raw hyper: the Read API shaped like GitLab's
//! (`read`), the Admin API (`admin`), the login (`login`), and the document that describes them
//! (`openapi`).
//!
//! `handle` is a request from top to bottom. A route is an enum parsed from method and path; a
//! handler is a plain function that may block and gets what the gate opened. One place decides each
//! of: the status and text of an error (`error`), how a body is read (`body`), how a file is
//! sent (`raw`), where blocking work goes (`blocking`).
//!
//! A further route is one variant and one line in its API's `route.rs`, one function, and an operation in
//! the document.
//!
//! This layer does not know what is stored where: it reaches data only through what
//! [`crate::access::Gate`] opened, so no handler can forget the check. What hyper refuses before a
//! request exists (a malformed head) is answered by hyper with a bare status.

mod admin;
mod archive;
mod blocking;
mod body;
mod call;
mod connection;
mod cookie;
mod cross_site;
mod disposition;
mod error;
mod etag;
mod gzip;
mod head;
mod json;
mod large_body;
mod links;
mod listings;
mod login;
mod long_list;
mod names;
mod openapi;
mod origin;
mod page_token;
mod pages;
mod path;
mod pieces;
mod query;
mod range;
mod raw;
mod read;
mod rendered;
mod reply;
mod request_id;
mod search;
mod server;
mod socket;
mod upload;

use std::convert::Infallible;
use std::error::Error as _;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};

use body::RequestBody;
use call::Call;
use cookie::SessionCookie;
use error::{Error, Surface};
use listings::Listings;
use origin::Peer;
pub use origin::{Network, NetworkError};
use query::{Query, keys_for_log};
use reply::{Reply, ReplyBody};
use request_id::{RequestId, RequestIds};
pub use server::Server;

use crate::access::Gate;
use crate::base::clock::Clock;
use crate::base::limits::{ARCHIVE_BYTES_MAX_DEFAULT, FILE_BYTES_MAX_DEFAULT};

/// Longest undecoded path that the log shows, in bytes.
const LOGGED_PATH_BYTES_MAX: usize = 1024;

/// What the operator decides about this layer.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// True to serve the Read API at `/api/v4` too, for clients that drop the path of their base URL.
    pub root_mount: bool,
    /// The address under which clients reach the service, as `https://conf.example`, when it is not
    /// the one they send as `Host`. With `https` the session cookie is `Secure`.
    pub external_url: Option<String>,
    /// Proxies that are believed what they tell of the client's request (`Forwarded`, `X-Forwarded-*`).
    pub trusted_proxies: Vec<Network>,
    /// Largest file that is taken, in bytes.
    pub file_bytes_max: u64,
    /// Largest sum of the files of an archive, in bytes.
    pub archive_bytes_max: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            root_mount: false,
            external_url: None,
            trusted_proxies: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX_DEFAULT,
            archive_bytes_max: ARCHIVE_BYTES_MAX_DEFAULT,
        }
    }
}

/// What all requests share.
#[derive(Debug)]
struct Service {
    gate: Gate,
    clock: Arc<dyn Clock>,
    settings: HttpSettings,
    cookie: SessionCookie,
    ids: RequestIds,
    listings: Listings,
}

impl Service {
    fn new(gate: Gate, clock: Arc<dyn Clock>, settings: HttpSettings) -> Self {
        let external_url = settings.external_url.as_deref();
        Self {
            cookie: SessionCookie::new(external_url.is_some_and(|url| url.starts_with("https://"))),
            ids: RequestIds::new(),
            listings: Listings::new(),
            gate,
            clock,
            settings,
        }
    }
}

/// The API that a path belongs to, with the segments below its mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mount<'a> {
    Read(&'a [&'a str]),
    Admin(&'a [&'a str]),
    User(&'a [&'a str]),
    OpenApi(&'a [&'a str]),
    None,
}

impl<'a> Mount<'a> {
    fn of(segments: &'a [&'a str], root_mount: bool) -> Self {
        match segments {
            ["site-builder", "api", "erp-config", "api", "v4", rest @ ..]
            | ["site-builder", "api", "erp-config", rest @ ..] => Self::Read(rest),
            ["api", "v4", rest @ ..] if root_mount => Self::Read(rest),
            ["site-builder", "api", "openapi.json", rest @ ..] => Self::OpenApi(rest),
            ["site-builder", "api", rest @ ..] => Self::Admin(rest),
            ["user", rest @ ..] => Self::User(rest),
            _ => Self::None,
        }
    }
}

/// Answers a request, whatever happens. `unread` is set when a rest of its body was left in the
/// connection, which then cannot carry another request.
async fn handle(
    service: Arc<Service>,
    mut request: Request<Incoming>,
    peer: Peer,
    unread: Arc<AtomicBool>,
) -> Result<Response<ReplyBody>, Infallible> {
    let started = Instant::now();
    request.extensions_mut().insert(peer);
    let id = service.ids.next();
    let (head, incoming) = request.into_parts();
    let mut body = RequestBody::new(incoming, &head);
    let (method, uri) = (head.method.clone(), head.uri.clone());
    let reply = made(service, head, &mut body, id).await;
    let close = body.settle().await;
    unread.fetch_or(close, Ordering::Relaxed);
    log_request(id, &method, &uri, reply.status, reply.body_bytes(), started);
    let close = close || method == Method::CONNECT;
    Ok(reply.into_response(id, method == Method::HEAD, close))
}

/// One line a request; of its query only the keys.
fn log_request(
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

/// Makes an answer, or one out of the error that prevents it.
async fn made(service: Arc<Service>, head: Parts, body: &mut RequestBody, id: RequestId) -> Reply {
    let mut surface = Surface::Admin;
    let answered = answer(service, head, body, &mut surface);
    unpanicked(answered).await.unwrap_or_else(|error| {
        log_failure(id, &error);
        error.into_reply(surface)
    })
}

/// Limits, route, and the API that answers. `surface` is set as soon as it is known whose words an
/// error speaks.
async fn answer(
    service: Arc<Service>,
    head: Parts,
    body: &mut RequestBody,
    surface: &mut Surface,
) -> Result<Reply, Error> {
    head::check(&head)?;
    if head.uri.path() == "*" {
        return Ok(options(&head::METHODS));
    }
    let uri = head.uri.clone();
    let segments = path::segments(uri.path())?;
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let mount = Mount::of(&segments, service.settings.root_mount);
    if matches!(mount, Mount::Read(_)) {
        *surface = Surface::Read;
    }
    let query = Query::parse(head.uri.query().unwrap_or_default())?;
    match mount {
        Mount::Read(segments) => match routed(&head.method, segments, read::Route::find)? {
            Routed::To(route) => read::answer(Call::new(service, head, query), route, body).await,
            Routed::Options(methods) => Ok(options(&methods)),
        },
        Mount::Admin(segments) => match routed(&head.method, segments, admin::Route::find)? {
            Routed::To(route) => admin::answer(Call::new(service, head, query), route, body).await,
            Routed::Options(methods) => Ok(options(&methods)),
        },
        Mount::User(segments) => match routed(&head.method, segments, login::Route::find)? {
            Routed::To(route) => login::answer(Call::new(service, head, query), route, body).await,
            Routed::Options(methods) => Ok(options(&methods)),
        },
        Mount::OpenApi(segments) => match routed(&head.method, segments, openapi::Route::find)? {
            Routed::To(openapi::Route::Document) => {
                openapi::answer(Call::new(service, head, query), body).await
            }
            Routed::Options(methods) => Ok(options(&methods)),
        },
        Mount::None => Err(Error::NoRoute),
    }
}

/// What a request of some API asks for.
enum Routed<R> {
    To(R),
    /// Which methods there are.
    Options(Vec<Method>),
}

/// Looks a method and path up in a table of routes.
///
/// # Errors
/// [`Error::NoRoute`] when the path has no method at all, [`Error::Method`] when it has others.
fn routed<R>(
    method: &Method,
    segments: &[&str],
    find: impl Fn(&Method, &[&str]) -> Option<R>,
) -> Result<Routed<R>, Error> {
    let looked_up = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    if let Some(route) = find(looked_up, segments) {
        return Ok(Routed::To(route));
    }
    let mut methods = head::METHODS.to_vec();
    methods.retain(|method| find(method, segments).is_some());
    if methods.is_empty() {
        Err(Error::NoRoute)
    } else if method == Method::OPTIONS {
        Ok(Routed::Options(methods))
    } else {
        Err(Error::method(&methods))
    }
}

fn options(methods: &[Method]) -> Reply {
    let allow = HeaderValue::try_from(error::allow(methods)).expect("methods are visible ASCII");
    Reply::empty(StatusCode::NO_CONTENT).with(ALLOW, allow)
}

/// Runs a handler and makes an error of its panic, so that one request's defect is one 500.
async fn unpanicked(answered: impl Future<Output = Result<Reply, Error>>) -> Result<Reply, Error> {
    let mut answered = std::pin::pin!(answered);
    std::future::poll_fn(move |cx| {
        catch_unwind(AssertUnwindSafe(|| answered.as_mut().poll(cx)))
            .unwrap_or(Poll::Ready(Err(Error::Crashed)))
    })
    .await
}

/// Writes what the client must not see: the whole chain of an error that is not the client's.
fn log_failure(id: RequestId, error: &Error) {
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

#[cfg(test)]
mod tests {
    use crate::http::*;

    #[test]
    fn the_mounts_are_those_of_the_contract() {
        for (segments, expected) in [
            (
                &["site-builder", "api", "erp-config", "health"][..],
                Mount::Read(&["health"]),
            ),
            (
                &["site-builder", "api", "erp-config", "api", "v4", "user"],
                Mount::Read(&["user"]),
            ),
            (
                &["site-builder", "api", "projects"],
                Mount::Admin(&["projects"]),
            ),
            (
                &["site-builder", "api", "openapi.json"],
                Mount::OpenApi(&[]),
            ),
            (&["user", "login"], Mount::User(&["login"])),
            (&["api", "v4", "projects"], Mount::None),
            (&["api"], Mount::None),
            (&[], Mount::None),
        ] {
            assert_eq!(Mount::of(segments, false), expected, "{segments:?}");
        }
        assert_eq!(
            Mount::of(&["api", "v4", "projects"], true),
            Mount::Read(&["projects"])
        );
    }

    #[test]
    fn a_known_path_tells_its_methods() {
        let find = |method: &Method, segments: &[&str]| {
            let known = [Method::GET, Method::PUT].contains(method) && segments == ["a"];
            known.then_some(())
        };
        assert!(matches!(
            routed(&Method::HEAD, &["a"], find),
            Ok(Routed::To(()))
        ));
        assert!(matches!(
            routed(&Method::OPTIONS, &["a"], find),
            Ok(Routed::Options(methods)) if methods == [Method::GET, Method::PUT]
        ));
        assert!(matches!(
            routed(&Method::POST, &["a"], find),
            Err(Error::Method { allow }) if allow == "GET, HEAD, PUT, OPTIONS"
        ));
        assert!(matches!(
            routed(&Method::OPTIONS, &["b"], find),
            Err(Error::NoRoute)
        ));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_one_request() {
        let crashed = unpanicked(async { panic!("a defect") }).await;
        assert!(matches!(crashed, Err(Error::Crashed)));
    }
}
