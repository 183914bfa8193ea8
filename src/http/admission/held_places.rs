//! Places that requests hold while their answers are made and sent: whoever finds none gets that of the slowest client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::credential::{Credential, CredentialQuota, CredentialShare};
use super::quota::Full;
use crate::base::clock::Clock;
use crate::base::limits::LONG_ANSWER_BYTES_S_MIN;
use crate::base::threads::lock;
use crate::http::wire::connection_state::ConnectionState;

/// Places that are shared by who asks. A client that takes its answer slowly keeps its place, however long that is,
/// until somebody else finds none.
#[derive(Debug)]
pub(in crate::http) struct HeldPlaces {
    quota: CredentialQuota,
    held: Mutex<Held>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Held {
    last: u64,
    /// No more than there are places.
    places: HashMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    credential: Credential,
    connection: Arc<ConnectionState>,
    /// When the client should have taken what it was given, by the clock that nobody sets. `None` while it waits for
    /// the service.
    late_at_ms: Option<i64>,
    _share: CredentialShare,
}

/// A request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct HeldPlace {
    places: Arc<HeldPlaces>,
    number: u64,
}

impl HeldPlaces {
    /// As many places as the quota has.
    pub(in crate::http) fn new(quota: CredentialQuota, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            quota,
            held: Mutex::default(),
            clock,
        })
    }

    /// Takes a place for a request that came over this connection. Where there is none, the client that has been late
    /// for the longest time loses its connection, if that leaves one.
    ///
    /// # Limits
    /// A client is late that takes less than [`LONG_ANSWER_BYTES_S_MIN`] of what it was given. A credential that has
    /// its part ends none of its own answers: they would end each other in turns.
    ///
    /// # Errors
    /// As [`CredentialQuota::take`].
    pub(in crate::http) fn enter(
        self: &Arc<Self>,
        credential: Credential,
        connection: &Arc<ConnectionState>,
    ) -> Result<HeldPlace, Full> {
        let share = loop {
            match self.quota.take(credential, 1) {
                Ok(share) => break share,
                Err(full) if !self.end_latest(credential) => return Err(full),
                // Another may have been faster.
                Err(_) => {}
            }
        };
        let mut held = self.held();
        held.last += 1;
        let number = held.last;
        let place = Place {
            credential,
            connection: Arc::clone(connection),
            late_at_ms: None,
            _share: share,
        };
        held.places.insert(number, place);
        Ok(HeldPlace {
            places: Arc::clone(self),
            number,
        })
    }

    /// Ends the answer of the client that is late for the longest time, of those whose places are of use to this
    /// credential; false if there is none.
    fn end_latest(&self, credential: Credential) -> bool {
        let now_ms = self.clock.uptime_ms();
        let mut held = self.held();
        let late = held.places.iter().filter_map(|(number, place)| {
            let late_at_ms = place.late_at_ms.filter(|at_ms| *at_ms < now_ms)?;
            let is_of_use = self.quota.has_room_after(place.credential, credential);
            is_of_use.then_some((late_at_ms, *number))
        });
        let latest = late.min().map(|(_, number)| number);
        let Some(place) = latest.and_then(|number| held.places.remove(&number)) else {
            return false;
        };
        place.connection.give_up();
        true
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

impl HeldPlace {
    /// The client was given so many bytes, which it is to take.
    pub(in crate::http) fn given(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let time_ms = bytes.saturating_mul(1000) / LONG_ANSWER_BYTES_S_MIN;
        let time_ms = i64::try_from(time_ms).unwrap_or(i64::MAX);
        let late_at_ms = self.places.clock.uptime_ms().saturating_add(time_ms);
        self.set_late_at(Some(late_at_ms));
    }

    /// The client has taken what it was given, and waits for more.
    pub(in crate::http) fn taken(&self) {
        self.set_late_at(None);
    }

    fn set_late_at(&self, late_at_ms: Option<i64>) {
        if let Some(place) = self.places.held().places.get_mut(&self.number) {
            place.late_at_ms = late_at_ms;
        }
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.places.held().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};
    use crate::http::admission::credential::tests::{session, token};

    /// Of 4 places, of which 1 is kept for people; tokens of an account have 2, and a credential 2.
    fn places() -> (Arc<HeldPlaces>, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(0)));
        let quota = CredentialQuota::new(4, 2);
        (HeldPlaces::new(quota, clock.clone()), clock)
    }

    #[test]
    fn the_latest_client_gives_its_place_to_who_finds_none() {
        let (places, clock) = places();
        let second = usize::try_from(LONG_ANSWER_BYTES_S_MIN).unwrap();
        let connections: [_; 3] = std::array::from_fn(|_| Arc::<ConnectionState>::default());
        let asks = [token(1, 1), token(1, 2), token(2, 1)];
        let held: Vec<_> = asks
            .iter()
            .zip(&connections)
            .map(|(credential, connection)| places.enter(*credential, connection).unwrap())
            .collect();
        held[0].given(30 * second);
        held[1].given(10 * second);
        held[2].given(20 * second);
        let ended = || [0, 1, 2].map(|at: usize| connections[at].is_given_up());
        let other = Arc::default();
        clock.advance_s(10);
        let refused = places.enter(token(3, 1), &other).unwrap_err();
        assert_eq!((refused, ended()), (Full::All, [false; 3]));
        clock.advance_s(11);
        let first = places.enter(token(3, 1), &other).unwrap();
        assert_eq!(ended(), [false, true, false]);
        // What its answer still does is nothing to whoever has the place now.
        held[1].given(second);
        let second = places.enter(token(3, 2), &other).unwrap();
        assert_eq!(ended(), [false, true, true]);
        assert_eq!(places.enter(token(4, 1), &other).unwrap_err(), Full::All);
        drop((first, second, held));
        assert!(places.held().places.is_empty());
    }

    #[test]
    fn a_client_that_waits_for_the_service_is_not_late_nor_ended_for_itself_or_in_vain() {
        let (places, clock) = places();
        let connection = Arc::default();
        let one = places.enter(token(1, 1), &connection).unwrap();
        let two = places.enter(token(1, 1), &connection).unwrap();
        let people = [1, 2].map(|account| places.enter(session(account), &connection).unwrap());
        for place in [&one, &two, &people[0], &people[1]] {
            place.given(1);
        }
        one.taken();
        clock.advance_s(3600);
        assert_eq!(
            places.enter(token(1, 1), &connection).unwrap_err(),
            Full::Holder
        );
        assert!(!connection.is_given_up());
        two.taken();
        // The place of a person is of no use where the tokens of the account have theirs.
        assert_eq!(
            places.enter(token(1, 2), &connection).unwrap_err(),
            Full::All
        );
        assert!(!connection.is_given_up());
        two.given(1);
        clock.advance_s(1);
        places.enter(token(1, 2), &connection).unwrap();
        assert!(connection.is_given_up());
    }
}
