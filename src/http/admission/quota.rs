//! So much in all, so much for each.

use std::collections::HashMap;
use std::hash::Hash;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::access::Refusal;
use crate::base::threads::lock;
use crate::http::error::Error;

/// Something that there is a bounded amount of, and of which each holder has a bounded share at most, and so have
/// holders that belong together.
#[derive(Debug)]
pub(in crate::http) struct Quota<H: Eq + Hash> {
    all_max: u64,
    each_max: u64,
    group_max: u64,
    /// What a holder belongs to, if it does.
    group_of: fn(H) -> Option<H>,
    taken: Mutex<Taken<H>>,
}

#[derive(Debug)]
struct Taken<H> {
    all: u64,
    /// Only of who holds something, and of their groups, so it is no larger than twice what there is.
    each: HashMap<H, u64>,
}

impl<H: Copy + Eq + Hash> Quota<H> {
    /// So much in all, and so much for each.
    pub(in crate::http) fn new(all_max: u64, each_max: u64) -> Arc<Self> {
        Self::with_groups(all_max, each_max, u64::MAX, |_| None)
    }

    /// The same, and so much for all holders of a group together. No group is a holder itself.
    pub(in crate::http) fn with_groups(
        all_max: u64,
        each_max: u64,
        group_max: u64,
        group_of: fn(H) -> Option<H>,
    ) -> Arc<Self> {
        let taken = Taken {
            all: 0,
            each: HashMap::new(),
        };
        Arc::new(Self {
            all_max,
            each_max,
            group_max,
            group_of,
            taken: Mutex::new(taken),
        })
    }

    /// Takes so much for a holder, who gives it back by dropping the share.
    ///
    /// # Errors
    /// There is not that much left for the holder or its group, or in all.
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
        self.add(&mut self.taken(), holder, amount);
        Share {
            quota: Arc::clone(self),
            holder,
            amount,
        }
    }

    /// How much a holder has.
    pub(in crate::http) fn taken_by(&self, holder: H) -> u64 {
        self.taken().by(holder)
    }

    /// True if a holder could take 1 once this other one has given 1 back; of `None` nothing is given back. This is for
    /// quotas without groups.
    pub(in crate::http) fn has_room_after(&self, other: Option<H>, holder: H) -> bool {
        match self.check(&self.taken(), holder, 1) {
            Ok(()) => true,
            Err(Full::Holder | Full::Group) => other == Some(holder),
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

    fn check(&self, taken: &Taken<H>, holder: H, more: u64) -> Result<(), Full> {
        let counted = self.counted(holder).zip([Full::Holder, Full::Group]);
        for ((holder, most), full) in counted {
            if taken.by(holder).saturating_add(more) > most {
                return Err(full);
            }
        }
        if taken.all.saturating_add(more) > self.all_max {
            return Err(Full::All);
        }
        Ok(())
    }

    fn add(&self, taken: &mut Taken<H>, holder: H, more: u64) {
        taken.all = taken.all.saturating_add(more);
        for (holder, _) in self.counted(holder) {
            let own = taken.by(holder).saturating_add(more);
            taken.each.insert(holder, own);
        }
    }

    fn give_back(&self, holder: H, amount: u64) {
        let mut taken = self.taken();
        taken.all -= amount;
        for (holder, _) in self.counted(holder) {
            match taken.by(holder).saturating_sub(amount) {
                0 => taken.each.remove(&holder),
                rest => taken.each.insert(holder, rest),
            };
        }
    }

    /// A holder, and then its group, with what each may have.
    fn counted(&self, holder: H) -> impl Iterator<Item = (H, u64)> {
        let group = (self.group_of)(holder).map(|group| (group, self.group_max));
        iter::once((holder, self.each_max)).chain(group)
    }

    fn taken(&self) -> MutexGuard<'_, Taken<H>> {
        lock(&self.taken)
    }
}

impl<H: Copy + Eq + Hash> Taken<H> {
    fn by(&self, holder: H) -> u64 {
        self.each.get(&holder).copied().unwrap_or_default()
    }
}

/// Why there is nothing left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Full {
    /// The holder has its share.
    Holder,
    /// The holder's group has its share.
    Group,
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
            Self::Holder | Self::Group => Error::TooMany {
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
        self.quota.check(&taken, self.holder, more)?;
        self.quota.add(&mut taken, self.holder, more);
        self.amount += more;
        Ok(())
    }

    /// Says whether the share could be so large now.
    ///
    /// # Errors
    /// As [`Quota::take`].
    pub(in crate::http) fn could_grow_to(&self, amount: u64) -> Result<(), Full> {
        let more = amount.saturating_sub(self.amount);
        self.quota.check(&self.quota.taken(), self.holder, more)
    }
}

impl<H: Copy + Eq + Hash> Drop for Share<H> {
    fn drop(&mut self) {
        self.quota.give_back(self.holder, self.amount);
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

    #[test]
    fn who_belongs_together_takes_no_more_together_than_a_group_may() {
        let quota = Quota::with_groups(9, 3, 5, |holder: u8| (holder < 10).then_some(100));
        let one = quota.take(1, 3).unwrap();
        let mut two = quota.take(2, 2).unwrap();
        assert_eq!(two.grow_to(3), Err(Full::Group));
        assert_eq!(two.could_grow_to(3), Err(Full::Group));
        assert_eq!(quota.take(3, 1).unwrap_err(), Full::Group);
        assert_eq!(quota.take(1, 1).unwrap_err(), Full::Holder);
        let others = [10, 11].map(|holder| quota.take(holder, 2).unwrap());
        assert_eq!(quota.take(12, 1).unwrap_err(), Full::All);
        drop(one);
        assert_eq!(two.grow_to(3), Ok(()));
        let three = quota.take_beyond(3, 3);
        assert_eq!(quota.take(4, 1).unwrap_err(), Full::Group);
        drop((two, three, others));
        let taken = quota.taken();
        assert_eq!((taken.all, taken.each.len()), (0, 0));
    }
}
