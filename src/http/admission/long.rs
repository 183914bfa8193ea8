//! Requests that compute, search or read for long: few at once, so that those which take microseconds
//! keep the processor and the threads.

use std::sync::Arc;

use super::credential::{Credential, CredentialQuota};
use super::fair_semaphore::{FairSemaphore, OwnedFairPermit};
use super::held_places::{HeldPlace, HeldPlaces};
use super::quota::Full;
use crate::access::Account;
use crate::base::clock::Clock;
use crate::base::may_block;
use crate::http::error::Error;
use crate::http::settings::Limits;
use crate::http::wire::connection_state::ConnectionState;

/// Room for such requests.
#[derive(Debug)]
pub(in crate::http) struct LongRequests {
    room: Arc<HeldPlaces>,
    turns: Arc<Turns>,
}

/// One request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct LongPermit {
    turns: Arc<Turns>,
    credential: Credential,
    place: HeldPlace,
}

/// Who runs. What is computed as a whole may take seconds, a piece of an answer takes some milliseconds: pieces wait
/// for pieces alone, or a download of a thousand of them would wait as often for what others have computed.
#[derive(Debug)]
struct Turns {
    whole: FairTurns,
    pieces: FairTurns,
}

/// Turns of so many at once: fair between accounts, and tokens wait among themselves until one of them is next. So a
/// person waits for those that run, and for no crowd; and so does one account's token where another's are many.
#[derive(Debug)]
struct FairTurns {
    running: FairSemaphore,
    of_tokens: FairSemaphore,
}

/// A request's turn. It ends when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Turn {
    _running: OwnedFairPermit,
    _of_tokens: Option<OwnedFairPermit>,
}

impl FairTurns {
    fn new(at_once: u64) -> Self {
        Self {
            running: FairSemaphore::new(at_once),
            of_tokens: FairSemaphore::new(at_once),
        }
    }

    /// Waits without a thread until it is the turn of who asks.
    fn turn(&self, credential: Credential) -> impl Future<Output = Turn> + use<> {
        let asker = credential.asker();
        let of_tokens = credential
            .is_token()
            .then(|| self.of_tokens.enter_owned(asker));
        let running = self.running.enter_owned(asker);
        async move {
            let of_tokens = match of_tokens {
                Some(of_tokens) => Some(of_tokens.await),
                None => None,
            };
            Turn {
                _running: running.await,
                _of_tokens: of_tokens,
            }
        }
    }
}

impl LongRequests {
    /// Nobody has asked yet. The clock tells which clients are slow.
    pub(in crate::http) fn new(limits: &Limits, clock: Arc<dyn Clock>) -> Self {
        let at_once = limits.long_at_once_max;
        let room = at_once.saturating_add(limits.long_waiting_max);
        Self {
            room: HeldPlaces::new(
                CredentialQuota::new(room, limits.long_credential_max),
                clock,
            ),
            turns: Arc::new(Turns {
                whole: FairTurns::new(at_once),
                pieces: FairTurns::new(at_once),
            }),
        }
    }

    /// Takes a place in the room for a request that came over this connection. It is kept until all of the answer is
    /// sent where that is made meanwhile, or, as [`HeldPlaces::enter`] says, the client is too slow for others.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a credential that has its part already, or a token whose account's tokens have
    /// theirs; [`Error::Overloaded`].
    ///
    /// # Limits
    /// As [`CredentialQuota::new`], of all that run or wait.
    pub(in crate::http) fn enter(
        &self,
        account: &Account,
        token: Option<u64>,
        connection: &Arc<ConnectionState>,
    ) -> Result<LongPermit, Error> {
        let too_many = "too many long requests at once";
        let place = self.place(Credential::new(account, token), connection);
        place.map_err(|full| full.refused(account.name(), too_many, too_many, 1))
    }

    /// Takes a place for a credential.
    pub(in crate::http) fn place(
        &self,
        credential: Credential,
        connection: &Arc<ConnectionState>,
    ) -> Result<LongPermit, Full> {
        Ok(LongPermit {
            place: self.room.enter(credential, connection)?,
            turns: Arc::clone(&self.turns),
            credential,
        })
    }
}

impl LongPermit {
    /// The place, which tells how fast the client takes the answer.
    pub(in crate::http) fn place(&self) -> &HeldPlace {
        &self.place
    }

    /// Waits without a thread until a piece of the answer may be made.
    pub(in crate::http) fn turn_of_piece(&self) -> impl Future<Output = Turn> + use<> {
        self.turns.pieces.turn(self.credential)
    }

    /// Runs the work of a request where it was read, when it is its turn.
    pub(in crate::http) async fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = self.turns.whole.turn(self.credential).await;
        may_block(work)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::base::clock::SystemClock;
    use crate::http::admission::credential::tests::{session, token};
    use crate::http::admission::fair_semaphore::Asker;

    /// With room for so many at once.
    fn requests(long_at_once_max: u64) -> LongRequests {
        let limits = Limits {
            long_at_once_max,
            long_waiting_max: 9,
            ..Limits::default()
        };
        LongRequests::new(&limits, Arc::new(SystemClock))
    }

    #[test]
    fn the_crowd_of_one_account_waits_for_itself() {
        let requests = requests(1);
        let turn = |credential| Box::pin(requests.turns.whole.turn(credential));
        let first = turn(token(1, 1)).now_or_never().unwrap();
        let mut crowd: Vec<_> = (2..9).map(|number| turn(token(1, number))).collect();
        let of_tokens = &requests.turns.whole.of_tokens;
        let is_apart = |of: &u64| !of_tokens.share_a_shard(Asker::Tokens(1), Asker::Tokens(*of));
        let apart = (2..999).find(is_apart).unwrap();
        let mut other = turn(token(apart, 9));
        for waiting in crowd.iter_mut().chain([&mut other]) {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        drop(first);
        for waiting in &mut crowd {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        assert!(other.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_piece_waits_for_pieces_alone() {
        let requests = requests(1);
        let place = |number| requests.place(token(1, number), &Arc::default()).unwrap();
        let computing = requests.turns.whole.turn(token(1, 1)).now_or_never();
        assert!(computing.is_some());
        let (first, second) = (place(1), place(2));
        let piece = Box::pin(first.turn_of_piece()).now_or_never();
        assert!(piece.is_some());
        let mut next = Box::pin(second.turn_of_piece());
        assert!(next.as_mut().now_or_never().is_none());
        drop(piece);
        assert!(next.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_person_waits_for_those_that_run_and_for_no_crowd() {
        let requests = requests(1);
        let turn = |credential| Box::pin(requests.turns.whole.turn(credential));
        let first = turn(token(1, 1)).now_or_never().unwrap();
        let [mut second, mut third] = [2, 3].map(|number| turn(token(1, number)));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        let running = &requests.turns.whole.running;
        let is_apart = |of: &u64| !running.share_a_shard(Asker::Tokens(1), Asker::Session(*of));
        let mut apart = (1..).filter(is_apart);
        let [mut person, mut another] = [(); 2].map(|()| turn(session(apart.next().unwrap())));
        assert!(person.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.as_mut().now_or_never().is_none());
        let of_person = person.as_mut().now_or_never().unwrap();
        // It is among those who are next now, and so before the next person.
        assert!(another.as_mut().now_or_never().is_none());
        drop(of_person);
        assert!(another.as_mut().now_or_never().is_none());
        let of_second = second.as_mut().now_or_never().unwrap();
        drop(of_second);
        assert!(third.as_mut().now_or_never().is_none());
        assert!(another.as_mut().now_or_never().is_some());
    }
}
