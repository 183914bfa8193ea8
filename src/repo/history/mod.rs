//! The history of a branch: its snapshots, and what they tell.

mod change_cache;
mod commits;
mod last_change;
mod shared;
mod snapshot;

pub(super) use change_cache::LastChanges;
pub use commits::{Commit, Commits, EveryState};
pub use shared::merge_base;
pub use snapshot::Snapshot;
