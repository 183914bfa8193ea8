//! The listener for those who watch the service: `/metrics`, `/livez`, `/readyz`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::collector::Collector;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::exposition::{self, OfService};
use crate::base::limits::{
    HEAD_WAIT_S_MAX, METRICS_CONNECTIONS_MAX, REQUEST_HEAD_BYTES_MAX, WRITE_WAIT_S_MAX,
};
use crate::base::may_block;
use crate::http::admission::permit;
use crate::http::error::{ApiFlavor, Error};
use crate::http::health::probe;
use crate::http::reply::of_error::of_error;
use crate::http::reply::{Reply, ReplyBody};
use crate::http::service::Service;
use crate::http::wire::client_stream::ClientStream;

/// Pause after an accept that failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Shows metrics to whoever reaches its listener.
#[derive(Debug)]
pub struct MetricsServer {
    service: Arc<Service>,
    registry: Registry,
}

impl MetricsServer {
    /// Shows what a service counts, and what is collected beside it.
    pub(in crate::http) fn new(service: &Arc<Service>, beside: impl Collector) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(beside));
        registry.register_collector(Box::new(OfService(Arc::clone(service))));
        Self {
            service: Arc::clone(service),
            registry,
        }
    }

    /// Answers until it is dropped.
    ///
    /// # Limits
    /// At most 32 connections at once; more wait in the backlog.
    pub async fn run(self, listener: TcpListener) {
        let server = Arc::new(self);
        let room = Arc::new(Semaphore::new(METRICS_CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        // What is read here is none of the service's own traffic, and is shown nowhere.
        let traffic = Arc::default();
        loop {
            let place = permit(Arc::clone(&room)).await;
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let (server, traffic) = (Arc::clone(&server), Arc::clone(&traffic));
            connections.spawn(async move {
                let answer = service_fn(move |request| {
                    let server = Arc::clone(&server);
                    async move { Ok::<_, Infallible>(server.respond(&request)) }
                });
                let stream =
                    ClientStream::new(stream, Duration::from_secs(WRITE_WAIT_S_MAX), traffic);
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(HEAD_WAIT_S_MAX))
                    .max_buf_size(REQUEST_HEAD_BYTES_MAX)
                    .title_case_headers(true)
                    .serve_connection(TokioIo::new(stream), answer);
                if let Err(error) = served.await {
                    tracing::debug!(%error, "a connection to the metrics ended");
                }
                drop(place);
            });
        }
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<ReplyBody> {
        let id = self.service.ids.next();
        let reply = self.reply(request.method(), request.uri().path());
        let reply = reply.unwrap_or_else(|error| of_error(&error, ApiFlavor::Admin));
        reply.into_response(id, request.method() == Method::HEAD, false)
    }

    fn reply(&self, method: &Method, path: &str) -> Result<Reply, Error> {
        if !matches!(path, "/metrics" | "/livez" | "/readyz") {
            return Err(Error::NoRoute);
        }
        if method == Method::OPTIONS {
            return Ok(Reply::options(&[Method::GET]));
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(Error::method(&[Method::GET]));
        }
        match path {
            "/livez" => Ok(probe::live()),
            "/readyz" => probe::ready(&self.look()),
            _ => {
                let text = may_block(|| exposition::text(&self.registry));
                let text = Bytes::from(text);
                Ok(Reply::bytes(StatusCode::OK, exposition::CONTENT_TYPE, text))
            }
        }
    }

    fn look(&self) -> crate::http::health::State {
        may_block(|| self.service.health.look(&self.service.gate))
    }
}
