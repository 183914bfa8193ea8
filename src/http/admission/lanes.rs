//! Room for requests that hold something while they run, of which nobody takes more than a part.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::network::ClientNetwork;
use super::{borrowed_permit, places};
use crate::base::limits::{LANE_QUARTERS, LANES};

/// Who asks, as places are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) enum Asker {
    /// The account of this number, logged in.
    Session(u64),
    /// All tokens of the account of this number.
    Tokens(u64),
    /// A client of whom no more is known yet.
    Client(ClientNetwork),
}

/// The room. Whoever asks has a lane, and waits there until it may stand among those who are next: a crowd of one
/// waits for itself, and the others for a few of it.
#[derive(Debug)]
pub(in crate::http) struct Room {
    places: Semaphore,
    lanes: [Semaphore; LANES],
    hasher: RandomState,
}

/// A request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Place<'a> {
    _lane: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

impl Room {
    /// Room for so many.
    ///
    /// # Limits
    /// One who asks takes [`LANE_QUARTERS`] quarters of it at most, together with those who share one of the
    /// [`LANES`] with it by chance.
    pub(in crate::http) fn new(most: u64) -> Self {
        Self::with_lanes(most, most.saturating_mul(LANE_QUARTERS).div_ceil(4))
    }

    /// Room for so many, in which one who asks takes one place, together with those who share one of the [`LANES`]
    /// with it by chance.
    pub(in crate::http) fn of_one_each(most: u64) -> Self {
        Self::with_lanes(most, 1)
    }

    fn with_lanes(most: u64, of_lane: u64) -> Self {
        Self {
            places: places(most),
            lanes: std::array::from_fn(|_| places(of_lane)),
            hasher: RandomState::new(),
        }
    }

    /// Waits for a place.
    pub(in crate::http) async fn enter(&self, asker: Asker) -> Place<'_> {
        let lane = borrowed_permit(self.lane(asker)).await;
        Place {
            _place: borrowed_permit(&self.places).await,
            _lane: lane,
        }
    }

    /// Takes a place if there is one now.
    pub(in crate::http) fn try_enter(&self, asker: Asker) -> Option<Place<'_>> {
        Some(Place {
            _lane: self.lane(asker).try_acquire().ok()?,
            _place: self.places.try_acquire().ok()?,
        })
    }

    fn lane(&self, asker: Asker) -> &Semaphore {
        let lanes = LANES as u64;
        let lane = usize::try_from(self.hasher.hash_one(asker) % lanes).unwrap_or(0);
        &self.lanes[lane]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn who_has_the_one_place_that_each_may_have_leaves_the_others() {
        let room = Room::of_one_each(2);
        let first = room.try_enter(Asker::Session(1)).unwrap();
        assert!(room.try_enter(Asker::Session(1)).is_none());
        // One of them has another lane.
        let mut others = (2..100).map(Asker::Session);
        let second = others.find_map(|other| room.try_enter(other)).unwrap();
        assert!((100..200).all(|other| room.try_enter(Asker::Session(other)).is_none()));
        drop((first, second));
        assert!(room.try_enter(Asker::Session(1)).is_some());
    }

    #[test]
    fn a_crowd_of_one_waits_for_itself_and_others_do_not() {
        let room = Room::new(8);
        let crowd = Asker::Tokens(1);
        let mut held: Vec<_> = (0..6).map(|_| room.try_enter(crowd).unwrap()).collect();
        assert!(room.try_enter(crowd).is_none());
        let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(room.enter(crowd))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        // Each with a lane of its own.
        let lane = |asker| std::ptr::from_ref(room.lane(asker));
        let mut lanes = HashSet::from([lane(crowd)]);
        let others = (2..).map(Asker::Tokens);
        let others = others.filter(|other| lanes.insert(lane(*other)));
        let mut others = others.map(|other| room.enter(other).now_or_never());
        held.extend((0..2).map(|_| others.next().unwrap().expect("two are left")));
        assert!(others.next().unwrap().is_none(), "there is no ninth place");
        drop(held.remove(0));
        let next = waiting[0].as_mut().now_or_never();
        assert!(next.is_some() && waiting[1].as_mut().now_or_never().is_none());
    }
}
