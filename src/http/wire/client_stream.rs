//! A client's connection as hyper sees it: one that gives up on a client which takes no bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::write_patience::WritePatience;
use crate::http::metrics::tallies::Tallies;

/// A stream whose writes end with [`io::ErrorKind::TimedOut`] when the client takes nothing for
/// so long. hyper has a clock for heads and none for answers.
#[derive(Debug)]
pub(in crate::http) struct ClientStream<S> {
    stream: S,
    patience: WritePatience,
    /// What comes and goes is counted here.
    traffic: Arc<Tallies>,
}

impl<S> ClientStream<S> {
    /// Watches the writes to this stream.
    pub(in crate::http) fn new(stream: S, longest_wait: Duration, traffic: Arc<Tallies>) -> Self {
        Self {
            stream,
            patience: WritePatience::new(longest_wait),
            traffic,
        }
    }

    fn count_sent(&self, outcome: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(sent)) = outcome {
            self.traffic.bytes_out.add(*sent as u64);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let read = buffer.filled().len() - before;
        if read > 0 {
            this.traffic.bytes_in.add(read as u64);
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count_sent(&outcome);
        self.patience.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.count_sent(&outcome);
        self.patience.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.patience.watch(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Over TLS this writes: what is left, and that nothing more comes.
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.patience.watch(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::sleep;

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);
    const NEARLY: Duration = Duration::from_secs(29);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (_client, server) = tokio::io::duplex(4);
        let mut stream = ClientStream::new(server, WAIT, Arc::default());
        let refused = stream.write_all(b"an answer").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_little_now_and_then_is_not() {
        let (mut client, server) = tokio::io::duplex(1);
        let reader = tokio::spawn(async move {
            let mut read = Vec::new();
            for _ in 0..3 {
                sleep(NEARLY).await;
                read.push(client.read_u8().await.unwrap());
            }
            read
        });
        let mut stream = ClientStream::new(server, WAIT, Arc::default());
        stream.write_all(b"abc").await.unwrap();
        drop(stream);
        assert_eq!(reader.await.unwrap(), b"abc");
    }
}
