//! All projects of a store, and what they share.

use std::sync::Arc;

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::branch_states::LastLooks;
use super::count_limits::CountLimits;
use super::digests::Digests;
use super::history::{CountedChanges, LastChanges, StepCache};
use super::overview::Overviews;
use super::resolve::{AbsentIds, EnteredSnapshots};
use super::save::queue::SaveQueue;
use super::steady_clock::SteadyClock;
use super::tallies::Saves;
use super::upload::hashing::HashSlots;
use super::upload::{NewFile, Upload};
use super::validation::check::Validation;
use super::{Error, Permit, Result};
use crate::base::cache::CacheUse;
use crate::base::clock::Clock;
use crate::base::digest::byte_count;
use crate::base::limits::{BRANCH_NUMBERS_KEPT, HASH_SLOTS, INLINE_BYTES_MAX};
use crate::base::repo_id::RepoId;
use crate::manifest::Nodes;
use crate::manifest::git::TreeIds;
use crate::object::key;
use crate::object::record::ProjectRecord;
use crate::store::background_writes::BackgroundWrites;
use crate::store::objects::Objects;
use crate::store::{Batch, Expect, Scan, Store, Versioned};

/// All projects of a store. A cheap handle: clones share everything.
#[derive(Clone, Debug)]
pub struct Projects {
    pub(super) shared: Arc<Shared>,
    owner_key: Option<fn(u64) -> String>,
    pub(super) count_limits: CountLimits,
    /// See [`Projects::permitted_by`].
    pub(super) permit: Permit,
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
    pub(super) absent_ids: AbsentIds,
    pub(super) entered_snapshots: EnteredSnapshots,
    /// By branch, the number of the oldest snapshot that was met last.
    pub(super) first_snapshots: Cache<u64, u64>,
    /// By branch, how many snapshots there are from the oldest to the last that came from an older system.
    pub(super) kept_migrated: Cache<u64, ((u64, u64), u64)>,
    pub(super) overviews: Overviews,
    pub(super) last_looks: LastLooks,
    pub(super) last_changes: LastChanges,
    pub(super) steps: StepCache,
    pub(super) counted_changes: CountedChanges,
    pub(super) saves: SaveQueue,
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
                absent_ids: AbsentIds::default(),
                entered_snapshots: EnteredSnapshots::default(),
                first_snapshots: Cache::new(BRANCH_NUMBERS_KEPT),
                kept_migrated: Cache::new(BRANCH_NUMBERS_KEPT),
                overviews: Overviews::default(),
                last_looks: LastLooks::default(),
                last_changes: LastChanges::default(),
                steps: StepCache::default(),
                counted_changes: CountedChanges::default(),
                saves: SaveQueue::default(),
                hash_slots: HashSlots::new(HASH_SLOTS),
                save_counts: Saves::default(),
                validation: Validation::default(),
            }),
            owner_key: None,
            count_limits: CountLimits::NONE,
            permit: Permit::default(),
        }
    }

    /// The same, with owners who must exist: `key` gives the key of the record that an owner of this number has.
    /// Without it any number may own projects.
    #[must_use]
    pub fn with_owners(self, key: fn(u64) -> String) -> Self {
        Self {
            owner_key: Some(key),
            ..self
        }
    }

    /// The same, with so many projects and branches at most.
    #[must_use]
    pub fn with_count_limits(self, count_limits: CountLimits) -> Self {
        Self {
            count_limits,
            ..self
        }
    }

    /// The same, which makes projects and restores what was deleted only while this permits it.
    ///
    /// # Errors
    /// That then also ends in [`Error::Forbidden`] and [`Error::LoggedOut`].
    #[must_use]
    pub fn permitted_by(self, permit: Permit) -> Self {
        Self { permit, ..self }
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
        uses.push(self.shared.absent_ids.cache_use());
        uses.push(self.shared.entered_snapshots.cache_use());
        uses.extend(self.shared.steps.cache_uses());
        uses.push(self.shared.last_changes.cache_use());
        uses.extend(self.shared.counted_changes.cache_uses());
        let (firsts, migrated) = (&self.shared.first_snapshots, &self.shared.kept_migrated);
        uses.push(CacheUse::counted("first_snapshots", firsts));
        uses.push(CacheUse::counted("moved_snapshots", migrated));
        uses.push(self.shared.overviews.cache_use());
        uses.extend(self.shared.validation.cache_uses());
        uses
    }

    /// Has a batch committed only while the account that a project is to belong to is there.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is not there.
    pub(super) fn require_owner(&self, owner: u64, batch: &mut Batch) -> Result<()> {
        if let Some(key) = self.owner_key.map(|key| key(owner)) {
            let gone = "the account that would own the project is not there any more";
            let record = self.store().record(&key)?;
            let record = record.ok_or_else(|| Error::invalid(gone))?;
            batch.expect((key, Expect::Version(record.version)));
        }
        Ok(())
    }

    /// Has a batch bring a project that has its number already to an owner: it writes the counter of
    /// projects, as a new project does, by which [`Projects::owned_for`] knows that one came.
    ///
    /// # Errors
    /// As [`Projects::require_owner`].
    pub(super) fn come_to(&self, owner: u64, batch: &mut Batch) -> Result<()> {
        self.require_owner(owner, batch)?;
        let (expect, last) = self.last_number()?;
        batch.write(key::PROJECT_COUNTER.to_owned(), expect, &last);
        Ok(())
    }

    /// The identifiers of the projects of an owner, in byte order. Has a batch committed only if none has
    /// come to anybody since, so that one which removes an owner leaves nothing without.
    pub fn owned_for(&self, owner: u64, batch: &mut Batch) -> Result<Vec<RepoId>> {
        // First: what comes while the projects are read is noticed, too.
        let (expect, _) = self.last_number()?;
        let counter = key::PROJECT_COUNTER.to_owned();
        batch.expected.push((counter, expect));
        // Not those that are kept in memory, which another process may have made older than the counter.
        let records = self.store().scan(Scan::prefix(key::PROJECTS))?;
        let mut owned = Vec::new();
        for record in records {
            let project = record.decode::<ProjectRecord>()?.value;
            owned.extend((project.owner == owner).then(|| project.repo_id.clone()));
        }
        owned.sort();
        Ok(owned)
    }

    fn last_number(&self) -> Result<(Expect, u64)> {
        let last = self.store().value::<u64>(key::PROJECT_COUNTER)?;
        let expect = last.as_ref().map_or(Expect::Absent, Versioned::expect);
        Ok((expect, last.map_or(0, |last| *last.value)))
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
