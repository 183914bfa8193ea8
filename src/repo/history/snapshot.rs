//! The snapshots of a branch, and the branches that are or were in a state.

use crate::base::clock::Timestamp;
use crate::base::limits::{PROJECT_SNAPSHOTS_SEARCHED_MAX, SNAPSHOTS_SEARCHED_MAX};
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::key;
use crate::object::record::{Operation, SnapshotRecord};
use crate::repo::{Branch, Project, Result, Revision};
use crate::store::Scan;

/// A saved state of a branch, and what replaced it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its version.
    pub version: SnapshotVersion,
    /// The state.
    pub revision: Revision,
    /// When the branch had come into this state.
    pub reached_at: Timestamp,
    /// Who had brought it there.
    pub reached_by: String,
    /// When the snapshot was taken, because the state was replaced.
    pub created_at: Timestamp,
    /// Who replaced it.
    pub created_by: String,
    /// What replaced it.
    pub operation: Operation,
    /// The path that was changed, where it was one.
    pub path: Option<String>,
    /// The message of a batch.
    pub message: Option<String>,
}

impl Branch {
    /// Snapshots, newest first: those before `before`, at most `limit`; without either, all. None that
    /// is newer than the head: a save is seen in both or in none.
    pub fn history(
        &self,
        before: Option<SnapshotVersion>,
        limit: Option<usize>,
    ) -> Result<Vec<Snapshot>> {
        let prefix = key::snapshots(self.number);
        let beyond = self.snapshot_count().saturating_add(1);
        let before = before.map_or(beyond, |before| beyond.min(before.number()));
        let scan = Scan {
            after: Some(&key::snapshot(self.number, before)),
            descending: true,
            limit: limit.unwrap_or(usize::MAX),
            ..Scan::prefix(&prefix)
        };
        let records = self.project.projects.store().scan(scan)?;
        records
            .iter()
            .map(|record| self.snapshot_of(record))
            .collect()
    }

    pub(super) fn snapshot_of(&self, record: &crate::store::Record) -> Result<Snapshot> {
        let snapshot = record.decode::<SnapshotRecord>()?.value;
        let (manifest, totals) = (snapshot.manifest, snapshot.totals.into());
        let version = SnapshotVersion::new(record.number());
        let revision = Revision::new(&self.project, self.number, manifest, totals).fixed();
        Ok(Snapshot {
            version,
            revision: revision.at(version.number()),
            reached_at: snapshot.reached_at,
            reached_by: snapshot.reached_by.clone(),
            created_at: snapshot.created_at,
            created_by: snapshot.created_by.clone(),
            operation: snapshot.operation,
            path: snapshot.path.clone(),
            message: snapshot.message.clone(),
        })
    }
}

impl Project {
    /// The branches that are or were in a state, in the byte order of their names.
    ///
    /// # Limits
    /// In other branches than the state's own the newest 1,000 snapshots are searched, and after 100,000
    /// of all of them only heads.
    pub fn branches_with(&self, state: &Revision) -> Result<Vec<Branch>> {
        let mut left = PROJECT_SNAPSHOTS_SEARCHED_MAX;
        let mut found = Vec::new();
        for branch in self.branches()? {
            if branch.head().id() == state.id() || branch.head().branch == state.branch {
                found.push(branch);
                continue;
            }
            let history = branch.history(None, Some(left.min(SNAPSHOTS_SEARCHED_MAX)))?;
            left -= history.len();
            if history.iter().any(|it| it.revision.id() == state.id()) {
                found.push(branch);
            }
        }
        Ok(found)
    }
}
