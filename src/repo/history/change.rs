//! The changes of a branch: each snapshot with the state that replaced the one it holds.

use std::collections::VecDeque;
use std::mem;

use super::commits::READ_AT_ONCE_MAX;
use super::snapshot::Snapshot;
use crate::base::cache::get_or_make;
use crate::base::limits::CHANGES_COUNTED_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::diff;
use crate::manifest::diff::ChangeCounts;
use crate::object::key;
use crate::repo::{Branch, Operation, Result, Revision};
use crate::store::Scan;

/// A change of a branch.
#[derive(Clone, Debug)]
pub struct Change {
    /// The snapshot taken before it, which says what was done.
    pub snapshot: Snapshot,
    /// The state after it: that of the next snapshot that there is, or the head.
    pub after: Revision,
}

/// Changes of a branch that were read ahead of who asks for them by their places.
#[derive(Debug, Default)]
pub(super) struct ChangesAhead {
    /// Newest first.
    read: VecDeque<Change>,
    /// So many were read at once.
    at_once: usize,
    /// So many of them were asked for.
    used: usize,
}

/// How many files differ between two states. It is counted once and kept in memory.
///
/// # Limits
/// `None` when more than 10,000 files have to be looked at. What one state has with its folder and the
/// other has not counts without that.
pub fn changed_files(before: &Revision, after: &Revision) -> Result<Option<ChangeCounts>> {
    if before.manifest() == after.manifest() {
        return Ok(Some(ChangeCounts::default()));
    }
    let known = &after.project.projects.shared.counted_changes.known;
    let key = (before.manifest(), after.manifest());
    get_or_make(known, &key, || {
        let (old, new) = (before.root()?, after.root()?);
        Ok(diff::counts(after.nodes(), old, new, CHANGES_COUNTED_MAX)?)
    })
}

impl Change {
    /// How many files it changed; `None` where that was not counted before, or is never.
    pub fn known_counts(&self) -> Option<ChangeCounts> {
        if !self.is_whole() {
            return None;
        }
        self.told_counts().or_else(|| {
            let shared = &self.after.project.projects.shared;
            let key = (self.snapshot.revision.manifest(), self.after.manifest());
            shared.counted_changes.known.get(&key).flatten()
        })
    }

    /// How many files it changed. `None` where the snapshots right after it are no longer there.
    ///
    /// # Limits
    /// As [`changed_files`].
    pub fn counts(&self) -> Result<Option<ChangeCounts>> {
        if !self.is_whole() {
            return Ok(None);
        }
        match self.told_counts() {
            Some(told) => Ok(Some(told)),
            None => changed_files(&self.snapshot.revision, &self.after),
        }
    }

    /// True if nothing lies between the two states.
    fn is_whole(&self) -> bool {
        self.after.place() == Some(self.snapshot.version.number() + 1)
    }

    /// How many files it changed, where that is known without a look into the trees: a save or a deletion with a path
    /// changed one.
    pub fn told_counts(&self) -> Option<ChangeCounts> {
        if !self.is_whole() {
            return None;
        }
        let (before, after) = (&self.snapshot.revision, &self.after);
        let none = ChangeCounts::default();
        if before.manifest() == after.manifest() {
            return Some(none);
        }
        self.snapshot.path.as_ref()?;
        let (old, new) = (before.totals().files, after.totals().files);
        match self.snapshot.operation {
            Operation::Save if new == old + 1 => Some(ChangeCounts { added: 1, ..none }),
            Operation::Save if new == old => Some(ChangeCounts {
                modified: 1,
                ..none
            }),
            Operation::Delete if new + 1 == old => Some(ChangeCounts { deleted: 1, ..none }),
            _ => None,
        }
    }
}

impl ChangesAhead {
    /// The change after the snapshot at a place, which is older than those that were asked for before; `None` if it was
    /// pruned. As long as half of what was read is used, the next time twice as much is.
    pub(super) fn at(&mut self, branch: &Branch, place: u64) -> Result<Option<Change>> {
        let is_newer = |change: &Change| change.snapshot.version.number() > place;
        while self.read.front().is_some_and(is_newer) {
            self.read.pop_front();
        }
        if self.read.is_empty() {
            self.at_once = if 2 * self.used < self.at_once {
                1
            } else {
                (2 * self.at_once).clamp(1, READ_AT_ONCE_MAX)
            };
            self.used = 0;
            self.read = branch.changes_from(place, self.at_once)?.into();
        }
        self.used += 1;
        let is_it = |change: &Change| change.snapshot.version.number() == place;
        if self.read.front().is_some_and(is_it) {
            Ok(self.read.pop_front())
        } else {
            Ok(None)
        }
    }
}

impl Branch {
    /// The changes from the newest on, or from the newest before a snapshot; at most `limit`.
    pub fn changes(
        &self,
        before: Option<SnapshotVersion>,
        limit: Option<usize>,
    ) -> Result<Vec<Change>> {
        let snapshots = self.history(before, limit)?;
        let Some(newest) = snapshots.first() else {
            return Ok(Vec::new());
        };
        let after = self.state_after(newest.version.number())?;
        Ok(linked(snapshots, after))
    }

    /// The changes from the one after the snapshot at a place on, or from the newest before it; at most `limit`. Mostly
    /// that takes one scan.
    fn changes_from(&self, place: u64, limit: usize) -> Result<Vec<Change>> {
        // With the snapshot that holds the state after it.
        let before = SnapshotVersion::new(place + 2);
        let snapshots = self.history(Some(before), Some(limit + 1))?;
        let mut snapshots = snapshots.into_iter().peekable();
        let after = match snapshots.next_if(|newest| newest.version.number() > place) {
            Some(next) => next.revision,
            None => self.state_after(place)?,
        };
        Ok(linked(snapshots.take(limit), after))
    }

    /// The state that is nearest after a place: that of the next snapshot that there is, or the head.
    pub(super) fn state_after(&self, place: u64) -> Result<Revision> {
        if place >= self.snapshot_count() {
            return Ok(self.head());
        }
        let prefix = key::snapshots(self.number);
        let next = self.project.projects.store().scan(Scan {
            after: Some(&key::snapshot(self.number, place)),
            limit: 1,
            ..Scan::prefix(&prefix)
        })?;
        match next.first() {
            Some(record) if record.number() <= self.snapshot_count() => {
                Ok(self.snapshot_of(record)?.revision)
            }
            _ => Ok(self.head()),
        }
    }
}

/// Each of some neighbouring snapshots, newest first, with the state after it: that of the first is given.
fn linked(snapshots: impl IntoIterator<Item = Snapshot>, mut after: Revision) -> Vec<Change> {
    let change = |snapshot: Snapshot| {
        let after = mem::replace(&mut after, snapshot.revision.clone());
        Change { snapshot, after }
    };
    snapshots.into_iter().map(change).collect()
}
