//! A kept answer on its way to the client.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

use super::kept_body::KeptBody;
use super::warm::Kept;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::repo::LargeBody;

/// What of a kept answer is still to be sent.
#[derive(Debug)]
pub(super) struct Sending {
    head: Vec<u8>,
    kept: Arc<Kept>,
    sent: u64,
    /// True when the kernel will not send from the body's file.
    copies: bool,
}

impl Sending {
    /// Begins with this head, the kept one with what is the request's own.
    pub(super) fn new(kept: Arc<Kept>, head: Vec<u8>) -> Self {
        Self {
            head,
            kept,
            sent: 0,
            copies: false,
        }
    }

    /// True when all is sent.
    pub(super) fn is_done(&self) -> bool {
        self.sent == self.head.len() as u64 + self.kept.body.len()
    }

    /// Sends some of what is left; there must be something. Returns how many bytes.
    pub(super) fn poll_some(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let head_sent =
            usize::try_from(self.sent).map_or(self.head.len(), |sent| sent.min(self.head.len()));
        let head = &self.head[head_sent..];
        let offset = self.sent - head_sent as u64;
        let some = match &self.kept.body {
            KeptBody::Bytes(bytes) if bytes.is_empty() => Pin::new(stream).poll_write(cx, head),
            KeptBody::Bytes(bytes) => {
                let from = usize::try_from(offset).unwrap_or(bytes.len());
                let both = [IoSlice::new(head), IoSlice::new(&bytes[from..])];
                Pin::new(stream).poll_write_vectored(cx, &both)
            }
            KeptBody::File { .. } if !head.is_empty() => {
                poll_io(stream, cx, || send(&*stream, head, SendFlags::MORE))
            }
            KeptBody::File { file, length } => {
                let left = usize::try_from(length - offset).unwrap_or(usize::MAX);
                let file = file.as_ref();
                if !self.copies {
                    match poll_sent(stream, cx, file, offset, left) {
                        Poll::Ready(Err(error)) if is_refusal(&error) => self.copies = true,
                        other => return self.noted(other),
                    }
                }
                let mut chunk = vec![0; left.min(READ_CHUNK_BYTES)];
                file.read_exact_at(&mut chunk, offset)?;
                Pin::new(stream).poll_write(cx, &chunk)
            }
        };
        self.noted(some)
    }

    fn noted(&mut self, some: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let count = ready!(some)?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.sent += count as u64;
        Poll::Ready(Ok(count))
    }
}

/// Has the kernel send from a file.
fn poll_sent(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    file: &dyn LargeBody,
    offset: u64,
    left: usize,
) -> Poll<io::Result<usize>> {
    let Some(file) = file.file() else {
        return Poll::Ready(Err(Errno::NOSYS.into()));
    };
    let mut offset = offset;
    poll_io(stream, cx, || {
        sendfile(stream, file, Some(&mut offset), left)
    })
}

/// True if the kernel cannot send from this kind of file at all.
fn is_refusal(error: &io::Error) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::SPIPE, Errno::OPNOTSUPP]
        .iter()
        .any(|refusal| error.raw_os_error() == Some(refusal.raw_os_error()))
}

/// Tries a call that writes to the socket, as soon as the socket takes something.
fn poll_io(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    mut call: impl FnMut() -> rustix::io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        match stream.try_io(Interest::WRITABLE, || Ok(call()?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            outcome => return Poll::Ready(outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};

    use bytes::Bytes;
    use hyper::StatusCode;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::base::clock::Timestamp;
    use crate::http::answer_head::AnswerHead;
    use crate::http::request_id::RequestIds;
    use crate::http::warm::Standing;

    /// A body whose file the kernel cannot send from.
    #[derive(Debug)]
    struct Unsendable {
        bytes: Vec<u8>,
        pipe: io::PipeReader,
    }

    impl LargeBody for Unsendable {
        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            let from = usize::try_from(offset).unwrap();
            buffer.copy_from_slice(&self.bytes[from..][..buffer.len()]);
            Ok(())
        }

        fn file(&self) -> Option<BorrowedFd<'_>> {
            Some(self.pipe.as_fd())
        }
    }

    /// What a client gets that begins to read when nothing more can be sent.
    async fn received(body: KeptBody) -> io::Result<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut client = TcpStream::connect(listener.local_addr()?).await?;
        let (mut stream, _) = listener.accept().await?;
        let id = RequestIds::new().next();
        let head = format!(
            "HTTP/1.1 200 OK\r\nX-Request-Id: {id}\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        );
        let kept = Kept {
            standing: Standing {
                generation: 0,
                until: Timestamp::default(),
                trusted: false,
            },
            status: StatusCode::OK,
            head: AnswerHead::new(head.as_bytes(), id).unwrap(),
            body,
        };
        let mut sending = Sending::new(Arc::new(kept), b"head ".to_vec());
        let mut got = Vec::new();
        while !sending.is_done() {
            let some = std::future::poll_fn(|cx| {
                let some = sending.poll_some(&mut stream, cx);
                Poll::Ready(some)
            });
            match some.await {
                Poll::Ready(some) => drop(some?),
                Poll::Pending => {
                    client.read_buf(&mut got).await?;
                }
            }
        }
        drop(stream);
        client.read_to_end(&mut got).await?;
        Ok(got)
    }

    #[tokio::test]
    async fn every_kind_of_body_comes_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
        let expected = [b"head ", &bytes[..]].concat();
        let unsendable = Unsendable {
            bytes: bytes.clone(),
            pipe: io::pipe().unwrap().0,
        };
        let bytes = Bytes::from(bytes);
        for body in [
            KeptBody::Bytes(bytes.clone()),
            KeptBody::of_bytes(&bytes).unwrap(),
            KeptBody::File {
                file: Arc::new(unsendable),
                length: bytes.len() as u64,
            },
        ] {
            assert!(received(body).await.unwrap() == expected, "other bytes");
        }
        let nothing = received(KeptBody::Bytes(Bytes::new())).await.unwrap();
        assert_eq!(nothing, b"head ");
    }

    #[tokio::test]
    async fn a_file_that_ends_early_is_an_error() {
        let Some(KeptBody::File { file, length }) = KeptBody::of_bytes(&vec![1; 100_000].into())
        else {
            panic!("it is not in a file");
        };
        let length = length + 1;
        let cut = received(KeptBody::File { file, length }).await;
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
