//! A body that tells what happens, when it happens: an event stream (HTML standard, section 9.2).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;

/// A body whose pieces come when there is something to tell. A piece is asked for when the one before it
/// was taken, so a client that reads slowly holds memory for no more than hyper keeps of an answer.
pub(in crate::http) struct Events {
    /// `None` once it has ended.
    pieces: Option<Pin<Box<dyn Stream<Item = Bytes> + Send>>>,
}

impl Events {
    /// Sends these pieces.
    pub(in crate::http) fn new(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self {
            pieces: Some(Box::pin(pieces)),
        }
    }

    /// The next piece, `None` at the end.
    pub(in crate::http) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(pieces) = &mut self.pieces else {
            return Poll::Ready(None);
        };
        let piece = ready!(pieces.as_mut().poll_next(cx));
        if piece.is_none() {
            self.pieces = None;
        }
        Poll::Ready(piece)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
