//! Which state of a branch last changed a file.
//!
//! A snapshot says which path was changed right after it, so most of a history is passed without looking
//! into a tree; where it does not say, the file's entries are compared. What was found is kept with the
//! place in the history for which it holds: after further saves only those are looked at, and a file
//! that returns to an earlier content has changed again.

use std::sync::Arc;

use super::change_cache::{Found, LastChanges};
use super::step_cache::Run;
use crate::base::cache::get_or_make;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{LAST_CHANGE_STRIDE, SNAPSHOTS_SEARCHED_MAX};
use crate::base::may_block;
use crate::manifest::{Nodes, lookup};
use crate::object::key;
use crate::object::record::SnapshotRecord;
use crate::repo::{Branch, BranchDigest, Result, Revision};

impl Revision {
    /// The commit of the state that last changed the file at this path, which is in this state. A
    /// branch that returned to an earlier state is in it where it was last.
    ///
    /// # Limits
    /// The 1,000 snapshots before the state are searched, or where it is known by its commit id alone the
    /// newest 1,000, and as many before them as it takes to a number that [`LAST_CHANGE_STRIDE`] divides. Of a
    /// file that did not change in them the oldest of them is the answer, and of a state that is older than they
    /// are its own commit.
    pub fn last_change(&self, path: &FilePath) -> Result<BranchDigest> {
        let shared = &self.project.projects.shared;
        let (changed, _) = shared.last_changes.find(self, path)?;
        let project = self.project.number();
        shared
            .digests
            .publish_id(project, self.branch, changed, false)
    }

    /// The same where memory has it, `None` else: it takes microseconds.
    pub fn known_last_change(&self, path: &FilePath) -> Result<Option<BranchDigest>> {
        let shared = &self.project.projects.shared;
        let Some(changed) = shared.last_changes.known(self, path)? else {
            return Ok(None);
        };
        let project = self.project.number();
        shared
            .digests
            .publish_known_id(project, self.branch, changed)
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
    /// The state that last changed a file, and its place in the history where that is known. Of all who want it of the
    /// newest state at once one searches.
    fn find(&self, state: &Revision, path: &FilePath) -> Result<(ManifestId, Option<u64>)> {
        let place = match state.place() {
            Some(place) => place,
            None => match newest_place(state)? {
                Some(place) => place,
                None => return Ok((state.manifest(), None)),
            },
        };
        let branch = state.branch()?;
        let oldest = searched_from(&branch, place)?;
        // What a search came to that ended elsewhere may not be what this one does: the answer is not to depend on
        // what was asked before.
        let holds = |known: &Found| known.is_found_from(oldest) && known.holds_at(place);
        let key = (state.branch, path.clone());
        let kept: Result<_> = get_or_make(&self.found, &key, || Ok(Arc::default()));
        let kept = kept?;
        if let Some(known) = kept.now().filter(holds) {
            return Ok((known.changed, Some(known.changed_at)));
        }
        let is_of_older = |known: &Found| known.is_found_from(oldest) && known.seen_from < place;
        let is_newest = branch.head().place() == Some(place);
        let found = may_block(|| {
            kept.find_from(place, is_newest, holds, |known| {
                let older = known.filter(is_of_older);
                search(state, &branch, [oldest, place], path, older)
            })
        })?;
        Ok((found.changed, Some(found.changed_at)))
    }

    /// The state that last changed a file, if it was searched for before. `None` also of a state that is known by its
    /// commit id alone, unless the branch is in it.
    fn known(&self, state: &Revision, path: &FilePath) -> Result<Option<ManifestId>> {
        let branch = state.branch()?;
        let head = branch.head();
        let is_head = head.manifest() == state.manifest();
        let Some(place) = state.place().or(head.place().filter(|_| is_head)) else {
            return Ok(None);
        };
        let kept = self.found.get(&(state.branch, path.clone()));
        let Some(known) = kept.and_then(|kept| kept.now()) else {
            return Ok(None);
        };
        let oldest = searched_from(&branch, place)?;
        let holds = known.is_found_from(oldest) && known.holds_at(place);
        Ok(holds.then_some(known.changed))
    }
}

/// Where the branch was last in a state that is known by its content alone.
fn newest_place(state: &Revision) -> Result<Option<u64>> {
    let branch = state.branch()?;
    let head = branch.head();
    let Some(place) = head.place() else {
        return Ok(None);
    };
    if head.manifest() == state.manifest() {
        return Ok(Some(place));
    }
    let oldest = searched_from(&branch, place)?;
    for number in Run::numbers(oldest, place) {
        let run = Run::of(&branch, number)?;
        let mut steps = run.between(oldest, place).iter().rev();
        if let Some(step) = steps.find(|step| step.from == state.manifest()) {
            return Ok(Some(step.place));
        }
    }
    Ok(None)
}

/// Goes back from a state at the second of these places, and not behind the first, to the step that changed the
/// file, or to what is known.
fn search(
    state: &Revision,
    branch: &Branch,
    [oldest, place]: [u64; 2],
    path: &FilePath,
    known: Option<Found>,
) -> Result<Found> {
    let mut found = Found {
        searched_from: oldest,
        seen_from: place,
        changed_at: place,
        changed: state.manifest(),
    };
    for number in Run::numbers(oldest, place) {
        let run = Run::of(branch, number)?;
        let own = run
            .paths
            .iter()
            .position(|changed| **changed == *path.as_str());
        for step in run.between(oldest, place).iter().rev() {
            if step.place + 1 != found.changed_at {
                return Ok(found);
            }
            if let Some(known) = known
                && known.seen_from == found.changed_at
            {
                return Ok(Found {
                    seen_from: place,
                    ..known
                });
            }
            let may_touch = step
                .path
                .is_none_or(|number| Some(usize::from(number)) == own);
            if may_touch && step.from != found.changed {
                let nodes = state.nodes();
                if entry(nodes, step.from, path)? != entry(nodes, found.changed, path)? {
                    return Ok(found);
                }
            }
            found.changed_at = step.place;
            found.changed = step.from;
        }
    }
    Ok(found)
}

/// The oldest snapshot that is searched from a state at this place on; the place itself if there is none.
///
/// It stays the same for [`LAST_CHANGE_STRIDE`] states, and with it the answer for a file that none of them changed.
fn searched_from(branch: &Branch, place: u64) -> Result<u64> {
    let beyond = place.saturating_sub(SNAPSHOTS_SEARCHED_MAX as u64);
    let first = beyond - beyond % LAST_CHANGE_STRIDE;
    let oldest = branch.oldest_snapshot()?.unwrap_or(place);
    Ok(oldest.max(first).min(place))
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
