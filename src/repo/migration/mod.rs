//! Branches that are moved in with their history from an older system: old snapshots keep their numbers,
//! dates and authors.
//!
//! The folders are read as for an import; only what is written of them differs. A branch remembers the
//! last snapshot that moving in left it with ([`BranchRecord::migrated_snapshots`]): as long as it has no later one,
//! nobody has changed it here, and what is new in the old system can follow. Projects and branches are known
//! again by what they are called there, also where they were renamed here.

mod lay;
mod names;
mod standing;

pub use lay::{BranchMove, Laid};
pub use standing::Standing;

use crate::base::clock::Timestamp;
use crate::base::id::ManifestId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::manifest::Manifest;
#[cfg(doc)]
use crate::object::record::BranchRecord;
use crate::object::record::Operation;
use crate::repo::{Message, Revision};

/// A state of a branch that was read from a folder, see [`BranchMove::read`]. All it needs is in the
/// store, and is kept there as long as the [`BranchMove`] lives, and the state with which it has parts in common is
/// kept.
#[derive(Clone, Debug)]
pub struct OldState {
    id: ManifestId,
    manifest: Manifest,
    /// The state that has the parts which were not read.
    base: Option<Revision>,
}

/// When something came to be, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
}

/// A snapshot of the older system.
#[derive(Clone, Debug)]
pub struct OldSnapshot {
    /// Its version, which it keeps.
    pub version: SnapshotVersion,
    /// The state that it holds.
    pub state: OldState,
    /// When it was taken, and who replaced the state.
    pub replaced: Author,
    /// What replaced it; where nobody knows, it is told by what differs.
    pub operation: Option<Operation>,
    /// The path that was changed. For a save and a deletion it is kept only where nothing else differs.
    pub path: Option<String>,
    /// A message.
    pub message: Option<Message>,
}
