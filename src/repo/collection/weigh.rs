//! How much of a store is needed by what.

use std::ops::ControlFlow;

use serde::Serialize;

use super::mark::Marked;
use super::roots::Roots;
use super::{CollectionStep, Projects};
use crate::store::Result;
use crate::store::collection::{Amount, Collectable, Need};

/// The objects of a store, by what needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
        store: &impl Collectable,
        mut step: impl FnMut(CollectionStep),
    ) -> Result<Weights> {
        // In this order: what is put from here on is not counted.
        let bound = store.collectable()?;
        let roots = Roots::read(store)?;
        let named = roots.count();
        let kept = Marked::mark(store, self.nodes(), &roots, |marked| {
            step(CollectionStep::Marked(marked, named));
            ControlFlow::Continue(())
        })?;
        let mut weights = Weights::default();
        let Some(kept) = kept else {
            // Nothing asks it to end.
            return Ok(weights);
        };
        store.weigh(&kept.marks, bound, |bytes, need| {
            let weight = match need {
                Some(Need::Live) => &mut weights.live,
                Some(Need::Old) => &mut weights.old,
                None => &mut weights.unreachable,
            };
            weight.add(bytes);
        })?;
        Ok(weights)
    }
}
