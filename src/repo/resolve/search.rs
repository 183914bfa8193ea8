//! The search for a state whose commit id is not in the index.

use std::collections::BTreeMap;

use crate::base::id::ManifestId;
use crate::base::limits::{PROJECT_SNAPSHOTS_SEARCHED_MAX, SNAPSHOTS_SEARCHED_MAX};
use crate::repo::digests::{Entered, Published};
use crate::repo::history::end_of_search_ms;
use crate::repo::{Branch, Error, Project, Result, Revision};

impl Project {
    /// The one state whose commit id begins with this text, which the index does not know: a client may know
    /// the id of a state from its content alone, before the service gave it out.
    ///
    /// # Errors
    /// Those of [`Project::resolve`].
    pub(super) fn search(&self, text: &str) -> Result<Revision> {
        // First: a change that comes while it is searched makes the next state.
        let state = self.branches_state()?;
        let branches = self.branches()?;
        let mut search = Search::new(self, text);
        let heads: Vec<_> = branches.iter().map(Branch::head).collect();
        search.publish(&heads)?;
        let mut left = PROJECT_SNAPSHOTS_SEARCHED_MAX;
        if search.found.is_empty() {
            for branch in &branches {
                if left == 0 || search.is_answered() {
                    break;
                }
                left -= search.history(branch, left.min(SNAPSHOTS_SEARCHED_MAX))?;
            }
        }
        if search.found.is_empty() {
            // What another search has entered since the index was looked at is passed over by this one.
            search.found = self.indexed(text)?;
        }
        if search.found.is_empty() {
            let absent = &self.projects.shared.absent_ids;
            absent.keep(self.number(), text, state);
        }
        self.only(search.found)
    }
}

struct Search<'a> {
    project: &'a Project,
    text: &'a str,
    /// The time by the clock that nobody sets at which it ends.
    until_ms: i64,
    /// True once it has entered in the index what the next search passes over.
    has_entered: bool,
    /// By commit id the branch and the state.
    found: BTreeMap<String, (u64, ManifestId)>,
}

impl<'a> Search<'a> {
    fn new(project: &'a Project, text: &'a str) -> Self {
        Self {
            project,
            text,
            until_ms: end_of_search_ms(project),
            has_entered: false,
            found: BTreeMap::new(),
        }
    }

    /// True if what was found is the answer, though not all was looked at: the next would find it in the index alone.
    fn is_answered(&self) -> bool {
        !self.found.is_empty() && self.project.projects.clock().uptime_ms() >= self.until_ms
    }

    /// Publishes the newest snapshots of a branch, so many at most, but for those that were entered in the index
    /// before. Gives how many there are with those.
    fn history(&mut self, branch: &Branch, most: usize) -> Result<usize> {
        let entered = &self.project.projects.shared.entered_snapshots;
        // First: what is pruned while it is searched takes ids with it.
        let oldest = branch.oldest_snapshot()?;
        let known = entered.of(branch.number, oldest).unwrap_or_default();
        let newer = branch.snapshot_count().saturating_sub(known.up_to);
        let newer = usize::try_from(newer).unwrap_or(usize::MAX).min(most);
        if newer == 0 {
            return Ok(known.count.min(most));
        }
        let history = branch.history(None, Some(newer))?;
        let count = (history.len() + known.count).min(most);
        let states = history.into_iter().map(|snapshot| snapshot.revision);
        let states: Vec<_> = states.collect();
        // Of one where fewer are looked at the next search may look at more.
        if self.publish(&states)? && most == SNAPSHOTS_SEARCHED_MAX {
            entered.keep(branch.number, oldest, branch.snapshot_count(), count);
        }
        Ok(count)
    }

    /// Enters these states in the index, and adds those whose commit ids begin with the text. True if all are in the
    /// index. When the time is over it ends with what was found.
    ///
    /// # Errors
    /// [`Error::Unfinished`] when the time is over, nothing was found and something entered: from there the next
    /// search goes on. Where there was nothing to enter, or it was refused, as by a full disk, the next would begin
    /// anew: this one goes on however long it takes.
    fn publish(&mut self, states: &[Revision]) -> Result<bool> {
        let states = states
            .iter()
            .map(|state| (state.branch_number(), state.manifest()));
        let mut states: Vec<_> = states.collect();
        let mut are_entered = true;
        loop {
            let published = self.publish_in_time(&states)?;
            self.has_entered |= published.entered == Entered::Now;
            are_entered &= published.entered != Entered::Refused;
            states.drain(..published.digests.len());
            if states.is_empty() {
                return Ok(are_entered);
            }
            if !self.found.is_empty() {
                return Ok(false);
            }
            if self.has_entered {
                return Err(Error::Unfinished);
            }
            self.until_ms = end_of_search_ms(self.project);
        }
    }

    /// Of these states as many as there is time for.
    fn publish_in_time(&mut self, states: &[(u64, ManifestId)]) -> Result<Published> {
        let clock = self.project.projects.clock();
        let digests = &self.project.projects.shared.digests;
        let until_ms = self.until_ms;
        let goes_on = || clock.uptime_ms() < until_ms;
        let published = digests.publish_ids(self.project.number(), states, goes_on)?;
        for (id, &state) in published.digests.iter().zip(states) {
            let id = id.commit_id();
            if id.starts_with(self.text) {
                // As the index has it: of the branches the oldest.
                let known = self.found.entry(id.to_owned()).or_insert(state);
                if known.0 > state.0 {
                    *known = state;
                }
            }
        }
        Ok(published)
    }
}
