//! The requests to a bucket, over the HTTP client and the TLS that are there for others.

use std::error::Error;
use std::io;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector as Sockets;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;

use crate::store::remote::tls;
use crate::store::{Result, StoreError};

/// How long a connection may take, to all addresses of the name together: each of them has its part of that.
const CONNECT_MAX: Duration = Duration::from_secs(4);
/// How long the answer to a request without a body may take to begin.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// The same for a list, which servers make of all names that they have.
const LIST_MAX: Duration = Duration::from_mins(1);
/// How long it may take to send a part, and to have its answer begin.
const SENT_MAX: Duration = Duration::from_mins(1);
/// A server closes what is idle for a minute or so.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// Idle connections that are kept.
const IDLE_KEPT: usize = 16;

/// Says of a request that it asks for a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfList;

/// The client, with its connections.
#[derive(Clone, Debug)]
pub(super) struct Client(Pool<HttpsConnector<Sockets>, HttpRequestBody>);

impl Client {
    /// A client that trusts these roots alone; without any, the system's.
    ///
    /// # Errors
    /// [`StoreError::UnfitBucket`] where TLS cannot be had.
    pub(super) fn new(roots: &[Vec<u8>], is_encrypted: bool) -> Result<Self> {
        let unfit = |reason: String| StoreError::UnfitBucket { reason };
        let trusted = if roots.is_empty() && !is_encrypted {
            RootCertStore::empty()
        } else {
            tls::roots(roots, "s3_ca").map_err(unfit)?
        };
        let tls = tls::client(trusted, None).map_err(unfit)?;
        let mut sockets = Sockets::new();
        sockets.enforce_http(false);
        sockets.set_nodelay(true);
        sockets.set_connect_timeout(Some(CONNECT_MAX));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(sockets);
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(IDLE_KEPT)
            .build(connector);
        Ok(Self(pool))
    }
}

impl Client {
    /// Sends a request, and waits until the answer begins.
    pub(super) async fn send(
        &self,
        request: HttpRequest,
    ) -> std::result::Result<HttpResponse, HttpError> {
        let patience = if request.extensions().get::<OfList>().is_some() {
            LIST_MAX
        } else if request.body().content_length() == 0 {
            ANSWER_MAX
        } else {
            SENT_MAX
        };
        let answer = timeout(patience, self.0.request(request)).await;
        let answer = answer.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?;
        let answer = answer.map_err(|error| {
            let kind = if error.is_connect() {
                HttpErrorKind::Connect
            } else {
                HttpErrorKind::Request
            };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answer.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

impl HttpConnector for Client {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Client {
    fn call<'life, 'future>(
        &'life self,
        request: HttpRequest,
    ) -> BoxFuture<'future, std::result::Result<HttpResponse, HttpError>>
    where
        'life: 'future,
        Self: 'future,
    {
        self.send(request).boxed()
    }
}

/// True if no answer came at all: the server cannot be reached, or is silent.
pub(super) fn is_silence(error: &object_store::Error) -> bool {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error.is::<HttpError>() || error.is::<io::Error>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// The error for a request that was not sent, or whose answer did not come.
pub(super) fn silence(reason: &str) -> object_store::Error {
    unexpected(io::Error::new(io::ErrorKind::TimedOut, reason))
}

/// The error for an answer that cannot be used, or a failure of what carries it.
pub(super) fn unexpected(source: impl Into<Box<dyn Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic {
        store: "S3",
        source: source.into(),
    }
}
