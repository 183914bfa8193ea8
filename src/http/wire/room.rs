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
        loop {
            // Without a runtime there is no connection either.
            let may_be = ready!(self.poll_write_ready(cx));
            // A write that fits as a whole leaves it unknown whether the next one does.
            let look = || has_room(self);
            if may_be.is_err() || !is_full(&self.try_io(Interest::WRITABLE, look)) {
                return Poll::Ready(());
            }
        }
    }
}

impl Room for UnixStream {
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let may_be = ready!(self.poll_write_ready(cx));
            let look = || has_room(self);
            if may_be.is_err() || !is_full(&self.try_io(Interest::WRITABLE, look)) {
                return Poll::Ready(());
            }
        }
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

    use super::*;

    #[tokio::test]
    async fn there_is_room_until_the_client_takes_nothing_and_when_it_takes_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut sent = 0;
        let look = || stream.poll_room(&mut Context::from_waker(Waker::noop()));
        while look().is_ready() {
            sent += stream.try_write(&[0; 16 << 10]).unwrap();
        }
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
        while stream.try_write(&[0; 1024]).is_ok() {}
        let look = || stream.poll_room(&mut Context::from_waker(Waker::noop()));
        assert_eq!(look(), Poll::Pending);
        drop(client);
        poll_fn(|cx| stream.poll_room(cx)).await;
    }
}
