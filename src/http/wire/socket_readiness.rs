//! Whether the system has bytes of a client, and takes more for it: found out before there is memory for them.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use tokio::io::{DuplexStream, Interest};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// The way to a client.
pub(super) trait SocketReadiness {
    /// Ready when something may have come from the client, or it has left.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// Ready when the system takes a good part of what it keeps for the client.
    ///
    /// # Errors
    /// The connection is broken.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

impl SocketReadiness for TcpStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let look = || self.try_io(Interest::READABLE, || is_ready(self, PollFlags::IN));
        poll_until(|| self.poll_read_ready(cx), look).map(drop)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let look = || self.try_io(Interest::WRITABLE, || is_ready(self, PollFlags::OUT));
        poll_until(|| self.poll_write_ready(cx), look)
    }
}

impl SocketReadiness for UnixStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let look = || self.try_io(Interest::READABLE, || is_ready(self, PollFlags::IN));
        poll_until(|| self.poll_read_ready(cx), look).map(drop)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let look = || self.try_io(Interest::WRITABLE, || is_ready(self, PollFlags::OUT));
        poll_until(|| self.poll_write_ready(cx), look)
    }
}

impl SocketReadiness for Box<TlsStream<TcpStream>> {
    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<()> {
        // It may have come with the end of the handshake.
        Poll::Ready(())
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_ref().0.poll_writable(cx)
    }
}

impl SocketReadiness for DuplexStream {
    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Waits until a look finds no reason to wait any more. `may_be` is ready when that may be so, and `look` tells.
fn poll_until(
    mut may_be: impl FnMut() -> Poll<io::Result<()>>,
    look: impl Fn() -> io::Result<()>,
) -> Poll<io::Result<()>> {
    loop {
        ready!(may_be())?;
        // A write that fits as a whole leaves it unknown whether the next one does, and a new connection is taken
        // for one that has sent something.
        match look() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            found => return Poll::Ready(found),
        }
    }
}

/// Whether a socket can be used so now, or never more.
fn is_ready(socket: impl AsFd, way: PollFlags) -> io::Result<()> {
    let mut asked = [PollFd::new(&socket, way)];
    let look = || poll(&mut asked, Some(&Timespec::default()));
    if retry_on_intr(look)? == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if asked[0]
        .revents()
        .intersects(PollFlags::ERR | PollFlags::HUP)
    {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
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
        let look = || stream.poll_writable(&mut Context::from_waker(Waker::noop()));
        // Else the runtime would have it pause before the socket is full.
        let filled = unconstrained(async {
            while look().is_ready() {
                sent += stream.try_write(&[0; 16 << 10]).unwrap();
            }
        });
        filled.await;
        let full = is_ready(&stream, PollFlags::OUT).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let room = poll_fn(|cx| stream.poll_writable(cx));
        let takes = async {
            let mut taken = vec![0; sent];
            client.read_exact(&mut taken).await.unwrap();
        };
        let (room, ()) = tokio::join!(room, takes);
        room.unwrap();
        assert!(look().is_ready());
    }

    #[tokio::test]
    async fn a_new_connection_is_waited_for_until_it_sends_something_or_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for says in [&b"a"[..], b""] {
            let mut client = TcpStream::connect(address).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let look = || stream.poll_readable(&mut Context::from_waker(Waker::noop()));
            assert!(look().is_pending());
            client.write_all(says).await.unwrap();
            drop(client);
            poll_fn(|cx| stream.poll_readable(cx)).await;
            assert!(look().is_ready());
        }
    }

    #[tokio::test]
    async fn a_broken_connection_is_no_reason_to_wait_nor_to_fill_memory() {
        let (client, stream) = UnixStream::pair().unwrap();
        let look = || stream.poll_writable(&mut Context::from_waker(Waker::noop()));
        while look().is_ready() {
            stream.try_write(&[0; 1024]).unwrap();
        }
        let full = is_ready(&stream, PollFlags::OUT).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        drop(client);
        let broken = poll_fn(|cx| stream.poll_writable(cx)).await.unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_client_that_leaves_without_reading_has_broken_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let client = client.await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let look = || stream.poll_writable(&mut Context::from_waker(Waker::noop()));
        let filled = unconstrained(async {
            while look().is_ready() {
                stream.try_write(&[0; 16 << 10]).unwrap();
            }
        });
        filled.await;
        drop(client);
        let broken = poll_fn(|cx| stream.poll_writable(cx)).await.unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::BrokenPipe);
    }
}
