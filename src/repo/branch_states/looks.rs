//! What was seen last of the branches of each project, shared by all who have seen the same.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::base::branch_name::BranchName;
use crate::base::may_block;
use crate::base::threads::lock;
use crate::repo::Result;
use crate::store::Version;

/// A branch in the state that a write has brought it into.
#[derive(Debug)]
pub(super) struct BranchState {
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) name: BranchName,
}

/// What was seen last, by the number of the project, as long as somebody holds it.
#[derive(Debug, Default)]
pub(in crate::repo) struct LastLooks(Mutex<HashMap<u64, Arc<LastLook>>>);

/// The last look at the branches of one project.
#[derive(Debug, Default)]
struct LastLook {
    /// How many looks have begun.
    begun: AtomicU64,
    /// Locked while somebody looks; others wait for it.
    look: Mutex<Look>,
}

#[derive(Debug, Default)]
struct Look {
    /// The value of `begun` when this look had begun.
    number: u64,
    /// The state of the branches, read before the branches were.
    state: u64,
    found: Weak<Vec<BranchState>>,
}

impl LastLooks {
    /// The branches of a project as they are now. `state` gives their state; only where it has changed, or nobody holds
    /// what was found last, `look` reads them anew, and is given what was found last, if anything. A caller that waited
    /// for a look which began after its own call shares the result.
    ///
    /// # Errors
    /// Those of `state` and `look`.
    pub(super) fn get_or_look(
        &self,
        project: u64,
        state: impl FnOnce() -> Result<u64>,
        look: impl FnOnce(&[BranchState]) -> Result<Vec<BranchState>>,
    ) -> Result<Arc<Vec<BranchState>>> {
        let of_project = self.of(project);
        let begun = of_project.begun.load(Ordering::Acquire);
        let mut last = may_block(|| lock(&of_project.look));
        let known = last.found.upgrade();
        if let Some(found) = &known
            && last.number > begun
        {
            return Ok(Arc::clone(found));
        }
        let number = of_project.begun.fetch_add(1, Ordering::AcqRel) + 1;
        // First: what changes while they are read makes the next state.
        let state = state()?;
        let found = match &known {
            Some(found) if last.state == state => Arc::clone(found),
            known => Arc::new(look(known.as_ref().map_or(&[], |known| known))?),
        };
        *last = Look {
            number,
            state,
            found: Arc::downgrade(&found),
        };
        Ok(found)
    }

    fn of(&self, project: u64) -> Arc<LastLook> {
        let mut projects = lock(&self.0);
        if let Some(last) = projects.get(&project) {
            return Arc::clone(last);
        }
        // Only when the map would grow, so that a call costs little.
        if projects.len() == projects.capacity() {
            // With a count of 1 nobody holds the lock of `look`.
            projects.retain(|_, last| {
                Arc::strong_count(last) > 1 || lock(&last.look).found.strong_count() > 0
            });
        }
        Arc::clone(projects.entry(project).or_default())
    }
}
