//! Which record keeps a state.

use crate::base::id::ManifestId;
use crate::object::key;
use crate::object::record::SnapshotRecord;
use crate::repo::{Branch, Result, Revision};
use crate::store::Expect;

/// Snapshots read at once.
const READ_AT_ONCE: usize = 256;

impl Revision {
    /// The record that keeps the state, and what to expect of it: a commit that names the state again
    /// must require that it is still kept. `None` if nothing keeps it.
    pub(in crate::repo) fn kept_by(&self) -> Result<Option<(String, Expect)>> {
        let Some(branch) = self.project.branch_by_number(self.branch)? else {
            return Ok(None);
        };
        if branch.record.manifest == self.manifest() {
            let key = key::branch(self.project.number(), branch.number);
            return Ok(Some((key, Expect::Version(branch.version))));
        }
        if let Some(place) = self.place()
            && let Some(kept) = self.in_snapshot(place)?
        {
            return Ok(Some(kept));
        }
        match self.newest_place(&branch)? {
            Some(place) => self.in_snapshot(place),
            None => Ok(None),
        }
    }

    /// The same state with its place in the history, so that [`Revision::kept_by`] need not look through the snapshots:
    /// where it was opened by its content and is kept, the newest.
    pub(in crate::repo) fn placed(self) -> Result<Self> {
        if self.place().is_some() {
            return Ok(self);
        }
        let Some(branch) = self.project.branch_by_number(self.branch)? else {
            return Ok(self);
        };
        let head = branch.head();
        let place = if head.manifest() == self.manifest() {
            head.place()
        } else {
            self.newest_place(&branch)?
        };
        Ok(match place {
            Some(place) => self.at(place),
            None => self,
        })
    }

    /// The version of the newest snapshot of its branch that holds the state.
    fn newest_place(&self, branch: &Branch) -> Result<Option<u64>> {
        let mut before = None;
        loop {
            let snapshots = branch.history(before, Some(READ_AT_ONCE))?;
            let same = |manifest: ManifestId| manifest == self.manifest();
            let found = snapshots.iter().find(|it| same(it.revision.manifest()));
            if let Some(found) = found {
                return Ok(Some(found.version.number()));
            }
            let Some(oldest) = snapshots.last() else {
                return Ok(None);
            };
            before = Some(oldest.version);
        }
    }

    /// The snapshot of this version, if it holds the state.
    fn in_snapshot(&self, version: u64) -> Result<Option<(String, Expect)>> {
        let key = key::snapshot(self.branch, version);
        let record = self
            .project
            .projects
            .store()
            .value::<SnapshotRecord>(&key)?;
        let kept = record.filter(|record| record.value.manifest == self.manifest());
        Ok(kept.map(|record| (key, record.expect())))
    }
}
