//! A semaphore that is fair: nobody who asks holds more than a part of it.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::network::ClientNetwork;
use super::{borrowed_permit, permit, places};
use crate::base::limits::{FAIR_SHARD_QUARTERS, FAIR_SHARDS};

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

/// A semaphore that is fair between askers. Each asker first needs a permit of its shard, of which there are fewer than
/// permits in all: so the crowd of one asker waits for itself, and others wait for a few of it at most.
#[derive(Debug)]
pub(in crate::http) struct FairSemaphore {
    places: Arc<Semaphore>,
    shards: [Arc<Semaphore>; FAIR_SHARDS],
    hasher: RandomState,
}

/// A request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct FairPermit<'a> {
    _of_shard: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

/// A place that borrows nothing.
#[derive(Debug)]
pub(in crate::http) struct OwnedFairPermit {
    _of_shard: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl FairSemaphore {
    /// A semaphore of so many permits.
    ///
    /// # Limits
    /// One asker holds [`FAIR_SHARD_QUARTERS`] quarters of them at most, together with those who share one of the
    /// [`FAIR_SHARDS`] with it by chance.
    pub(in crate::http) fn new(most: u64) -> Self {
        Self::with_shards(most, most.saturating_mul(FAIR_SHARD_QUARTERS).div_ceil(4))
    }

    /// A semaphore of so many permits of which one asker holds one, together with those who share one of the
    /// [`FAIR_SHARDS`] with it by chance.
    pub(in crate::http) fn of_one_each(most: u64) -> Self {
        Self::with_shards(most, 1)
    }

    fn with_shards(most: u64, of_shard: u64) -> Self {
        Self {
            places: Arc::new(places(most)),
            shards: std::array::from_fn(|_| Arc::new(places(of_shard))),
            hasher: RandomState::new(),
        }
    }

    /// Waits for a place.
    pub(in crate::http) async fn enter(&self, asker: Asker) -> FairPermit<'_> {
        let of_shard = borrowed_permit(self.shard(asker)).await;
        FairPermit {
            _place: borrowed_permit(&self.places).await,
            _of_shard: of_shard,
        }
    }

    /// The same, for a place that borrows nothing.
    pub(in crate::http) fn enter_owned(
        &self,
        asker: Asker,
    ) -> impl Future<Output = OwnedFairPermit> + use<> {
        let (of_shard, places) = (Arc::clone(self.shard(asker)), Arc::clone(&self.places));
        async move {
            let of_shard = permit(of_shard).await;
            OwnedFairPermit {
                _place: permit(places).await,
                _of_shard: of_shard,
            }
        }
    }

    /// Takes a place if there is one now.
    pub(in crate::http) fn try_enter(&self, asker: Asker) -> Option<FairPermit<'_>> {
        Some(FairPermit {
            _of_shard: self.shard(asker).try_acquire().ok()?,
            _place: self.places.try_acquire().ok()?,
        })
    }

    /// True if two askers share a shard by chance.
    #[cfg(test)]
    pub(in crate::http) fn share_a_shard(&self, one: Asker, other: Asker) -> bool {
        Arc::ptr_eq(self.shard(one), self.shard(other))
    }

    fn shard(&self, asker: Asker) -> &Arc<Semaphore> {
        let shards = FAIR_SHARDS as u64;
        let shard = usize::try_from(self.hasher.hash_one(asker) % shards).unwrap_or(0);
        &self.shards[shard]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn who_has_the_one_place_that_each_may_have_leaves_the_others() {
        let semaphore = FairSemaphore::of_one_each(2);
        let first = semaphore.try_enter(Asker::Session(1)).unwrap();
        assert!(semaphore.try_enter(Asker::Session(1)).is_none());
        // One of them is in another shard.
        let mut others = (2..100).map(Asker::Session);
        let second = others.find_map(|other| semaphore.try_enter(other)).unwrap();
        assert!((100..200).all(|other| semaphore.try_enter(Asker::Session(other)).is_none()));
        drop((first, second));
        assert!(semaphore.try_enter(Asker::Session(1)).is_some());
    }

    #[test]
    fn a_crowd_of_one_waits_for_itself_and_others_do_not() {
        let semaphore = FairSemaphore::new(8);
        let crowd = Asker::Tokens(1);
        let mut held: Vec<_> = (0..6)
            .map(|_| semaphore.try_enter(crowd).unwrap())
            .collect();
        assert!(semaphore.try_enter(crowd).is_none());
        let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(semaphore.enter(crowd))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        // Each in a shard of its own.
        let shard = |asker| Arc::as_ptr(semaphore.shard(asker));
        let mut shards = HashSet::from([shard(crowd)]);
        let others = (2..).map(Asker::Tokens);
        let others = others.filter(|other| shards.insert(shard(*other)));
        let mut others = others.map(|other| semaphore.enter(other).now_or_never());
        held.extend((0..2).map(|_| others.next().unwrap().expect("two are left")));
        assert!(others.next().unwrap().is_none(), "there is no ninth place");
        drop(held.remove(0));
        let next = waiting[0].as_mut().now_or_never();
        assert!(next.is_some() && waiting[1].as_mut().now_or_never().is_none());
    }
}
