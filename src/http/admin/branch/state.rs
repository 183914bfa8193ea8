//! The state that a change left a branch in.

use serde::Serialize;

use crate::base::limits::TOLD_COMMIT_FILES_MAX;
use crate::repo;
use crate::repo::{BranchDigest, Revision};

/// A state by its ids, which are `null` where it takes longer to compute them than the change took.
#[derive(Debug, Serialize)]
pub(super) struct StateJson {
    commit_id: Option<String>,
    short_id: Option<String>,
    /// True if the branch was in this state before.
    unchanged: bool,
}

impl StateJson {
    /// A state with its digest.
    pub(super) fn new(digest: Option<&BranchDigest>, unchanged: bool) -> Self {
        Self {
            commit_id: digest.map(|digest| digest.commit_id().to_owned()),
            short_id: digest.map(|digest| digest.short_id().to_owned()),
            unchanged,
        }
    }
}

/// The digest of the state after a change, but of a large branch only if the store keeps it already, and of none that
/// cannot be read now: the change is made all the same.
pub(super) fn told_digest(revision: &Revision) -> Option<BranchDigest> {
    if revision.totals().files <= TOLD_COMMIT_FILES_MAX {
        digest_after_change(revision)
    } else {
        known(revision.kept_digest()).flatten()
    }
}

/// The digest of the state after a change, however long that takes; none where it cannot be read now.
pub(super) fn digest_after_change(revision: &Revision) -> Option<BranchDigest> {
    known(revision.digest())
}

fn known<T>(read: repo::Result<T>) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(%error, "a change is told of without its commit id"))
        .ok()
}
