//! Changes of a branch on their way to one commit.
//!
//! [`queue`] lets one caller commit for all that wait, [`apply`] makes the new head of their changes,
//! and [`rebase`] brings an import that was prepared outside of the queue up to date inside.

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
    /// A file that is there goes.
    Delete(FilePath),
    /// A file that is there takes another path, where there must be none, and perhaps new bytes.
    Move {
        /// From here.
        from: FilePath,
        /// To here.
        to: FilePath,
        /// The new bytes, if any.
        file: Option<NewFile>,
    },
}

/// A change on its way to a branch.
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
