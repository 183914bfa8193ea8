//! One connection: hyper on a stream, and after it an end that lets a client whose upload was refused
//! read why.

use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::sync::watch;
use tokio::time::timeout;

use super::break_off::BreakOff;
use super::client_stream::ClientStream;
use super::connection_state::ConnectionState;
use super::early_reader::{Ahead, EarlyReader};
use super::linger::linger;
use super::socket_readiness::SocketReadiness;
use super::write_patience::WritePatience;
use crate::base::limits::REQUEST_HEAD_BYTES_MAX;
use crate::http::pipeline::handle;
use crate::http::request::client::Peer;
use crate::http::request::head_rules::Fragment;
use crate::http::service::Service;

/// Why a connection ends: hyper's reason, or that the client took nothing.
type Error = Box<dyn std::error::Error + Send + Sync>;

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
    S: AsyncRead + AsyncWrite + BreakOff + SocketReadiness + Send + Unpin + 'static,
{
    let traffic = Arc::clone(&service.tallies);
    let head_wait = Duration::from_secs(service.settings.limits.head_s_max);
    let write_wait = Duration::from_secs(service.settings.limits.write_s_max);
    let state = Arc::new(ConnectionState::default());
    let of_requests = Arc::clone(&state);
    // hyper takes buffers for each connection, also for one that says nothing. Over TLS it begins at once: what came
    // may be with the TLS stream already.
    let says_something = async {
        tokio::select! {
            biased;
            () = poll_fn(|cx| stream.poll_readable(cx)) => true,
            _ = stop.wait_for(|stop| *stop) => false,
        }
    };
    if !matches!(timeout(head_wait, says_something).await, Ok(true)) {
        tracing::debug!("connection ended without a request");
        return;
    }
    let stream = EarlyReader::new(stream);
    let client = stream.clone();
    let lines = stream.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let request = marked(request, &lines);
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
    let mut for_room = WritePatience::new(write_wait);
    let mut stopping = false;
    let end = loop {
        tokio::select! {
            biased;
            end = poll_fn(|cx| loop {
                if state.poll_given_up(cx).is_ready() {
                    return Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut).into()));
                }
                let end = connection.poll_without_shutdown(cx).map_err(Error::from);
                if end.is_ready() {
                    return end;
                }
                if state.is_held()
                    && let Poll::Ready(ahead) = client.poll_ahead(cx)
                {
                    match ahead {
                        Ahead::End => state.leave(),
                        Ahead::Much => state.press(),
                    }
                }
                if !state.wants_room() {
                    return Poll::Pending;
                }
                let room = client.poll_writable(cx);
                ready!(for_room.watch(cx, room))?;
                // The answer asks for it when the connection is polled again.
                state.find_room();
            }) => break end,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = end {
        tracing::debug!(%error, "connection ended");
        if state.is_given_up() || state.ends_answers() && cuts_an_answer(&error) {
            client.break_off();
            return;
        }
    }
    let mut stream = connection.into_parts().io.into_inner();
    client.end_requests();
    // Failing to say goodbye to a client that has left is no event.
    if stream.shutdown().await.is_ok() && state.has_unread() {
        linger(&mut stream).await;
    }
}

/// The request, marked if hyper has cut its target off.
fn marked<S>(mut request: Request<Incoming>, lines: &EarlyReader<S>) -> Request<Incoming> {
    if lines.next_has_fragment() {
        request.extensions_mut().insert(Fragment);
    }
    request
}

/// True for an error while an answer was sent: it is not whole.
fn cuts_an_answer(error: &Error) -> bool {
    let Some(error) = error.downcast_ref::<hyper::Error>() else {
        // No room for more of it.
        return true;
    };
    let reason = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    // The rest of it could not be made, or the client took nothing.
    error.is_user() || reason.is_some_and(|e| e.kind() == io::ErrorKind::TimedOut)
}
