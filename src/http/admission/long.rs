//! Requests that compute, search or read for long: few at once, so that those which take microseconds
//! keep the processor and the threads.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::credential::{Credential, CredentialQuota};
use super::held_places::{HeldPlace, HeldPlaces};
use super::quota::Full;
use super::{permit, places};
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
    turns: Turns,
}

/// One request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct LongPermit {
    turns: Turns,
    is_of_token: bool,
    place: HeldPlace,
}

/// Who runs: first come, first served, but tokens wait among themselves until one of them is next. So a
/// person waits for those that run, and for no crowd.
#[derive(Clone, Debug)]
struct Turns {
    running: Arc<Semaphore>,
    of_tokens: Arc<Semaphore>,
}

/// A request's turn. It ends when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Turn {
    _running: OwnedSemaphorePermit,
    _of_tokens: Option<OwnedSemaphorePermit>,
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
            turns: Turns {
                running: Arc::new(places(at_once)),
                of_tokens: Arc::new(places(at_once)),
            },
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
            turns: self.turns.clone(),
            is_of_token: credential.is_token(),
        })
    }
}

impl LongPermit {
    /// The place, which tells how fast the client takes the answer.
    pub(in crate::http) fn place(&self) -> &HeldPlace {
        &self.place
    }

    /// Waits without a thread until it is this one's turn.
    pub(in crate::http) fn turn(&self) -> impl Future<Output = Turn> + use<> {
        let Turns { running, of_tokens } = self.turns.clone();
        let is_of_token = self.is_of_token;
        async move {
            let of_tokens = if is_of_token {
                Some(permit(of_tokens).await)
            } else {
                None
            };
            Turn {
                _running: permit(running).await,
                _of_tokens: of_tokens,
            }
        }
    }

    /// Runs the work of a request where it was read, when it is its turn.
    pub(in crate::http) async fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = self.turn().await;
        may_block(work)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::base::clock::SystemClock;
    use crate::http::admission::credential::tests::{session, token};

    #[test]
    fn a_person_waits_for_those_that_run_and_for_no_crowd() {
        let limits = Limits {
            long_at_once_max: 1,
            long_waiting_max: 9,
            ..Limits::default()
        };
        let requests = LongRequests::new(&limits, Arc::new(SystemClock));
        let place = |credential| requests.place(credential, &Arc::default()).unwrap();
        let turn = |credential| Box::pin(place(credential).turn());
        let first = turn(token(1, 1)).now_or_never().unwrap();
        let [mut second, mut third] = [2, 3].map(|number| turn(token(1, number)));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        let [mut person, mut another] = [1, 2].map(|account| turn(session(account)));
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
