//! A body that is made while it is sent, one piece ahead of the client.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::JoinError;

use crate::http::admission::long::{LongPermit, Turn};
use crate::http::admission::pieces::PieceShares;
use crate::http::blocking::{self, Wanted};

/// Makes a body piece by piece.
pub(in crate::http) trait Pieces: Send + Sync {
    /// The next piece, never empty; `None` at the end. May block.
    ///
    /// # Errors
    /// The rest cannot be made. The client sees the answer cut short.
    fn next_piece(&mut self) -> io::Result<Option<Bytes>>;
}

type Made = (Box<dyn Pieces>, io::Result<Option<Bytes>>);

/// A piece that is being made.
type Making = Pin<Box<dyn Future<Output = Result<Option<Made>, JoinError>> + Send + Sync>>;

/// Sends what [`Pieces`] make. No thread waits for the client: the next piece is made when the one
/// before it is taken, and memory stays at two pieces.
pub(in crate::http) struct ChunkStream {
    /// At rest: not begun, or at its end.
    pieces: Option<Box<dyn Pieces>>,
    making: Option<Making>,
    /// The first piece, where it was made before the answer began.
    first: Option<Bytes>,
    /// For a large file: its pieces are made where those are read.
    shares: Option<PieceShares>,
    /// Among what takes long: other pieces wait for their turn there. It is kept until all is sent.
    place: Option<LongPermit>,
    /// Bytes not yet handed over, when the length is known.
    left: Option<u64>,
}

impl ChunkStream {
    /// Sends these pieces; `length` in bytes, when it is known before they are made.
    pub(in crate::http) fn new(pieces: impl Pieces + 'static, length: Option<u64>) -> Self {
        Self {
            pieces: Some(Box::new(pieces)),
            making: None,
            first: None,
            shares: None,
            place: None,
            left: length,
        }
    }

    /// The same of a large file, with a first piece that is made before the answer begins.
    pub(in crate::http) fn of_file(
        pieces: impl Pieces + 'static,
        length: Option<u64>,
        shares: PieceShares,
    ) -> Self {
        Self {
            shares: Some(shares),
            ..Self::new(pieces, length)
        }
    }

    /// Makes each piece when it is its turn, and keeps the place until all is sent.
    pub(in crate::http) fn take_turns(&mut self, place: LongPermit) {
        self.place = Some(place);
    }

    /// True if the first piece is to be made before the answer begins.
    pub(in crate::http) fn is_to_begin(&self) -> bool {
        self.shares.is_some() && self.pieces.is_some() && self.first.is_none()
    }

    /// Makes the first piece.
    ///
    /// # Errors
    /// As [`Pieces::next_piece`].
    pub(in crate::http) async fn begin(&mut self) -> io::Result<()> {
        if let Some(pieces) = self.pieces.take() {
            self.make_ahead(pieces);
        }
        if let Some(making) = &mut self.making {
            let made = made(making.await);
            self.making = None;
            if let Some((pieces, piece)) = made? {
                self.first = Some(piece);
                // The next one is made when this one is taken, which a `HEAD` does not.
                self.pieces = Some(pieces);
            }
        }
        Ok(())
    }

    /// How many bytes are still to come, when that is known.
    pub(in crate::http) fn left(&self) -> Option<u64> {
        self.left
    }

    /// True if nothing is to come.
    pub(in crate::http) fn is_at_end(&self) -> bool {
        self.pieces.is_none() && self.making.is_none() && self.first.is_none()
    }

    /// The next piece, `None` at the end. hyper asks for one when the system has taken the one before it for the client.
    pub(in crate::http) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(place) = &self.place {
            place.place().taken();
        }
        let piece = ready!(self.poll_made(cx));
        if let (Some(place), Some(Ok(bytes))) = (&self.place, &piece) {
            place.place().given(bytes.len());
        }
        Poll::Ready(piece)
    }

    fn poll_made(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(first) = self.first.take() {
            let left = self.left;
            self.left = left.map(|left| left.saturating_sub(first.len() as u64));
            return Poll::Ready(Some(Ok(first)));
        }
        if let Some(pieces) = self.pieces.take() {
            self.make_ahead(pieces);
        }
        let Some(making) = &mut self.making else {
            return Poll::Ready(None);
        };
        let made = made(ready!(making.as_mut().poll(cx)));
        self.making = None;
        let piece = match made {
            Ok(Some((pieces, piece))) => {
                self.make_ahead(pieces);
                Ok(piece)
            }
            Ok(None) => return Poll::Ready(None),
            Err(error) => Err(error),
        };
        match &piece {
            Ok(bytes) => {
                let left = self.left;
                self.left = left.map(|left| left.saturating_sub(bytes.len() as u64));
            }
            Err(error) => tracing::error!(%error, "an answer was cut short"),
        }
        Poll::Ready(Some(piece))
    }

    fn make_ahead(&mut self, mut pieces: Box<dyn Pieces>) {
        let make = move || {
            let piece = pieces.next_piece();
            Some((pieces, piece))
        };
        self.making = Some(match (&self.shares, &self.place) {
            (Some(shares), _) => Box::pin(shares.start(make)) as Making,
            // A client that has left waits for no turn.
            (None, Some(place)) => Box::pin(Wanted::from(tokio::spawn(in_turn(
                place.turn_of_piece(),
                make,
            )))),
            (None, None) => Box::pin(Wanted::from(blocking::start(make))),
        });
    }
}

async fn in_turn<T: Send + 'static>(
    turn: impl Future<Output = Turn>,
    make: impl FnOnce() -> Option<T> + Send + 'static,
) -> Option<T> {
    let turn = turn.await;
    let made = blocking::start(move || {
        let _turn = turn;
        make()
    });
    made.await.ok().flatten()
}

/// What was made: a piece and what makes the next one; `None` at the end.
fn made(made: Result<Option<Made>, JoinError>) -> io::Result<Option<(Box<dyn Pieces>, Bytes)>> {
    match made {
        Ok(Some((pieces, piece))) => Ok(piece?.map(|piece| (pieces, piece))),
        Ok(None) | Err(_) => Err(io::Error::other("the maker of a body panicked")),
    }
}

impl fmt::Debug for ChunkStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStream")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::base::clock::SystemClock;
    use crate::http::admission::credential::tests::token;
    use crate::http::admission::long::LongRequests;
    use crate::http::settings::Limits;

    struct Endless(#[expect(dead_code, reason = "who has it is counted")] Arc<()>);

    impl Pieces for Endless {
        fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
            Ok(Some(Bytes::from_static(b"piece")))
        }
    }

    #[tokio::test]
    async fn a_client_that_has_left_leaves_nothing_that_waits_for_its_turn() {
        let limits = Limits {
            long_at_once_max: 1,
            long_waiting_max: 9,
            ..Limits::default()
        };
        let requests = LongRequests::new(&limits, Arc::new(SystemClock));
        let place = |number| requests.place(token(1, number), &Arc::default()).unwrap();
        let _running = place(1).turn_of_piece().await;
        let held = Arc::new(());
        let mut stream = ChunkStream::new(Endless(Arc::clone(&held)), None);
        stream.take_turns(place(2));
        let piece = poll_fn(|cx| stream.poll_piece(cx)).now_or_never();
        assert!(piece.is_none(), "it is not its turn");
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&held), 2);
        drop(stream);
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
