//! Who may try to log in, and when.

use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::unsync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failures::Failures;
use super::network::ClientNetwork;
use super::places;
use super::quota::{Quota, Share};
use crate::base::limits::FAILED_CLIENTS_KEPT;
use crate::http::settings::Limits;

/// The way to the check of a password: past who failed too often, into a waiting room in which nobody
/// takes all places, to one of few places where passwords are hashed.
#[derive(Debug)]
pub(in crate::http) struct Logins {
    room: Arc<Quota<ClientNetwork>>,
    hashing: Arc<Semaphore>,
    /// By account and client: who guesses the password of one account.
    of_pair: Failures,
    /// By client: who tries many accounts.
    of_client: Failures,
    /// By account: who guesses from many addresses.
    of_account: Failures,
    /// Accounts that logged in from a client: the failures of others do not keep these out.
    succeeded: Mutex<Cache<(String, ClientNetwork), ()>>,
}

/// A place where a password is hashed. The work keeps it, because it goes on when its client leaves.
pub(in crate::http) type LoginPlace = (Share<ClientNetwork>, OwnedSemaphorePermit);

impl Logins {
    /// Nobody has tried yet.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        let room = limits
            .logins_at_once_max
            .saturating_add(limits.logins_waiting_max);
        Self {
            room: Quota::new(room, limits.logins_waiting_address_max),
            hashing: Arc::new(places(limits.logins_at_once_max)),
            of_pair: Failures::per_minute(limits.wrong_logins_minute_max),
            of_client: Failures::per_minute(limits.wrong_logins_minute_address_max),
            of_account: Failures::per_minute(limits.wrong_logins_minute_account_max),
            succeeded: Mutex::new(Cache::new(FAILED_CLIENTS_KEPT)),
        }
    }

    /// Waits for a place. `None` when enough wait already, of this client or in all.
    pub(in crate::http) async fn enter(&self, client: ClientNetwork) -> Option<LoginPlace> {
        let share = self.room.take(client, 1).ok()?;
        let place = Arc::clone(&self.hashing).acquire_owned().await;
        Some((share, place.expect("the semaphore is never closed")))
    }

    /// How long this client has to wait before it may try this account, in seconds; `None` if it may.
    /// Where the account has logged in from this client, only the client's own failures with it count.
    pub(in crate::http) fn wait_s(
        &self,
        account: &str,
        client: ClientNetwork,
        now_ms: i64,
    ) -> Option<u64> {
        let own = self.of_pair.wait_s(&(account, client), now_ms);
        if own.is_some() || self.has_succeeded(account, client) {
            return own;
        }
        let by_client = self.of_client.wait_s(&client, now_ms);
        by_client.max(self.of_account.wait_s(&account, now_ms))
    }

    /// A password was wrong, or there is no such account.
    pub(in crate::http) fn failed(&self, account: &str, client: ClientNetwork, now_ms: i64) {
        self.of_pair.add(&(account, client), now_ms);
        self.of_client.add(&client, now_ms);
        self.of_account.add(&account, now_ms);
    }

    /// A password was right.
    pub(in crate::http) fn succeeded(&self, account: &str, client: ClientNetwork) {
        self.of_pair.forgive(&(account, client));
        let mut succeeded = self
            .succeeded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        succeeded.insert((account.to_owned(), client), ());
    }

    fn has_succeeded(&self, account: &str, client: ClientNetwork) -> bool {
        let succeeded = self
            .succeeded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        succeeded.get(&(account.to_owned(), client)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const NOW: i64 = 0;

    fn client(last: u8) -> ClientNetwork {
        ClientNetwork::of([192, 0, 2, last].into())
    }

    fn logins(change: impl Fn(&mut Limits)) -> Logins {
        let mut limits = Limits::default();
        change(&mut limits);
        Logins::new(&limits)
    }

    #[tokio::test]
    async fn one_client_does_not_fill_the_room() {
        let logins = logins(|limits| {
            limits.logins_at_once_max = 1;
            limits.logins_waiting_max = 2;
            limits.logins_waiting_address_max = 2;
        });
        let mut context = Context::from_waker(Waker::noop());
        let first = logins.enter(client(1)).await.unwrap();
        let mut second = pin!(logins.enter(client(1)));
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(logins.enter(client(1)).await.is_none(), "a third of one");
        let mut other = pin!(logins.enter(client(2)));
        assert!(other.as_mut().poll(&mut context).is_pending());
        assert!(logins.enter(client(3)).await.is_none(), "one too many");
        drop(first);
        let Poll::Ready(Some(second)) = second.poll(&mut context) else {
            panic!("the next one comes in");
        };
        drop(second);
        drop(other.await.unwrap());
        assert!(logins.enter(client(1)).await.is_some());
    }

    #[test]
    fn who_guesses_one_password_waits_and_the_account_does_not() {
        let logins = logins(|_| {});
        for _ in 0..5 {
            assert_eq!(logins.wait_s("ann", client(1), NOW), None);
            logins.failed("ann", client(1), NOW);
        }
        assert_eq!(logins.wait_s("ann", client(1), NOW), Some(12));
        assert_eq!(logins.wait_s("bob", client(1), NOW), None);
        assert_eq!(logins.wait_s("ann", client(2), NOW), None);
    }

    #[test]
    fn who_guesses_many_accounts_waits_and_who_logged_in_there_does_not() {
        let logins = logins(|_| {});
        logins.succeeded("zoe", client(1));
        for guess in 0..10 {
            logins.failed(&format!("user{guess}"), client(1), NOW);
        }
        assert_eq!(logins.wait_s("ann", client(1), NOW), Some(6));
        assert_eq!(logins.wait_s("ann", client(2), NOW), None);
        assert_eq!(logins.wait_s("zoe", client(1), NOW), None);
    }

    #[test]
    fn an_account_guessed_from_many_addresses_opens_where_it_did_before() {
        let logins = logins(|_| {});
        logins.succeeded("ann", client(1));
        for from in 100..160 {
            logins.failed("ann", client(from), NOW);
        }
        assert_eq!(logins.wait_s("ann", client(2), NOW), Some(1));
        assert_eq!(logins.wait_s("ann", client(1), NOW), None);
    }
}
