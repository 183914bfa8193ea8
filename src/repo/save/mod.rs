//! Changes of a branch, and how they are committed.
//!
//! [`condition`] says what must hold before, [`prove`] holds a change against the rules of its project,
//! [`queue`] lets one caller commit for all that wait, [`apply`] makes the new head from their changes, and
//! [`rebase`] brings an import up to date that was prepared outside of the queue.

pub(super) mod apply;
mod batch;
mod condition;
pub(super) mod date;
mod missing;
pub(super) mod prove;
pub(super) mod queue;
pub(super) mod rebase;

use std::sync::Arc;

use super::upload::NewFile;
use super::validation::check::Proofs;
use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::{ManifestId, NodeId};
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::node::Totals;
use crate::repo::Permit;
use crate::store::Version;
pub use condition::Condition;
use rebase::PreparedImport;

/// One change of a batch. A condition is about the file as the changes before it left it.
#[derive(Clone, Debug)]
pub enum BatchAction {
    /// A new file; there must be none.
    Create(FilePath, NewFile),
    /// New bytes for a file that is there.
    Update(FilePath, NewFile, Condition),
    /// A file, whether there is one or not; `true` marks it executable, `None` keeps the mode.
    Put(FilePath, NewFile, Option<bool>),
    /// A file that exists is deleted, or a folder with all that is below it. A folder has no tag, so only
    /// no condition holds of it.
    Delete(FilePath, Condition),
    /// A file that exists moves to another path, where there must be nothing, and may get new bytes; or a
    /// folder with all that is below it moves.
    Move {
        /// From here.
        from: FilePath,
        /// To here.
        to: FilePath,
        /// The new bytes, if any.
        file: Option<NewFile>,
        /// What must hold of the file that moves.
        condition: Condition,
    },
}

impl BatchAction {
    /// The path that it saves or moves to.
    pub fn puts(&self) -> Option<&FilePath> {
        match self {
            Self::Create(path, _) | Self::Update(path, ..) | Self::Put(path, ..) => Some(path),
            Self::Move { to, .. } => Some(to),
            Self::Delete(..) => None,
        }
    }

    /// The bytes that it brings.
    fn file(&self) -> Option<&NewFile> {
        match self {
            Self::Create(_, file) | Self::Update(_, file, _) | Self::Put(_, file, _) => Some(file),
            Self::Move { file, .. } => file.as_ref(),
            Self::Delete(..) => None,
        }
    }
}

/// A change of a branch that is not made yet.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Change {
    Put {
        path: FilePath,
        file: NewFile,
        condition: Condition,
    },
    Delete {
        path: FilePath,
        condition: Condition,
    },
    DeleteFolder {
        path: FilePath,
    },
    Batch {
        actions: Vec<BatchAction>,
    },
    Rollback {
        to: SnapshotVersion,
        /// What is restored; everything where there is none.
        paths: Vec<FilePath>,
    },
    Import {
        import: PreparedImport,
        /// When it counts as made; without it, when it is.
        date: Option<Timestamp>,
    },
}

impl Change {
    /// The bytes that it brings.
    pub(in crate::repo) fn files(&self) -> Vec<&NewFile> {
        match self {
            Self::Put { file, .. } => vec![file],
            Self::Batch { actions } => actions.iter().filter_map(BatchAction::file).collect(),
            Self::Delete { .. }
            | Self::DeleteFolder { .. }
            | Self::Rollback { .. }
            | Self::Import { .. } => Vec::new(),
        }
    }

    /// True if it adds nothing: then it may be made where there is no room for more.
    pub(super) fn only_deletes(&self) -> bool {
        match self {
            Self::Delete { .. } | Self::DeleteFolder { .. } => true,
            Self::Batch { actions } => {
                let mut actions = actions.iter();
                actions.all(|action| matches!(action, BatchAction::Delete(..)))
            }
            Self::Put { .. } | Self::Rollback { .. } | Self::Import { .. } => false,
        }
    }
}

/// A change and who makes it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Job {
    /// The name that the branch must have: under it somebody asked for the change.
    pub(in crate::repo) branch: BranchName,
    pub(in crate::repo) actor: Actor,
    pub(in crate::repo) permit: Permit,
    /// Why, as histories show it.
    pub(in crate::repo) message: Option<String>,
    /// The state that the branch must be in; a branch in another is a conflict.
    pub(in crate::repo) head: Option<ManifestId>,
    pub(in crate::repo) change: Arc<Change>,
    pub(in crate::repo) proven: Proven,
}

/// What a change brings along for the rules of its project.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Proven {
    /// This was proven of its files; and all was, if it is still this change.
    These(Proofs, Option<WholeChange>),
    /// It passes over the rules.
    PassesOver,
}

/// A change of a tree, under the rules of a version of its project's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::repo) struct WholeChange {
    pub(in crate::repo) rules: Version,
    pub(in crate::repo) old: NodeId,
    pub(in crate::repo) new: NodeId,
}

/// A change that was made.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Outcome {
    /// The snapshot taken just before.
    pub(in crate::repo) snapshot: SnapshotVersion,
    /// True for a saved file that was not there before.
    pub(in crate::repo) created: bool,
    /// True if the new state is the old one.
    pub(in crate::repo) unchanged: bool,
    /// The new state.
    pub(in crate::repo) manifest: ManifestId,
    /// Its totals.
    pub(in crate::repo) totals: Totals,
}
