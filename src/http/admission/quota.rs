//! So much in all, so much for each.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::access::Refusal;
use crate::base::threads::lock;
use crate::http::error::Error;

/// Something that there is a bounded amount of, and of which each holder has a bounded share at most.
#[derive(Debug)]
pub(in crate::http) struct Quota<H: Eq + Hash> {
    all_max: u64,
    each_max: u64,
    taken: Mutex<Taken<H>>,
}

#[derive(Debug)]
struct Taken<H> {
    all: u64,
    /// Only of who holds something, so it is no larger than what there is.
    each: HashMap<H, u64>,
}

impl<H: Copy + Eq + Hash> Quota<H> {
    /// So much in all, and so much for each.
    pub(in crate::http) fn new(all_max: u64, each_max: u64) -> Arc<Self> {
        let taken = Taken {
            all: 0,
            each: HashMap::new(),
        };
        Arc::new(Self {
            all_max,
            each_max,
            taken: Mutex::new(taken),
        })
    }

    /// Takes so much for a holder, who gives it back by dropping the share.
    ///
    /// # Errors
    /// There is not that much left for the holder, or in all.
    pub(in crate::http) fn take(
        self: &Arc<Self>,
        holder: H,
        amount: u64,
    ) -> Result<Share<H>, Full> {
        let mut share = self.empty_share(holder);
        share.grow_to(amount)?;
        Ok(share)
    }

    /// Takes so much for a holder in any case: it is in use already, and what comes next is refused in its place.
    pub(in crate::http) fn take_beyond(self: &Arc<Self>, holder: H, amount: u64) -> Share<H> {
        let mut taken = self.taken();
        taken.all += amount;
        *taken.each.entry(holder).or_default() += amount;
        Share {
            quota: Arc::clone(self),
            holder,
            amount,
        }
    }

    /// True if a holder could take 1 once this other one has given 1 back; of `None` nothing is given back.
    pub(in crate::http) fn has_room_after(&self, other: Option<H>, holder: H) -> bool {
        match self.grown(&self.taken(), holder, 1) {
            Ok(_) => true,
            Err(Full::Holder) => other == Some(holder),
            Err(Full::All) => other.is_some(),
        }
    }

    /// A share of nothing, which may grow.
    pub(in crate::http) fn empty_share(self: &Arc<Self>, holder: H) -> Share<H> {
        Share {
            quota: Arc::clone(self),
            holder,
            amount: 0,
        }
    }

    /// What is taken in all and by a holder once that one takes so much more.
    fn grown(&self, taken: &Taken<H>, holder: H, more: u64) -> Result<(u64, u64), Full> {
        let own = taken.each.get(&holder).copied().unwrap_or_default();
        let (all, own) = (taken.all.saturating_add(more), own.saturating_add(more));
        if own > self.each_max {
            return Err(Full::Holder);
        }
        if all > self.all_max {
            return Err(Full::All);
        }
        Ok((all, own))
    }

    fn taken(&self) -> MutexGuard<'_, Taken<H>> {
        lock(&self.taken)
    }
}

/// Why there is nothing left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Full {
    /// The holder has its share.
    Holder,
    /// All is taken.
    All,
}

impl Full {
    /// What a request of this account is told: why it gets nothing where the account, or its token, has its share,
    /// and after how many seconds it may come again; or why nobody gets anything.
    pub(in crate::http) fn refused(
        self,
        account: &str,
        of_one: &'static str,
        of_all: &'static str,
        retry_after_s: u64,
    ) -> Error {
        match self {
            Self::Holder => Error::TooMany {
                refusal: Refusal::of(account, of_one),
                retry_after_s,
            },
            Self::All => Error::Overloaded(of_all),
        }
    }
}

/// What somebody holds of a [`Quota`].
#[derive(Debug)]
pub(in crate::http) struct Share<H: Copy + Eq + Hash> {
    quota: Arc<Quota<H>>,
    holder: H,
    amount: u64,
}

impl<H: Copy + Eq + Hash> Share<H> {
    /// Takes more until the share is so large.
    ///
    /// # Errors
    /// As [`Quota::take`]; the share stays as it was.
    pub(in crate::http) fn grow_to(&mut self, amount: u64) -> Result<(), Full> {
        let more = amount.saturating_sub(self.amount);
        if more == 0 {
            return Ok(());
        }
        let mut taken = self.quota.taken();
        let (all, own) = self.quota.grown(&taken, self.holder, more)?;
        taken.all = all;
        taken.each.insert(self.holder, own);
        self.amount += more;
        Ok(())
    }

    /// Says whether the share could be so large now.
    ///
    /// # Errors
    /// As [`Quota::take`].
    pub(in crate::http) fn could_grow_to(&self, amount: u64) -> Result<(), Full> {
        let more = amount.saturating_sub(self.amount);
        let grown = self.quota.grown(&self.quota.taken(), self.holder, more);
        grown.map(drop)
    }
}

impl<H: Copy + Eq + Hash> Drop for Share<H> {
    fn drop(&mut self) {
        let mut taken = self.quota.taken();
        taken.all -= self.amount;
        let own = taken.each.get(&self.holder).copied().unwrap_or_default();
        if own > self.amount {
            taken.each.insert(self.holder, own - self.amount);
        } else {
            taken.each.remove(&self.holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_more_than_a_share_and_all_no_more_than_there_is() {
        let quota = Quota::new(5, 3);
        let mut ann = quota.take("ann", 2).unwrap();
        assert_eq!(quota.take("ann", 2).unwrap_err(), Full::Holder);
        assert_eq!(ann.grow_to(3), Ok(()));
        assert_eq!(ann.grow_to(4), Err(Full::Holder));
        assert_eq!(quota.take("bob", 3).unwrap_err(), Full::All);
        let bob = quota.take("bob", 2).unwrap();
        drop(ann);
        assert!(quota.take("cid", 3).is_ok());
        let more = quota.take_beyond("bob", 5);
        assert_eq!(quota.take("bob", 1).unwrap_err(), Full::Holder);
        assert_eq!(quota.take("cid", 1).unwrap_err(), Full::All);
        drop(more);
        assert!(quota.take("bob", 1).is_ok());
        drop(bob);
        let taken = quota.taken();
        assert_eq!((taken.all, taken.each.len()), (0, 0));
    }
}
