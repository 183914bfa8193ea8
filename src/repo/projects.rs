//! All projects of a store, and what they share.

use std::sync::Arc;

use bytes::Bytes;

use super::Result;
use super::digests::Digests;
use super::history::{CountedChanges, LastChanges, StepCache};
use super::save::queue::SaveQueue;
use super::save::{Job, Outcome};
use super::steady_clock::SteadyClock;
use super::tallies::Saves;
use super::upload::hashing::HashSlots;
use super::upload::{NewFile, Upload};
use super::validation::check::Validation;
use crate::base::clock::Clock;
use crate::base::digest::byte_count;
use crate::base::limits::{HASH_SLOTS, INLINE_BYTES_MAX};
use crate::base::tally::CacheUse;
use crate::manifest::Nodes;
use crate::manifest::git::TreeIds;
use crate::store::Store;
use crate::store::background_writes::BackgroundWrites;
use crate::store::objects::Objects;

/// All projects of a store. A cheap handle: clones share everything.
#[derive(Clone, Debug)]
pub struct Projects {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    steady_clock: Arc<SteadyClock>,
    nodes: Arc<Nodes>,
    background: Arc<BackgroundWrites>,
    pub(super) tree_ids: TreeIds,
    pub(super) digests: Digests,
    pub(super) last_changes: LastChanges,
    pub(super) steps: StepCache,
    pub(super) counted_changes: CountedChanges,
    pub(super) saves: SaveQueue<Job, Outcome>,
    hash_slots: HashSlots,
    pub(super) save_counts: Saves,
    pub(super) validation: Validation,
}

impl Projects {
    /// Opens the projects of a store.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let objects = Arc::new(Objects::new(Arc::clone(&store)));
        let nodes = Arc::new(Nodes::new(objects));
        let background = Arc::new(BackgroundWrites::start(Arc::clone(&store)));
        let digests = Digests::new(Arc::clone(&nodes), Arc::clone(&background));
        let tree_ids = TreeIds::default();
        let steady_clock = Arc::new(SteadyClock::new(&clock, &store, &background));
        Self {
            shared: Arc::new(Shared {
                store,
                clock,
                steady_clock,
                nodes,
                background,
                tree_ids,
                digests,
                last_changes: LastChanges::default(),
                steps: StepCache::default(),
                counted_changes: CountedChanges::default(),
                saves: SaveQueue::default(),
                hash_slots: HashSlots::new(HASH_SLOTS),
                save_counts: Saves::default(),
                validation: Validation::default(),
            }),
        }
    }

    /// The store, in which the layers above keep records of their own.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Where small writes go that nobody waits for.
    pub fn background(&self) -> &Arc<BackgroundWrites> {
        &self.shared.background
    }

    /// The clock by which things expire.
    pub fn steady_clock(&self) -> &Arc<SteadyClock> {
        &self.shared.steady_clock
    }

    /// The machine's clock, which dates what is shown.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The nodes of all trees.
    pub fn nodes(&self) -> &Arc<Nodes> {
        &self.shared.nodes
    }

    /// Changes that were made since the start.
    pub fn save_counts(&self) -> &Saves {
        &self.shared.save_counts
    }

    /// What memory keeps of objects and of what is computed of them, and how often it was what was wanted.
    pub fn cache_uses(&self) -> Vec<CacheUse> {
        let mut uses = self.nodes().cache_uses();
        uses.push(self.shared.tree_ids.cache_use());
        uses.extend(self.shared.digests.cache_uses());
        uses.extend(self.shared.last_changes.cache_uses());
        uses.push(self.shared.steps.cache_use());
        uses.push(self.shared.counted_changes.cache_use());
        uses
    }

    /// Takes a body that is in memory already.
    pub fn new_file(&self, bytes: Bytes) -> Result<NewFile> {
        if bytes.len() <= INLINE_BYTES_MAX {
            return Ok(NewFile::inline(bytes));
        }
        let mut upload = self.upload(Some(byte_count(&bytes)));
        upload.write(&bytes)?;
        upload.finish()
    }

    /// Begins a body of `announced` bytes, or of unknown length.
    pub fn upload(&self, announced: Option<u64>) -> Upload {
        Upload::new(self.store(), &self.shared.hash_slots, announced)
    }
}
