//! A client's socket as hyper sees it: one that gives up on a client which sends or takes nothing, and
//! that answers by itself what was asked before.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Service;
use super::date::DateText;
use super::exchange::{Exchange, Progress};
use super::sending::Sending;
use crate::base::limits::{HEAD_WAIT_S_MAX, WRITE_WAIT_S_MAX};

/// A socket below hyper.
///
/// When hyper rests and what comes is a request that the table of answers knows, the answer goes out
/// from here and hyper never hears of it; everything else is hyper's. Nothing more is read while such
/// an answer is on its way, so answers keep the order of their requests, and a client that does not
/// read is asked no further.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    service: Arc<Service>,
    exchange: Exchange,
    /// True if the client is believed what it tells of another's request.
    trusted: bool,
    sending: Option<Sending>,
    date: DateText,
    /// When a client that takes no bytes is given up.
    write_deadline: Option<Pin<Box<Sleep>>>,
    /// When to see whether a client that sends no head is to be given up. hyper's own clock would
    /// count from the last request that it has seen.
    head_deadline: Option<Pin<Box<Sleep>>>,
    /// When the wait for the next head began.
    waits_since: Instant,
}

impl Socket {
    /// Wraps a connected socket; `exchange` is shared with the service of this connection.
    pub(super) fn new(
        stream: TcpStream,
        service: Arc<Service>,
        exchange: Exchange,
        trusted: bool,
    ) -> Self {
        Self {
            stream,
            service,
            exchange,
            trusted,
            sending: None,
            date: DateText::default(),
            write_deadline: None,
            head_deadline: None,
            waits_since: Instant::now(),
        }
    }

    /// The socket alone, after what is on its way from here was sent. For when hyper is done with it.
    pub(super) async fn finish(mut self) -> io::Result<TcpStream> {
        std::future::poll_fn(|cx| self.poll_sending(cx)).await?;
        Ok(self.stream)
    }

    /// Sends what is on its way from here.
    fn poll_sending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(sending) = &mut self.sending {
            if sending.is_done() {
                self.sending = None;
                self.waits_since = Instant::now();
                break;
            }
            let some = sending.poll_some(&mut self.stream, cx);
            ready!(self.watch_write(cx, some))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Passes the outcome of a write on, and starts or stops the clock.
    fn watch_write(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if outcome.is_ready() {
            self.write_deadline = None;
            return outcome;
        }
        let deadline = self.write_deadline.get_or_insert_with(|| {
            let end = Instant::now() + Duration::from_secs(WRITE_WAIT_S_MAX);
            Box::pin(sleep_until(end))
        });
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Fails when the wait for a head has been too long. The clock runs on over answers and is only
    /// then set anew, so that it costs a request nothing.
    fn watch_head(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let end = self.waits_since + Duration::from_secs(HEAD_WAIT_S_MAX);
        let deadline = self
            .head_deadline
            .get_or_insert_with(|| Box::pin(sleep_until(end)));
        while deadline.as_mut().poll(cx).is_ready() {
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            deadline.as_mut().reset(end);
        }
        Ok(())
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let start = buffer.filled().len();
        loop {
            ready!(this.poll_sending(cx))?;
            ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
            let came = &buffer.filled()[start..];
            let known = if this.exchange.is_at_rest() {
                this.service.known(came, this.trusted, &mut this.date)
            } else {
                None
            };
            let Some(answer) = known else {
                this.exchange.give(came);
                return Poll::Ready(Ok(()));
            };
            this.sending = Some(answer);
            buffer.set_filled(start);
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.exchange.written(bytes);
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_write(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = slices.first() {
            self.exchange.written(first);
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch_write(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes at the end of each of its turns, with something to send or not.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        match self.exchange.flushed() {
            Progress::Answering => return Poll::Ready(Ok(())),
            Progress::Answered(answer) => {
                self.waits_since = Instant::now();
                if let Some((head, kept)) = answer {
                    self.service.warm.keep(head, kept);
                }
            }
            Progress::Waiting if self.sending.is_some() => return Poll::Ready(Ok(())),
            Progress::Waiting => {}
        }
        Poll::Ready(self.watch_head(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
