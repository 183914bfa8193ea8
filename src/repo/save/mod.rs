//! Changes of a branch, and how they are committed.
//!
//! [`queue`] lets one caller commit for all that wait, [`apply`] makes the new head from their changes,
//! and [`rebase`] brings an import up to date that was prepared outside of the queue.

pub(super) mod apply;
pub(super) mod queue;
pub(super) mod rebase;

use super::upload::NewFile;
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::node::Totals;
use rebase::PreparedImport;

/// What must hold of the file for a change to be made (`If-Match`, `If-None-Match`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// The file is there, and its entity tag is one of these (`*` for any).
    IfMatch(Vec<String>),
    /// There is no file.
    IfAbsent,
}

/// One change of a batch.
#[derive(Clone, Debug)]
pub enum BatchAction {
    /// A new file; there must be none.
    Create(FilePath, NewFile),
    /// New bytes for a file that is there.
    Update(FilePath, NewFile),
    /// A file, whether there is one or not; `true` marks it executable, `None` keeps the mode.
    Put(FilePath, NewFile, Option<bool>),
    /// A file that exists is deleted.
    Delete(FilePath),
    /// A file that exists moves to another path, where there must be none, and may get new bytes.
    Move {
        /// From here.
        from: FilePath,
        /// To here.
        to: FilePath,
        /// The new bytes, if any.
        file: Option<NewFile>,
    },
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
    Batch {
        actions: Vec<BatchAction>,
        message: Option<String>,
    },
    Rollback {
        to: SnapshotVersion,
        path: Option<FilePath>,
    },
    Import(PreparedImport),
}

/// A change and who makes it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Job {
    pub(in crate::repo) actor: String,
    pub(in crate::repo) change: Change,
}

/// A change that was made.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Outcome {
    /// The snapshot taken just before.
    pub(in crate::repo) snapshot: SnapshotVersion,
    /// True for a saved file that was not there before.
    pub(in crate::repo) created: bool,
    /// The new state.
    pub(in crate::repo) manifest: ManifestId,
    /// Its totals.
    pub(in crate::repo) totals: Totals,
}
