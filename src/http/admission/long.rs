//! Requests that compute, search or read for long: few at once, so that those which take microseconds
//! keep the processor and the threads.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::places;
use super::quota::{Full, Quota, Share};
use crate::access::{Account, Refusal};
use crate::base::may_block;
use crate::http::error::Error;
use crate::http::settings::Limits;

/// Who asks: an account that is logged in, or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct Credential {
    account: u64,
    token: Option<u64>,
}

impl Credential {
    /// The account itself, or its token of this number.
    pub(in crate::http) fn new(account: &Account, token: Option<u64>) -> Self {
        Self {
            account: account.number(),
            token,
        }
    }
}

/// Room for such requests.
#[derive(Debug)]
pub(in crate::http) struct LongRequests {
    room: Arc<Quota<Credential>>,
    running: Arc<Semaphore>,
}

/// One request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct LongPlace {
    running: Arc<Semaphore>,
    _share: Share<Credential>,
}

impl LongRequests {
    /// Nobody has asked yet.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        let room = limits
            .long_at_once_max
            .saturating_add(limits.long_waiting_max);
        Self {
            room: Quota::new(room, limits.long_credential_max),
            running: Arc::new(places(limits.long_at_once_max)),
        }
    }

    /// Takes a place in the room.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a credential that has its part already, [`Error::NoRoom`].
    pub(in crate::http) fn enter(
        &self,
        account: &Account,
        token: Option<u64>,
    ) -> Result<LongPlace, Error> {
        let credential = Credential::new(account, token);
        let share = self.room.take(credential, 1).map_err(|full| match full {
            Full::Holder => Error::TooMany {
                refusal: Refusal::of(account.name(), "too many long requests at once"),
                retry_after_s: 1,
            },
            Full::All => Error::NoRoom("too many long requests at once"),
        })?;
        Ok(LongPlace {
            running: Arc::clone(&self.running),
            _share: share,
        })
    }
}

impl LongPlace {
    /// Waits without a thread until it is this one's turn. The turn ends when what is given is dropped.
    pub(in crate::http) fn turn(&self) -> impl Future<Output = OwnedSemaphorePermit> + use<> {
        let running = Arc::clone(&self.running);
        async move {
            let turn = running.acquire_owned().await;
            turn.expect("the semaphore is never closed")
        }
    }

    /// Runs the work of a request where it was read, when it is its turn.
    pub(in crate::http) async fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = self.turn().await;
        may_block(work)
    }
}
