//! Removing what no state leads to, while others save. Why that is safe: [`crate::store::sqlite`] and
//! `objects-layout.md`, "Collection".

mod kept_by;
mod mark;
mod records;
mod retention;
mod roots;
mod weigh;

use std::thread;
use std::time::{Duration, Instant};

use super::Projects;
use crate::store::sqlite::{Amount, Collection, Pace, Space, SqliteStore, Swept};
use crate::store::{Result, StoreError};
use mark::Kept;
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
    /// So many of so many states are marked.
    Marked(usize, usize),
    /// So much is removed.
    Removed(Amount),
    /// So many snapshots of a branch are pruned, or weighed.
    Pruning(u64),
}

/// What a collection did.
#[derive(Debug, Default)]
pub struct Collected {
    /// States that are kept: of heads and snapshots, each once.
    pub states: usize,
    /// What was removed.
    pub removed: Amount,
    /// Files of large blobs among it.
    pub files: u64,
    /// Digests and commit ids of states that are gone.
    pub records: u64,
    /// What became of the room.
    pub space: Space,
    /// What it found damaged.
    pub damage: Damage,
    /// What failed first since objects began to be removed. It kept the rest from nothing.
    pub failed: Option<StoreError>,
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
    /// can come back. Others may save and read meanwhile. `store` is the store of these projects.
    ///
    /// # Errors
    /// [`crate::repo::StoreError::Underway`] while another collection or a backup is under way; those of a
    /// damaged record or object that states are kept by: then nothing is removed. What fails once objects
    /// began to be removed is told by [`Collected::failed`].
    ///
    /// # Limits
    /// Memory of a bit for each object, 32 bytes for each head and snapshot, and 64 MiB.
    pub fn collect(
        &self,
        store: &SqliteStore,
        patience: Patience,
        mut step: impl FnMut(CollectionStep),
    ) -> Result<Collected> {
        let collection = store.begin_collection(Pace::new(patience.pause_times))?;
        let read = Instant::now();
        let roots = Roots::read(store)?;
        let states = roots.heads.len() + roots.old.len();
        let kept = Kept::mark(store, self.nodes(), &roots, |marked| {
            step(CollectionStep::Marked(marked, states));
        })?;
        thread::sleep(patience.readers_wait.saturating_sub(read.elapsed()));
        let (mut live, mut old) = (Amount::default(), Amount::default());
        let weigh = |row, bytes| {
            if kept.live.has(row) {
                live.add(bytes);
            } else {
                old.add(bytes);
            }
        };
        let swept = collection.sweep(&kept.all, weigh, |removed| {
            step(CollectionStep::Removed(removed));
        });
        let Swept {
            removed,
            unindexed,
            failed,
        } = swept;
        let (is_swept, mut failed) = (failed.is_none(), failed);
        let damage = Damage {
            lost: kept.lost,
            unindexed,
        };
        let files = if is_swept && damage == Damage::default() {
            or_note(collection.sweep_files(), &mut failed)
        } else {
            0
        };
        let records = records::remove_gone(self.store().as_ref(), store, &collection);
        let records = or_note(records, &mut failed);
        or_note(self.pack_audit_of(&collection), &mut failed);
        let space = or_note(collection.give_back(), &mut failed);
        collection.finish()?;
        if is_swept {
            let folder = store.data_folder();
            folder.note_collection(self.clock().now(), live.bytes, old.bytes)?;
        }
        Ok(Collected {
            states,
            removed,
            files,
            records,
            space,
            damage,
            failed,
        })
    }

    /// Packs what is not new of the audit log, at the pace of a collection.
    fn pack_audit_of(&self, collection: &Collection<'_>) -> Result<()> {
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
