//! Projects and what can be done with them: branches, saves, snapshots, rollback, history.
//!
//! This layer never asks who is calling. An owner is a number and an actor is a text to it; who may
//! hold a [`Project`] or a [`ProjectWriter`] is decided above.

pub mod audit;
mod branch;
mod branch_states;
mod collection;
mod count_limits;
mod deleted;
mod diff;
mod digests;
mod error;
mod execution;
mod export;
mod history;
mod import;
mod listing;
mod message;
mod migration;
mod overview;
mod patch;
mod project;
mod projects;
mod resolve;
mod revision;
mod save;
mod steady_clock;
mod tallies;
mod upload;
mod validation;
mod writer;

pub use branch::{Branch, BranchNames};
pub use branch_states::{BranchChanges, BranchStates};
pub use collection::{Collected, CollectionStep, Damage, Patience, Pruned, Pruning, Weights};
pub use count_limits::CountLimits;
pub use deleted::{Deleted, DeletedId, Forgotten, ShownDeleted};
pub use diff::{ChangeKind, Comparison, FileDifference, Renames, Survey, diff, diff_at_most};
pub use digests::{BranchDigest, Published};
pub use error::{Error, Missing, Result, optional};
pub use execution::Execution;
pub use export::{ExportError, export};
pub use history::{
    AllCommits, Change, ChangesPage, Commit, Commits, EveryState, LineCounts, PathCommits,
    Snapshot, changed_files, merge_base,
};
pub use import::{
    DATA_FOLDER_NAMES, DigestStep, Exclude, FileLimit, FolderDigest, ImportChanges, ImportFolder,
    ImportOptions, ImportPreview, ImportReport, ImportStep, LyingKind, ReadFolder, Skip,
};
pub use listing::{LastEntry, Listing, Matches};
pub use message::{Message, MessageError};
pub use migration::{Author, BranchMove, Laid, OldSnapshot, OldState, Standing};
pub use overview::Overview;
pub use patch::{Patch, patch, patch_names, text_diff};
pub use project::Project;
pub use projects::Projects;
pub use resolve::Past;
pub use revision::{Content, EntryKind, FileView, Revision, RevisionId, TreeEntry};
pub use save::{BatchAction, Condition};
pub use steady_clock::{SteadyClock, TICK_S};
pub use tallies::Saves;
pub use upload::chunks::Chunks;
pub use upload::{NewFile, Upload};
pub use validation::{Broken, BrokenPage, Place, Rule, ShownBroken};
pub use writer::{Applied, Permit, ProjectWriter, Saved};

pub use crate::manifest::diff::ChangeCounts;
pub use crate::object::node::Totals;
pub use crate::object::record::{Check, Operation, Retention};
pub use crate::store::buffer::Block;
pub use crate::store::collection::{Amount, Space};
pub use crate::store::{Body, Changed, ExternalSigns, LargeBody, StoreError, Watch};
