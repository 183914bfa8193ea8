//! Projects and what can be done with them: branches, saves, snapshots, rollback, history.
//!
//! This layer never asks who is calling. An owner is a number and an actor is a text to it; who may
//! hold a [`Project`] or a [`ProjectWriter`] is decided above.

mod branch;
mod diff;
mod digests;
mod error;
mod export;
mod find_blob;
mod history;
mod import;
mod listing;
mod patch;
mod project;
mod records;
mod resolve;
mod revision;
mod save;
mod upload;
mod writer;

use std::sync::Arc;

pub use branch::{Branch, BranchNames};
pub use diff::{ChangeKind, FileDifference, diff, diff_at_most};
pub use digests::BranchDigest;
pub use error::{Error, Missing, Result};
pub use export::export;
pub use history::{Commit, Commits, Snapshot, merge_base};
pub use import::{ImportReport, ImportStep};
pub use listing::Listing;
pub use patch::{Patch, patch, patch_names, text_diff};
pub use project::Project;
pub use revision::{Content, EntryKind, FileView, Revision, RevisionId, TreeEntry};
pub use save::{Applied, BatchAction, Condition, RolledBack, Saved};
pub use upload::{NewFile, Upload};
pub use writer::ProjectWriter;

pub use crate::object::node::Totals;
pub use crate::object::record::Operation;
pub use crate::store::buffer::Block;
pub use crate::store::{Body, LargeBody, StoreError};

use crate::base::clock::Clock;
use crate::base::limits::HASH_SEATS;
use crate::manifest::Nodes;
use crate::manifest::git::TreeIds;
use crate::store::Store;
use crate::store::objects::Objects;
use digests::Digests;
use history::LastChanges;
use save::JobLanes;
use upload::hashing::Seats;

/// All projects of a store. A cheap handle: clones share everything.
#[derive(Clone, Debug)]
pub struct Projects {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    nodes: Arc<Nodes>,
    tree_ids: TreeIds,
    digests: Digests,
    last_changes: LastChanges,
    lanes: JobLanes,
    seats: Seats,
}

impl Projects {
    /// Opens the projects of a store.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let objects = Arc::new(Objects::new(Arc::clone(&store)));
        let nodes = Arc::new(Nodes::new(objects));
        let digests = Digests::new(Arc::clone(&nodes));
        let tree_ids = TreeIds::default();
        let lanes = JobLanes::default();
        Self {
            shared: Arc::new(Shared {
                store,
                clock,
                nodes,
                tree_ids,
                digests,
                last_changes: LastChanges::default(),
                lanes,
                seats: Seats::new(HASH_SEATS),
            }),
        }
    }

    /// The store, in which the layers above keep records of their own.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The nodes of all trees.
    pub fn nodes(&self) -> &Arc<Nodes> {
        &self.shared.nodes
    }
}
