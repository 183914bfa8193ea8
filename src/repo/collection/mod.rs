//! Removing what no state leads to, while others save. Why that is safe: [`crate::store::collection`]
//! and `objects-layout.md`, "Collection".

mod kept_by;
mod mark;
mod records;
mod retention;
mod roots;
mod weigh;

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use super::Projects;
use crate::store::collection::{
    Amount, Collectable, Collection, KeptByCollection, Need, Pace, Space, Swept,
};
use crate::store::{Result, StoreError};
use mark::Marked;
pub use retention::{Pruned, Pruning};
use roots::Roots;
pub use weigh::Weights;

/// What a collection leaves to others.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long before anything is removed the states were read that are kept: who reads a state that is
    /// no longer kept has so long to end.
    pub readers_wait: Duration,
    /// How many times as long as a transaction nothing is done after it, while others save.
    pub pause_times: u32,
}

impl Default for Patience {
    /// Two seconds, and a fortieth of the time.
    fn default() -> Self {
        Self {
            readers_wait: Duration::from_secs(2),
            pause_times: 40,
        }
    }
}

/// What a collection is doing.
#[derive(Clone, Copy, Debug)]
pub enum CollectionStep {
    /// So many of so many states are marked, where one that several heads or snapshots hold counts as often.
    Marked(usize, usize),
    /// So much is removed.
    Removed(Amount),
    /// So many bytes of the database are given back.
    GivenBack(u64),
    /// So many snapshots of a branch are pruned, or weighed.
    Pruning(u64),
}

/// What a collection did.
#[derive(Debug, Default)]
pub struct Collected {
    /// States that are kept: of heads and snapshots, each once. Of a collection that ended before it had marked them,
    /// as often as they are named.
    pub states: usize,
    /// What was removed.
    pub removed: Amount,
    /// Files of large blobs among it.
    pub files: u64,
    /// Digests and commit ids of states that are gone.
    pub records: u64,
    /// What became of the room; `None` where it ended before anything was removed, or failed in it.
    pub space: Option<Space>,
    /// What it found damaged.
    pub damage: Damage,
    /// What failed first since objects began to be removed. It kept the rest from nothing.
    pub failed: Option<StoreError>,
    /// True if a step asked to end: then the next collection has more to remove.
    pub stopped: bool,
}

/// Damage that a collection makes no worse: where there is any, no file of a blob is removed, so that who
/// mends the index finds all as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many entries of trees name a file that is lost.
    pub lost: u64,
    /// How many objects were left because the index does not lead to them.
    pub unindexed: u64,
}

impl Projects {
    /// Removes every object that no head and no snapshot leads to, also of branches that were deleted and
    /// can come back. Others may save and read meanwhile. `store` is the store of these projects. A step may
    /// ask to end, between two states, before anything is removed, and between two transactions that remove objects or
    /// give room back.
    ///
    /// # Errors
    /// [`crate::repo::StoreError::Underway`] while another collection or a backup is under way; those of a
    /// damaged record or object that states are kept by: then nothing is removed. What fails once objects
    /// began to be removed is told by [`Collected::failed`].
    ///
    /// # Limits
    /// Memory of two bits for each object over the embedded engine, of up to 80 bytes for each that is kept over
    /// PostgreSQL, 32 bytes for each head and snapshot, and 64 MiB.
    pub fn collect<S: Collectable>(
        &self,
        store: &S,
        patience: Patience,
        mut step: impl FnMut(CollectionStep) -> ControlFlow<()>,
    ) -> Result<Collected> {
        let collection = store.begin_collection(Pace::new(patience.pause_times))?;
        let read = Instant::now();
        let roots = Roots::read(store)?;
        let named = roots.count();
        let mut kept = Marked::mark(store, self.nodes(), &roots, |marked| {
            step(CollectionStep::Marked(marked, named))
        })?;
        let states = kept.as_ref().map_or(named, |kept| kept.states);
        if kept.is_some() {
            thread::sleep(patience.readers_wait.saturating_sub(read.elapsed()));
            // Whoever asked to end meanwhile keeps all: few objects go in one transaction.
            if step(CollectionStep::Marked(named, named)).is_break() {
                kept = None;
            }
        }
        let Some(kept) = kept else {
            collection.finish()?;
            return Ok(Collected {
                states,
                stopped: true,
                ..Collected::default()
            });
        };
        let (mut live, mut old) = (Amount::default(), Amount::default());
        let weigh = |need, bytes| match need {
            Need::Live => live.add(bytes),
            Need::Old => old.add(bytes),
        };
        let swept = collection.sweep(&kept.marks, weigh, |removed| {
            step(CollectionStep::Removed(removed))
        });
        let Swept {
            removed,
            unindexed,
            lost,
            failed,
            stopped,
        } = swept;
        let (is_swept, mut failed) = (failed.is_none() && !stopped, failed);
        let damage = Damage {
            lost: kept.lost + lost,
            unindexed,
        };
        let mut collected = Collected {
            states,
            removed,
            damage,
            stopped,
            ..Collected::default()
        };
        if !stopped {
            if is_swept && damage == Damage::default() {
                collected.files = or_note(collection.sweep_files(), &mut failed);
            }
            let records = records::remove_gone(self.store().as_ref(), store, &collection);
            collected.records = or_note(records, &mut failed);
            or_note(self.pack_audit_of(&collection), &mut failed);
        }
        // Also of one that was told to end: some went while objects were removed.
        let space = collection.give_back(|bytes| {
            if stopped {
                return ControlFlow::Break(());
            }
            step(CollectionStep::GivenBack(bytes))
        });
        collected.space = or_note(space.map(Some), &mut failed);
        collected.stopped |= collected.space.is_some_and(|space| space.stopped);
        collection.finish()?;
        if is_swept {
            store.note_collection(KeptByCollection {
                at: self.clock().now(),
                live_bytes: live.bytes,
                old_bytes: old.bytes,
            })?;
        }
        Ok(Collected {
            failed,
            ..collected
        })
    }

    /// Packs what is not new of the audit log, at the pace of a collection.
    fn pack_audit_of(&self, collection: &impl Collection) -> Result<()> {
        while let Some(batch) = self.audit_to_pack()? {
            match collection.commit(self.store().as_ref(), batch) {
                // Another packs it; on a full disk what was removed must be given back first.
                Err(StoreError::Conflict { .. } | StoreError::Full) => break,
                done => done?,
            }
        }
        Ok(())
    }
}

/// The outcome of a step, or nothing: what fails is noted and keeps the steps behind it from nothing.
fn or_note<T: Default>(outcome: Result<T>, failed: &mut Option<StoreError>) -> T {
    outcome.unwrap_or_else(|error| {
        tracing::error!(%error, "a part of the collection failed");
        failed.get_or_insert(error);
        T::default()
    })
}
