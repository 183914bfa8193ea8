//! A body that is made while it is sent, one piece ahead of the client.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::bucket_wait::BucketWait;
use crate::http::admission::long::{LongPermit, Turn};
use crate::http::blocking::{self, Wanted};

/// Makes a body piece by piece.
pub(in crate::http) trait Pieces: Send + Sync {
    /// The next piece, never empty; `None` at the end. May block.
    ///
    /// # Errors
    /// The rest cannot be made. The client sees the answer cut short, but where the bucket of a large file is away:
    /// then it is asked for the same piece again.
    fn next_piece(&mut self) -> io::Result<Option<Bytes>>;
}

/// What makes the next piece, when this one was asked for, and the piece.
type Made = (Box<dyn Pieces>, Instant, io::Result<Option<Bytes>>);

/// A piece that is being made.
type Making = Pin<Box<dyn Future<Output = Result<Option<Made>, JoinError>> + Send + Sync>>;

/// Sends what [`Pieces`] make. No thread waits for the client: the next piece is made when the one
/// before it is taken, and memory stays at two pieces.
pub(in crate::http) struct ChunkStream {
    /// At rest: not begun, or at its end.
    pieces: Option<Box<dyn Pieces>>,
    making: Option<Making>,
    bucket: BucketWait,
    /// Among what takes long: other pieces wait for their turn there. It is kept until all is sent.
    place: Option<LongPermit>,
}

impl ChunkStream {
    /// Sends these pieces.
    pub(in crate::http) fn new(pieces: impl Pieces + 'static) -> Self {
        Self {
            pieces: Some(Box::new(pieces)),
            making: None,
            bucket: BucketWait::default(),
            place: None,
        }
    }

    /// Makes each piece when it is its turn, and keeps the place until all is sent.
    pub(in crate::http) fn take_turns(&mut self, place: LongPermit) {
        self.place = Some(place);
    }

    /// True if nothing is to come.
    pub(in crate::http) fn is_at_end(&self) -> bool {
        self.pieces.is_none() && self.making.is_none()
    }

    /// The next piece, `None` at the end. hyper asks for one when the system has taken the one before it for the
    /// client.
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
        loop {
            ready!(self.bucket.poll_pause(cx));
            if let Some(pieces) = self.pieces.take() {
                self.make_ahead(pieces);
            }
            let Some(making) = &mut self.making else {
                return Poll::Ready(None);
            };
            let made = ready!(making.as_mut().poll(cx));
            self.making = None;
            let error = match made {
                Ok(Some((pieces, _, Ok(Some(piece))))) => {
                    self.bucket.end();
                    self.make_ahead(pieces);
                    return Poll::Ready(Some(Ok(piece)));
                }
                Ok(Some((_, _, Ok(None)))) => return Poll::Ready(None),
                // A read that is silent has a turn meanwhile: one that took so long is not repeated.
                Ok(Some((pieces, asked, Err(error)))) if self.bucket.goes_on(&error, asked) => {
                    self.pieces = Some(pieces);
                    continue;
                }
                Ok(Some((_, _, Err(error)))) => error,
                Ok(None) | Err(_) => io::Error::other("the maker of a body panicked"),
            };
            tracing::error!(%error, "an answer was cut short");
            return Poll::Ready(Some(Err(error)));
        }
    }

    fn make_ahead(&mut self, mut pieces: Box<dyn Pieces>) {
        let make = move || {
            let asked = Instant::now();
            let piece = pieces.next_piece();
            Some((pieces, asked, piece))
        };
        self.making = Some(match &self.place {
            // A client that has left waits for no turn.
            Some(place) => {
                let made = tokio::spawn(in_turn(place.turn_of_piece(), make));
                Box::pin(Wanted::from(made)) as Making
            }
            None => Box::pin(Wanted::from(blocking::start(make))),
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

impl fmt::Debug for ChunkStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStream").finish_non_exhaustive()
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
        let mut stream = ChunkStream::new(Endless(Arc::clone(&held)));
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
