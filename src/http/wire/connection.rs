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
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::client_stream::ClientStream;
use crate::base::limits::{HEAD_WAIT_S_MAX, REFUSED_BODY_BYTES_MAX, REQUEST_HEAD_BYTES_MAX};
use crate::http::pipeline::handle;
use crate::http::request::client::Peer;
use crate::http::service::Service;

/// How long a connection stays after a refused upload.
const LINGER: Duration = Duration::from_secs(2);
/// Pause between reads of a refused upload beyond its bound.
const LINGER_PAUSE: Duration = Duration::from_millis(20);

/// Serves one connection until either side is done, or `stop` turns true and what is in flight is
/// answered.
pub(in crate::http) async fn serve(
    service: Arc<Service>,
    stream: TcpStream,
    mut stop: watch::Receiver<bool>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Ok(peer) = stream.peer_addr() else {
        return;
    };
    let unread = Arc::new(AtomicBool::new(false));
    let unread_seen = Arc::clone(&unread);
    let peer = Peer::new(peer.ip(), &service.settings);
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

/// Reads and drops what still comes. Closing at once would send a reset, which may destroy the
/// answer before the client has read it.
async fn linger(stream: &mut TcpStream) {
    let end = Instant::now() + LINGER;
    let mut chunk = vec![0; 64 << 10];
    let mut dropped = 0;
    loop {
        if dropped > REFUSED_BODY_BYTES_MAX {
            sleep(LINGER_PAUSE).await;
        }
        match tokio::time::timeout_at(end, stream.read(&mut chunk)).await {
            Ok(Ok(read)) if read > 0 => dropped += read,
            _ => return,
        }
    }
}
