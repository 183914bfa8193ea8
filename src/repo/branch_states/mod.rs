//! What all branches of a project are at a moment, held by many who watch them.

mod changes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::{Project, Result};
use crate::base::branch_name::BranchName;
use crate::base::may_block;
use crate::base::threads::lock;
use crate::object::key;
use crate::object::record::BranchRecord;
use crate::store::Version;

pub use changes::BranchChanges;

/// All branches of a project, as they were when they were looked at: 32 bytes for each, which all who look at the
/// same state share. Their names are shared with other states, too.
#[derive(Clone, Debug, Default)]
pub struct BranchStates(Arc<Vec<BranchState>>);

/// A branch in the state that a write has brought it into.
#[derive(Debug)]
struct BranchState {
    number: u64,
    version: Version,
    name: BranchName,
}

/// What was seen last of the branches of each project, as long as somebody holds it.
#[derive(Debug, Default)]
pub(super) struct LastLooks(Mutex<HashMap<u64, Arc<LastLook>>>);

/// That of one project. Who looks holds it, and the others wait.
type LastLook = Mutex<Look>;

#[derive(Debug, Default)]
struct Look {
    /// As [`Project::branches_state`] gave it before.
    state: u64,
    found: Weak<Vec<BranchState>>,
}

impl Project {
    /// Looks at all branches.
    ///
    /// # Limits
    /// It reads all of their records, once for all who look at the same state, and holds none of them.
    pub fn branch_states(&self) -> Result<BranchStates> {
        let last = self.projects.shared.last_looks.of(self.number());
        let mut last = may_block(|| lock(&last));
        // First: what changes while they are read makes the next state.
        let state = self.branches_state()?;
        let known = last.found.upgrade();
        if let Some(found) = &known
            && last.state == state
        {
            return Ok(BranchStates(Arc::clone(found)));
        }
        let found = Arc::new(self.look_at_branches(known.as_ref().map_or(&[], |known| known))?);
        *last = Look {
            state,
            found: Arc::downgrade(&found),
        };
        Ok(BranchStates(found))
    }

    /// `known` are those that were found before.
    fn look_at_branches(&self, known: &[BranchState]) -> Result<Vec<BranchState>> {
        let records = self
            .projects
            .store()
            .folder(&key::branches(self.number()))?;
        let mut known = known.iter().peekable();
        let found = records.iter().map(|record| {
            let (number, version) = (record.number(), record.version);
            while known.next_if(|known| known.number < number).is_some() {}
            let name = match known.peek() {
                Some(known) if (known.number, known.version) == (number, version) => {
                    known.name.clone()
                }
                _ => record.decode::<BranchRecord>()?.value.name.clone(),
            };
            Ok(BranchState {
                number,
                version,
                name,
            })
        });
        found.collect()
    }
}

impl LastLooks {
    fn of(&self, project: u64) -> Arc<LastLook> {
        let mut projects = lock(&self.0);
        if let Some(last) = projects.get(&project) {
            return Arc::clone(last);
        }
        if projects.len() == projects.capacity() {
            // One that somebody looks into now is held by that one.
            projects.retain(|_, last| {
                Arc::strong_count(last) > 1 || lock(last).found.strong_count() > 0
            });
        }
        Arc::clone(projects.entry(project).or_default())
    }
}
