//! Who may try to log in, and when.

use std::sync::{Arc, Mutex};

use quick_cache::unsync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failures::{ClientFailures, Failures};
use super::network::ClientNetwork;
use super::quota::{Full, Quota, Share};
use super::{permit, places};
use crate::base::limits::{FAILED_CLIENTS_KEPT, LOGINS_KEPT_FOR_KNOWN_PART};
use crate::base::threads::lock;
use crate::http::settings::Limits;

/// Why a login waits that is not wrong yet.
const OFTEN: &str = "too many logins of one account";
/// Why a login waits that may be one guess of many.
const GUESSING: &str = "too many wrong logins";

/// The way to the check of a password: past who failed too often, into a waiting room in which nobody
/// takes all places, to one of few places where passwords are hashed.
#[derive(Debug)]
pub(in crate::http) struct Logins {
    room: Arc<Quota<ClientNetwork>>,
    /// What strangers may take of it: accounts that have not logged in from where they come.
    room_of_strangers: Arc<Quota<()>>,
    hashing: Arc<Semaphore>,
    hashing_of_strangers: Arc<Semaphore>,
    /// By account and client: who guesses the password of one account.
    of_pair: Failures,
    /// By client: who tries many accounts.
    of_client: ClientFailures,
    /// By account: who guesses from many addresses.
    of_account: Failures,
    /// By account, and counted as failures are: who has passwords hashed all the time, and knows one.
    right: Failures,
    /// Accounts that logged in from a client: the failures of others do not keep these out.
    succeeded: Mutex<Cache<(String, ClientNetwork), ()>>,
}

/// A place where a password is hashed. The work keeps it, because it goes on when its client leaves.
#[derive(Debug)]
pub(in crate::http) struct LoginPermit {
    _shares: (Share<ClientNetwork>, Option<Share<()>>),
    _turns: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

impl Logins {
    /// Nobody has tried yet.
    ///
    /// # Limits
    /// One place in [`LOGINS_KEPT_FOR_KNOWN_PART`] of those where logins wait is kept from strangers, and one
    /// where passwords are hashed, unless there is one alone.
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        let at_once = limits.logins_at_once_max;
        let room = at_once.saturating_add(limits.logins_waiting_max);
        Self {
            room: Quota::new(room, limits.logins_waiting_address_max),
            room_of_strangers: Quota::new(room - room / LOGINS_KEPT_FOR_KNOWN_PART, u64::MAX),
            hashing: Arc::new(places(at_once)),
            hashing_of_strangers: Arc::new(places(at_once.saturating_sub(1).max(1))),
            of_pair: Failures::per_minute(limits.wrong_logins_minute_max),
            of_client: ClientFailures::per_minute(limits.wrong_logins_minute_address_max),
            of_account: Failures::per_minute(limits.wrong_logins_minute_account_max),
            right: Failures::per_minute(limits.logins_minute_account_max),
            succeeded: Mutex::new(Cache::new(FAILED_CLIENTS_KEPT)),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// Enough wait already, of this client or in all.
    pub(in crate::http) async fn enter(
        &self,
        account: &str,
        client: ClientNetwork,
    ) -> Result<LoginPermit, Full> {
        let is_stranger = !self.has_succeeded(account, client);
        let share = self.room.take(client, 1)?;
        let (mut of_strangers, mut turn_of_strangers) = (None, None);
        if is_stranger {
            of_strangers = Some(self.room_of_strangers.take((), 1)?);
            turn_of_strangers = Some(permit(Arc::clone(&self.hashing_of_strangers)).await);
        }
        Ok(LoginPermit {
            _turns: (permit(Arc::clone(&self.hashing)).await, turn_of_strangers),
            _shares: (share, of_strangers),
        })
    }

    /// Why and how long this client has to wait before it may try this account, in seconds; `None` if it may.
    /// Where the account has logged in from this client, only the client's own failures with it count, and how
    /// often it logs in. So it is where it `has_session` from there, which is asked only when the failures of others,
    /// or with other accounts, are against it: a start forgets who has logged in.
    ///
    /// Who shares the client with such accounts can so guess at each of these, and tell them from others by the
    /// answer, however often it has failed: as often as one client may fail with one account. No more than that is to
    /// be had by it, before a start or after.
    pub(in crate::http) fn wait_s(
        &self,
        account: &str,
        client: ClientNetwork,
        now_ms: i64,
        has_session: impl FnOnce() -> bool,
    ) -> Option<(&'static str, u64)> {
        if let Some(wait_s) = self.right.wait_s(&account, now_ms) {
            return Some((OFTEN, wait_s));
        }
        let wait_s = self.wait_of_guesses_s(account, client, now_ms, has_session);
        wait_s.map(|wait_s| (GUESSING, wait_s))
    }

    fn wait_of_guesses_s(
        &self,
        account: &str,
        client: ClientNetwork,
        now_ms: i64,
        has_session: impl FnOnce() -> bool,
    ) -> Option<u64> {
        let own = self.of_pair.wait_s(&(account, client), now_ms);
        if own.is_some() || self.has_succeeded(account, client) {
            return own;
        }
        let by_client = self.of_client.wait_s(&client, now_ms);
        let by_account = self.of_account.wait_s(&account, now_ms);
        let by_others = by_client.max(by_account);
        by_others.filter(|_| !has_session())
    }

    /// A password was wrong, or there is no such account.
    pub(in crate::http) fn failed(&self, account: &str, client: ClientNetwork, now_ms: i64) {
        self.of_pair.add(&(account, client), now_ms);
        self.of_client.add(&client, now_ms);
        self.of_account.add(&account, now_ms);
    }

    /// A password was right, whatever became of the request.
    pub(in crate::http) fn succeeded(&self, account: &str, client: ClientNetwork, now_ms: i64) {
        self.right.add(&account, now_ms);
        self.of_pair.forgive(&(account, client));
        let mut succeeded = lock(&self.succeeded);
        succeeded.insert((account.to_owned(), client), ());
    }

    fn has_succeeded(&self, account: &str, client: ClientNetwork) -> bool {
        let succeeded = lock(&self.succeeded);
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

    /// The same for an account that has no session.
    fn wait_s(logins: &Logins, account: &str, client: ClientNetwork) -> Option<u64> {
        let waits = logins.wait_s(account, client, NOW, || false);
        waits.map(|(_, wait_s)| wait_s)
    }

    #[tokio::test]
    async fn one_client_does_not_fill_the_room() {
        let logins = logins(|limits| {
            limits.logins_at_once_max = 1;
            limits.logins_waiting_max = 2;
            limits.logins_waiting_address_max = 2;
        });
        let mut context = Context::from_waker(Waker::noop());
        let first = logins.enter("ann", client(1)).await.unwrap();
        let mut second = pin!(logins.enter("ann", client(1)));
        assert!(second.as_mut().poll(&mut context).is_pending());
        let third = logins.enter("ann", client(1)).await;
        assert_eq!(third.unwrap_err(), Full::Holder);
        let mut other = pin!(logins.enter("ann", client(2)));
        assert!(other.as_mut().poll(&mut context).is_pending());
        let beyond = logins.enter("ann", client(3)).await;
        assert_eq!(beyond.unwrap_err(), Full::All);
        drop(first);
        let Poll::Ready(Ok(second)) = second.poll(&mut context) else {
            panic!("the next one comes in");
        };
        drop(second);
        drop(other.await.unwrap());
        assert!(logins.enter("ann", client(1)).await.is_ok());
    }

    #[test]
    fn who_guesses_one_password_waits_and_the_account_does_not() {
        let logins = logins(|_| {});
        for _ in 0..5 {
            assert_eq!(wait_s(&logins, "ann", client(1)), None);
            logins.failed("ann", client(1), NOW);
        }
        assert_eq!(wait_s(&logins, "ann", client(1)), Some(12));
        assert_eq!(wait_s(&logins, "bob", client(1)), None);
        assert_eq!(wait_s(&logins, "ann", client(2)), None);
    }

    #[test]
    fn who_guesses_many_accounts_waits_and_who_logged_in_there_does_not() {
        let logins = logins(|_| {});
        logins.succeeded("zoe", client(1), NOW);
        for guess in 0..10 {
            logins.failed(&format!("user{guess}"), client(1), NOW);
        }
        assert_eq!(wait_s(&logins, "ann", client(1)), Some(6));
        assert_eq!(wait_s(&logins, "ann", client(2)), None);
        assert_eq!(wait_s(&logins, "zoe", client(1)), None);
    }

    #[test]
    fn an_account_guessed_from_many_addresses_opens_where_it_did_before() {
        let logins = logins(|_| {});
        logins.succeeded("ann", client(1), NOW);
        for from in 100..160 {
            logins.failed("ann", client(from), NOW);
        }
        assert_eq!(wait_s(&logins, "ann", client(2)), Some(1));
        assert_eq!(wait_s(&logins, "ann", client(1)), None);
    }

    #[test]
    fn an_account_opens_where_it_has_a_session_whoever_else_fails_until_it_is_guessed_there() {
        let logins = logins(|_| {});
        for from in 100..160 {
            logins.failed("ann", client(from), NOW);
        }
        let here = |has_session| logins.wait_s("ann", client(1), NOW, || has_session);
        assert_eq!(here(false), Some((GUESSING, 1)));
        assert_eq!(here(true), None);
        for guess in 0..10 {
            logins.failed(&format!("user{guess}"), client(1), NOW);
        }
        assert_eq!(here(false), Some((GUESSING, 6)));
        assert_eq!(here(true), None);
        for _ in 0..5 {
            logins.failed("ann", client(1), NOW);
        }
        assert_eq!(here(true), Some((GUESSING, 12)));
    }

    #[test]
    fn a_48_of_ipv6_fails_as_ten_clients_and_no_more() {
        let logins = logins(|_| {});
        let client = |site: u16, network: u16| {
            ClientNetwork::of([0x2001, 0xdb8, site, network, 0, 0, 0, 1].into())
        };
        for network in 0..100 {
            let name = format!("user{network}");
            assert_eq!(wait_s(&logins, &name, client(1, network)), None);
            logins.failed(&name, client(1, network), NOW);
        }
        assert_eq!(wait_s(&logins, "ann", client(1, 100)), Some(1));
        assert_eq!(wait_s(&logins, "ann", client(2, 100)), None);
    }

    #[test]
    fn who_logs_in_all_the_time_waits_wherever_it_does() {
        let logins = logins(|_| {});
        for from in 0..60 {
            assert_eq!(wait_s(&logins, "ann", client(from)), None);
            logins.succeeded("ann", client(from), NOW);
        }
        let waits = logins.wait_s("ann", client(1), NOW, || true);
        assert_eq!(waits, Some((OFTEN, 1)));
        assert_eq!(wait_s(&logins, "bob", client(1)), None);
    }

    #[tokio::test]
    async fn who_has_logged_in_there_finds_a_place_beside_a_crowd() {
        let logins = logins(|limits| {
            limits.logins_at_once_max = 2;
            limits.logins_waiting_max = 2;
        });
        logins.succeeded("zoe", client(1), NOW);
        let mut context = Context::from_waker(Waker::noop());
        let _first = logins.enter("ann", client(2)).await.unwrap();
        let mut second = pin!(logins.enter("bob", client(3)));
        let mut third = pin!(logins.enter("cid", client(4)));
        for stranger in [second.as_mut(), third.as_mut()] {
            assert!(stranger.poll(&mut context).is_pending());
        }
        for stranger in ["dan", "zoe"] {
            let refused = logins.enter(stranger, client(5)).await;
            assert_eq!(refused.unwrap_err(), Full::All);
        }
        let Poll::Ready(Ok(_)) = pin!(logins.enter("zoe", client(1))).poll(&mut context) else {
            panic!("a place is kept");
        };
    }
}
