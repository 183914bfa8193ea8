//! The search for a state whose commit id is not in the index.

use std::collections::BTreeMap;

use crate::base::id::ManifestId;
use crate::base::limits::{
    COMMIT_SEARCH_S_MAX, PROJECT_SNAPSHOTS_SEARCHED_MAX, SNAPSHOTS_SEARCHED_MAX,
};
use crate::repo::digests::Published;
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
                if left == 0 {
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
    /// By commit id the branch and the state.
    found: BTreeMap<String, (u64, ManifestId)>,
}

impl<'a> Search<'a> {
    fn new(project: &'a Project, text: &'a str) -> Self {
        let now_ms = project.projects.clock().uptime_ms();
        Self {
            project,
            text,
            until_ms: now_ms + COMMIT_SEARCH_S_MAX * 1000,
            found: BTreeMap::new(),
        }
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
    /// index. Where they cannot be entered, as by who only reads, the next search would begin anew: this one goes to its
    /// end however long that takes.
    ///
    /// # Errors
    /// [`Error::Unfinished`] when the time is over and nothing was found; what was digested till then is entered.
    fn publish(&mut self, states: &[Revision]) -> Result<bool> {
        let states = states
            .iter()
            .map(|state| (state.branch_number(), state.manifest()));
        let mut states: Vec<_> = states.collect();
        loop {
            let published = self.publish_in_time(&states)?;
            states.drain(..published.digests.len());
            if states.is_empty() {
                return Ok(published.are_entered);
            }
            if published.are_entered && self.found.is_empty() {
                return Err(Error::Unfinished);
            }
            self.until_ms = i64::MAX;
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
