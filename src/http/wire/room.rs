//! Whether the system takes more bytes for a client, found out before memory is filled with them.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{DuplexStream, Interest};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// The way to a client.
pub(super) trait Room {
    /// Ready when the system takes a good part of what it keeps for the client, or the connection is broken,
    /// which the next write tells.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()>;
}

impl Room for TcpStream {
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let look = || self.try_io(Interest::WRITABLE, || has_room(self));
        poll_until_room(|| self.poll_write_ready(cx), look)
    }
}

impl Room for UnixStream {
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let look = || self.try_io(Interest::WRITABLE, || has_room(self));
        poll_until_room(|| self.poll_write_ready(cx), look)
    }
}

impl Room for Box<TlsStream<TcpStream>> {
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.get_ref().0.poll_room(cx)
    }
}

impl Room for DuplexStream {
    fn poll_room(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// Waits until there is room or a write would fail. `may_be` is ready when there may be room, and `look` tells.
fn poll_until_room(
    mut may_be: impl FnMut() -> Poll<io::Result<()>>,
    look: impl Fn() -> io::Result<()>,
) -> Poll<()> {
    loop {
        // A write that fits as a whole leaves it unknown whether the next one does.
        if ready!(may_be()).is_err() || !is_full(&look()) {
            return Poll::Ready(());
        }
    }
}

fn has_room(socket: impl AsFd) -> io::Result<()> {
    let mut asked = [PollFd::new(&socket, PollFlags::OUT)];
    match poll(&mut asked, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

fn is_full(look: &io::Result<()>) -> bool {
    matches!(look, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use tokio::task::unconstrained;

    use super::*;

    #[tokio::test]
    async fn there_is_room_until_the_client_takes_nothing_and_when_it_takes_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut sent = 0;
        let look = || stream.poll_room(&mut Context::from_waker(Waker::noop()));
        // Else the runtime would have it pause before the socket is full.
        let filled = unconstrained(async {
            while look().is_ready() {
                sent += stream.try_write(&[0; 16 << 10]).unwrap();
            }
        });
        filled.await;
        assert!(is_full(&has_room(&stream)));
        let room = poll_fn(|cx| stream.poll_room(cx));
        let takes = async {
            let mut taken = vec![0; sent];
            client.read_exact(&mut taken).await.unwrap();
        };
        tokio::join!(room, takes);
        assert!(look().is_ready());
    }

    #[tokio::test]
    async fn a_broken_connection_is_no_reason_to_wait() {
        let (client, stream) = UnixStream::pair().unwrap();
        let look = || stream.poll_room(&mut Context::from_waker(Waker::noop()));
        while look().is_ready() {
            stream.try_write(&[0; 1024]).unwrap();
        }
        assert!(is_full(&has_room(&stream)));
        drop(client);
        poll_fn(|cx| stream.poll_room(cx)).await;
    }
}
