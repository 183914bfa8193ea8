//! How much of a store is needed by what.

use super::mark::Kept;
use super::roots::Roots;
use super::{CollectionStep, Projects};
use crate::store::Result;
use crate::store::sqlite::{Amount, SqliteStore};

/// The objects of a store, by what needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// Those that a head leads to.
    pub live: Amount,
    /// Those that only older states lead to.
    pub old: Amount,
    /// Those that nothing leads to: a collection removes them.
    pub unreachable: Amount,
}

impl Projects {
    /// Weighs the objects, without those of imports under way. `store` is the store of these projects,
    /// and may be opened for reading only.
    ///
    /// # Errors
    /// As [`Projects::collect`].
    ///
    /// # Limits
    /// Memory as of [`Projects::collect`].
    pub fn weigh(
        &self,
        store: &SqliteStore,
        mut step: impl FnMut(CollectionStep),
    ) -> Result<Weights> {
        // In this order: what is put from here on is not counted.
        let last = store.collectable()?;
        let roots = Roots::read(store)?;
        let states = roots.heads.len() + roots.old.len();
        let kept = Kept::mark(store, self.nodes(), &roots, |marked| {
            step(CollectionStep::Marked(marked, states));
        })?;
        let mut weights = Weights::default();
        store.weigh([&kept.live, &kept.all], last, |bytes, marked| {
            let weight = match marked {
                [true, _] => &mut weights.live,
                [false, true] => &mut weights.old,
                [false, false] => &mut weights.unreachable,
            };
            weight.add(bytes);
        })?;
        Ok(weights)
    }
}
