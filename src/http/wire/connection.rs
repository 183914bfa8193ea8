//! One connection: hyper on a socket, and after it an end that lets a client whose upload was refused
//! read why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::client_stream::ClientStream;
use super::linger::linger;
use crate::base::limits::{HEAD_WAIT_S_MAX, REQUEST_HEAD_BYTES_MAX};
use crate::http::pipeline::handle;
use crate::http::request::client::Peer;
use crate::http::service::Service;

/// Serves one connection until either side is done, or `stop` turns true and what is in flight is
/// answered.
pub(in crate::http) async fn serve(
    service: Arc<Service>,
    stream: TcpStream,
    peer: Peer,
    mut stop: watch::Receiver<bool>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let unread = Arc::new(AtomicBool::new(false));
    let unread_seen = Arc::clone(&unread);
    let answer = service_fn(move |request: Request<Incoming>| {
        // `poll_without_shutdown` wants a future that can be moved.
        Box::pin(handle(
            Arc::clone(&service),
            request,
            peer,
            Arc::clone(&unread),
        ))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_WAIT_S_MAX))
        // Who says that nothing more will come still gets the answer.
        .half_close(true)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(ClientStream::new(stream)), answer);
    let mut stopping = false;
    let end = loop {
        tokio::select! {
            biased;
            end = std::future::poll_fn(|cx| connection.poll_without_shutdown(cx)) => break end,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = end {
        tracing::debug!(%error, "connection ended");
    }
    let mut stream = connection.into_parts().io.into_inner().into_inner();
    // Failing to say goodbye to a client that has left is no event.
    if stream.shutdown().await.is_ok() && unread_seen.load(Ordering::Relaxed) {
        linger(&mut stream).await;
    }
}
