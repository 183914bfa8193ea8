//! One connection: hyper on a socket that gives up on a client which takes no bytes, and that lets a
//! client whose upload was refused read why.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::origin::Peer;
use super::{Service, handle};
use crate::base::limits::{
    HEAD_WAIT_S_MAX, REFUSED_BODY_BYTES_MAX, REQUEST_HEAD_BYTES_MAX, WRITE_WAIT_S_MAX,
};

/// How long a connection stays after a refused upload.
const LINGER: Duration = Duration::from_secs(2);
/// Pause between reads of a refused upload beyond its bound.
const LINGER_PAUSE: Duration = Duration::from_millis(20);

/// Serves one connection until either side is done, or `stop` turns true and what is in flight is
/// answered.
pub(super) async fn serve(
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
    let answer = service_fn(move |request: Request<Incoming>| {
        handle(&service, request, Peer(peer.ip()), &unread)
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_WAIT_S_MAX))
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(Impatient::new(stream)), answer);
    let mut stopping = false;
    let end = loop {
        tokio::select! {
            biased;
            end = std::future::poll_fn(|cx| connection.poll_without_shutdown(cx)) => break end,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if let Err(error) = end {
        tracing::debug!(%error, "connection ended");
    }
    let mut stream = connection.into_parts().io.into_inner().stream;
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

/// A socket on which a write that makes no progress for a while is an error.
#[derive(Debug)]
struct Impatient {
    stream: TcpStream,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            deadline: None,
        }
    }

    /// Passes the outcome of a write on, and starts or stops the clock.
    fn watch(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if outcome.is_ready() {
            self.deadline = None;
            return outcome;
        }
        let deadline = self.deadline.get_or_insert_with(|| {
            let end = Instant::now() + Duration::from_secs(WRITE_WAIT_S_MAX);
            Box::pin(sleep_until(end))
        });
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
