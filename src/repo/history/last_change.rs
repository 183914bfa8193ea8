//! Which state of a branch last changed a file.
//!
//! A snapshot says which path was changed right after it, so most of a history is passed without looking
//! into a tree; where it does not say, the file's entries are compared. What was found is kept with the
//! place in the history for which it holds: after further saves only those are looked at, and a file
//! that returns to an earlier content has changed again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::change_cache::{Found, LastChanges, Recent, Step};
use super::snapshot::Snapshot;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::SNAPSHOTS_SEARCHED_MAX;
use crate::base::may_block;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::{Nodes, lookup};
use crate::object::key;
use crate::object::record::SnapshotRecord;
use crate::repo::{BranchDigest, Operation, Result, Revision};

impl Revision {
    /// The commit of the state that last changed the file at this path, which is in this state. A
    /// branch that returned to an earlier state is in it where it was last.
    ///
    /// # Limits
    /// The newest 1,000 snapshots are searched; before them the oldest of those is the answer, and of a
    /// state that is older than they are its own commit.
    pub fn last_change(&self, path: &FilePath) -> Result<BranchDigest> {
        let shared = &self.project.projects.shared;
        let (changed, _) = shared.last_changes.find(self, path)?;
        let project = self.project.number();
        shared
            .digests
            .publish_id(project, self.branch, changed, false)
    }

    /// When the branch came into the state that last changed the file at this path, which is in this
    /// state, and who brought it there. `None` where that is longer ago than is searched, or was pruned.
    ///
    /// # Limits
    /// As [`Revision::last_change`].
    pub fn last_changed(&self, path: &FilePath) -> Result<Option<(Timestamp, String)>> {
        let shared = &self.project.projects.shared;
        let (changed, Some(place)) = shared.last_changes.find(self, path)? else {
            return Ok(None);
        };
        if place > 1 {
            // Where the search ended, the file may be older still.
            let Some(before) = kept(self, place - 1)? else {
                return Ok(None);
            };
            let nodes = self.nodes();
            if entry(nodes, before.manifest, path)? == entry(nodes, changed, path)? {
                return Ok(None);
            }
        }
        let branch = self.branch()?;
        if branch.head().place() == Some(place) {
            return Ok(Some((branch.updated_at(), branch.updated_by().to_owned())));
        }
        Ok(kept(self, place)?.map(|state| (state.reached_at, state.reached_by.clone())))
    }
}

impl LastChanges {
    /// The state that last changed a file, and its place in the history where that is known.
    fn find(&self, state: &Revision, path: &FilePath) -> Result<(ManifestId, Option<u64>)> {
        let place = match state.place() {
            Some(place) => place,
            None => match self.newest_place(state)? {
                Some(place) => place,
                None => return Ok((state.manifest(), None)),
            },
        };
        let key = (state.branch, path.clone());
        let known = match self.found.get(&key) {
            Some(known) if known.changed_at < place => {
                is_kept(state, known.changed_at)?.then_some(known)
            }
            known => known,
        };
        if let Some(known) = known
            && (known.changed_at..=known.seen_from).contains(&place)
        {
            return Ok((known.changed, Some(known.changed_at)));
        }
        let recent = self.recent(state, place)?;
        let older = known.filter(|known| known.seen_from < place);
        let found = may_block(|| recent.search(state, place, path, older))?;
        if older.is_some() || known.is_none() {
            self.found.insert(key, found);
        }
        Ok((found.changed, Some(found.changed_at)))
    }

    /// Where the branch was last in a state that is known by its content alone.
    fn newest_place(&self, state: &Revision) -> Result<Option<u64>> {
        let head = state.branch()?.head();
        let Some(place) = head.place() else {
            return Ok(None);
        };
        if head.manifest() == state.manifest() {
            return Ok(Some(place));
        }
        let recent = self.recent(&head, place)?;
        let mut places = (recent.begin..place).rev();
        Ok(places.find(|&place| recent.state(place) == Some(state.manifest())))
    }

    /// The steps of a branch up to this place.
    fn recent(&self, state: &Revision, place: u64) -> Result<Arc<Recent>> {
        let mut known = self.recent.get(&state.branch).unwrap_or_default();
        if !known.steps.is_empty() && !is_kept(state, known.begin)? {
            known = Arc::default();
        }
        if known.end() >= place {
            return Ok(known);
        }
        let most = SNAPSHOTS_SEARCHED_MAX as u64;
        let missing = place - known.end().max(place.saturating_sub(most)).max(1);
        let missing = usize::try_from(missing).unwrap_or(SNAPSHOTS_SEARCHED_MAX);
        let before = Some(SnapshotVersion::new(place));
        let branch = state.branch()?;
        let recent = may_block(|| -> Result<_> {
            let read = branch.history(before, Some(missing))?;
            Ok(Arc::new(known.extended(place, &read)))
        })?;
        self.recent.insert(state.branch, Arc::clone(&recent));
        Ok(recent)
    }
}

impl Recent {
    /// These steps and those of the snapshots read, newest first, up to this place. The oldest are
    /// given up, and so are all before a gap.
    fn extended(&self, place: u64, read: &[Snapshot]) -> Self {
        let versions = read.iter().map(|snapshot| snapshot.version.number());
        let whole = versions
            .zip((1..place).rev())
            .take_while(|(is, expected)| is == expected)
            .count();
        let first = place - whole as u64;
        let kept = if self.end() == first {
            let room = SNAPSHOTS_SEARCHED_MAX.saturating_sub(whole);
            &self.steps[self.steps.len().saturating_sub(room)..]
        } else {
            &[]
        };
        let new = read[..whole].iter().rev().map(Step::after);
        Self {
            begin: first - kept.len() as u64,
            steps: kept.iter().copied().chain(new).collect(),
        }
    }

    /// Goes back from a state at this place to the step that changed the file, or to what is known.
    fn search(
        &self,
        state: &Revision,
        place: u64,
        path: &FilePath,
        known: Option<Found>,
    ) -> Result<Found> {
        let hash = hash(path.as_str());
        let mut found = Found {
            seen_from: place,
            changed_at: place,
            changed: state.manifest(),
        };
        while let Some(before) = self.state(found.changed_at - 1) {
            if let Some(known) = known
                && known.seen_from == found.changed_at
            {
                return Ok(Found {
                    seen_from: place,
                    ..known
                });
            }
            let at = usize::try_from(found.changed_at - 1 - self.begin).unwrap_or_default();
            let may_touch = self.steps[at].path.is_none_or(|path| path == hash);
            if may_touch && before != found.changed {
                let nodes = state.nodes();
                if entry(nodes, before, path)? != entry(nodes, found.changed, path)? {
                    break;
                }
            }
            found.changed_at -= 1;
            found.changed = before;
        }
        Ok(found)
    }
}

impl Step {
    /// The step by which a snapshot's state was replaced.
    fn after(snapshot: &Snapshot) -> Self {
        let is_one = matches!(snapshot.operation, Operation::Save | Operation::Delete);
        let path = snapshot.path.as_deref().filter(|_| is_one);
        Self {
            from: snapshot.revision.manifest(),
            path: path.map(hash),
        }
    }
}

/// True if the branch's state at this place, which it is no longer in, was not pruned.
fn is_kept(state: &Revision, place: u64) -> Result<bool> {
    let store = state.project.projects.store();
    Ok(store.record(&key::snapshot(state.branch, place))?.is_some())
}

/// The snapshot of the branch's state at this place, if there is one.
fn kept(state: &Revision, place: u64) -> Result<Option<Arc<SnapshotRecord>>> {
    let store = state.project.projects.store();
    let record = store.value(&key::snapshot(state.branch, place))?;
    Ok(record.map(|record| record.value))
}

/// What lies at a path in a state.
fn entry(nodes: &Nodes, state: ManifestId, path: &FilePath) -> Result<Option<lookup::Found>> {
    let root = nodes.manifest(state)?.root;
    Ok(lookup::path(nodes, root, path)?)
}

/// A hash of a path. Where two paths share one, their entries are compared.
fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
