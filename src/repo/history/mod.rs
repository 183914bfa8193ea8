//! The history of a branch: its snapshots, and what they tell.

mod all;
mod change;
mod change_cache;
mod commits;
mod last_change;
mod line_counts;
mod merge_base;
mod newer;
mod of_path;
mod path_commits;
mod path_search;
mod path_walk;
mod snapshot;
mod step_cache;
mod steps;

pub use all::AllCommits;
pub use change::{Change, changed_files};
pub use change_cache::LineCounts;
pub(super) use change_cache::{CountedChanges, LastChanges};
pub(super) use commits::end_of_search_ms;
pub use commits::{Commit, Commits, EveryState};
pub use merge_base::merge_base;
pub use of_path::ChangesPage;
pub use path_commits::PathCommits;
pub use snapshot::Snapshot;
pub(super) use step_cache::StepCache;
