//! The history of a branch: its snapshots, and what they tell.

mod commits;
mod last_change;
mod shared;
mod snapshot;

pub use commits::{Commit, Commits};
pub(super) use last_change::LastChanges;
pub use shared::merge_base;
pub use snapshot::Snapshot;
