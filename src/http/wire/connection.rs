//! One connection: hyper on a stream, and after it an end that lets a client whose upload was refused
//! read why.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::sync::watch;

use super::client_stream::ClientStream;
use super::connection_state::ConnectionState;
use super::early_reader::{Ahead, EarlyReader};
use super::linger::linger;
use crate::base::limits::REQUEST_HEAD_BYTES_MAX;
use crate::http::pipeline::handle;
use crate::http::request::client::Peer;
use crate::http::service::Service;

/// What a probe asks. It needs no token, tells nothing, and is answered under any name.
const PROBE: &[u8] = b"GET /site-builder/api/erp-config/health HTTP/1.1\r\n\
    Host: localhost\r\nConnection: close\r\n\r\n";

/// True when a request that comes in memory is answered.
pub(in crate::http) async fn answers(service: Arc<Service>) -> bool {
    let (mut client, server) = duplex(REQUEST_HEAD_BYTES_MAX);
    let (_stop, stopping) = watch::channel(false);
    let served = tokio::spawn(serve(service, server, Peer::of_probe(), stopping));
    let mut start = [0; 8];
    let answered = async {
        client.write_all(PROBE).await?;
        client.read_exact(&mut start).await
    };
    let answered = answered.await.is_ok();
    served.abort();
    answered && start == *b"HTTP/1.1"
}

/// Serves one connection until either side is done, or `stop` turns true and what is in flight is
/// answered.
pub(in crate::http) async fn serve<S>(
    service: Arc<Service>,
    stream: S,
    peer: Peer,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let traffic = Arc::clone(&service.tallies);
    let head_wait = Duration::from_secs(service.settings.limits.head_s_max);
    let write_wait = Duration::from_secs(service.settings.limits.write_s_max);
    let state = Arc::new(ConnectionState::default());
    let of_requests = Arc::clone(&state);
    let stream = EarlyReader::new(stream);
    let ahead = stream.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        // `poll_without_shutdown` wants a future that can be moved.
        Box::pin(handle(
            Arc::clone(&service),
            request,
            peer,
            Arc::clone(&of_requests),
        ))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_wait)
        // Who says that nothing more will come still gets the answer.
        .half_close(true)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .title_case_headers(true)
        .serve_connection(
            TokioIo::new(ClientStream::new(stream, write_wait, traffic)),
            answer,
        );
    let mut stopping = false;
    let end = loop {
        tokio::select! {
            biased;
            end = std::future::poll_fn(|cx| {
                let end = connection.poll_without_shutdown(cx);
                if end.is_pending()
                    && state.is_held()
                    && let Poll::Ready(ahead) = ahead.poll_ahead(cx)
                {
                    match ahead {
                        Ahead::End => state.leave(),
                        Ahead::Much => state.press(),
                    }
                }
                end
            }) => break end,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = end {
        tracing::debug!(%error, "connection ended");
    }
    let mut stream = connection.into_parts().io.into_inner();
    // Failing to say goodbye to a client that has left is no event.
    if stream.shutdown().await.is_ok() && state.has_unread() {
        linger(&mut stream).await;
    }
}
