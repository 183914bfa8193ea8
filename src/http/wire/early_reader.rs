//! A stream that can be read ahead of hyper, which does not look at a client while it makes an answer: so
//! it is seen when a client leaves whose request is held. And one of which hyper does not see all: so it is seen
//! what a client wrote into the first line of a request.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::break_off::BreakOff;
use super::request_lines::RequestLines;
use super::socket_readiness::SocketReadiness;
use crate::base::threads::lock;

/// Most bytes that are read ahead. Of a client that has sent more it is not known whether it is still there.
const EARLY_BYTES_MAX: usize = 1024;

/// What is found ahead of hyper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The client sends nothing more.
    End,
    /// More than is read ahead.
    Much,
}

/// A stream, or another handle of it.
#[derive(Debug)]
pub(super) struct EarlyReader<S>(Arc<Mutex<Early<S>>>);

#[derive(Debug)]
struct Early<S> {
    stream: S,
    /// What was read ahead and is not taken yet.
    bytes: Vec<u8>,
    /// True once nothing more comes.
    ended: bool,
    /// Those of what hyper has taken; `None` once it takes nothing more.
    lines: Option<RequestLines>,
}

impl<S> Clone for EarlyReader<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> EarlyReader<S> {
    /// Reads this stream.
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Early {
            stream,
            bytes: Vec::new(),
            ended: false,
            lines: Some(RequestLines::default()),
        })))
    }

    /// True if the target of the request that hyper hands over now has a `#`. To be asked once for each.
    pub(super) fn next_has_fragment(&self) -> bool {
        let mut early = self.early();
        let lines = early.lines.as_mut();
        lines.is_some_and(RequestLines::next_has_fragment)
    }

    /// Says that hyper takes nothing more: what still comes is no request.
    pub(super) fn end_requests(&self) {
        self.early().lines = None;
    }

    fn early(&self) -> MutexGuard<'_, Early<S>> {
        lock(&self.0)
    }
}

impl<S: AsyncRead + Unpin> EarlyReader<S> {
    /// Ready when the client sends nothing more, or much. What comes is kept for the next read.
    pub(super) fn poll_ahead(&self, cx: &mut Context<'_>) -> Poll<Ahead> {
        let mut early = self.early();
        let Early {
            stream,
            bytes,
            ended,
            ..
        } = &mut *early;
        while !*ended && bytes.len() < EARLY_BYTES_MAX {
            let mut chunk = [0; 256];
            let mut chunk = ReadBuf::new(&mut chunk);
            let read = ready!(Pin::new(&mut *stream).poll_read(cx, &mut chunk));
            *ended = read.is_err() || chunk.filled().is_empty();
            bytes.extend_from_slice(chunk.filled());
        }
        Poll::Ready(if *ended { Ahead::End } else { Ahead::Much })
    }
}

impl<S: AsyncRead + Unpin> Early<S> {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.bytes.is_empty() {
            let count = self.bytes.len().min(buffer.remaining());
            let bytes: Vec<u8> = self.bytes.drain(..count).collect();
            buffer.put_slice(&bytes);
            return Poll::Ready(Ok(()));
        }
        if self.ended {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: SocketReadiness> SocketReadiness for EarlyReader<S> {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.early().stream.poll_readable(cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.early().stream.poll_writable(cx)
    }
}

impl<S: BreakOff> BreakOff for EarlyReader<S> {
    fn break_off(&self) {
        self.early().stream.break_off();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for EarlyReader<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut early = self.early();
        let before = buffer.filled().len();
        ready!(early.poll_read(cx, buffer))?;
        let taken = &buffer.filled()[before..];
        let lines = early.lines.as_mut();
        Poll::Ready(lines.map_or(Ok(()), |lines| lines.read(taken)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for EarlyReader<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.early().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.early().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.early().stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.early().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.early().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn the_end_is_seen_and_what_came_before_it_is_kept() {
        let (mut client, server) = tokio::io::duplex(4096);
        let mut stream = EarlyReader::new(server);
        let other = stream.clone();
        let ahead = || other.poll_ahead(&mut Context::from_waker(Waker::noop()));
        assert_eq!(ahead(), Poll::Pending);
        client.write_all(b"early").await.unwrap();
        assert_eq!(ahead(), Poll::Pending);
        let mut start = [0; 2];
        stream.read_exact(&mut start).await.unwrap();
        client.write_all(&[b'!'; 2000]).await.unwrap();
        drop(client);
        assert_eq!(ahead(), Poll::Ready(Ahead::Much));
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!((&start[..], &rest[..4]), (&b"ea"[..], &b"rly!"[..]));
        assert_eq!(rest.len(), 2003);
        assert_eq!(ahead(), Poll::Ready(Ahead::End));
    }
}
