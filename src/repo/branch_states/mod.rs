//! What all branches of a project are at a moment, held by many who watch them.

mod changes;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// That of one project.
#[derive(Debug, Default)]
struct LastLook {
    /// How many were begun.
    begun: AtomicU64,
    /// Who looks holds it, and the others wait.
    look: Mutex<Look>,
}

#[derive(Debug, Default)]
struct Look {
    /// Which of those that were begun it is.
    number: u64,
    /// As [`Project::branches_state`] gave it before.
    state: u64,
    found: Weak<Vec<BranchState>>,
}

impl Project {
    /// Looks at all branches.
    ///
    /// # Limits
    /// It reads all of their records, and holds none of them; once for all who look at the same state, or who waited for
    /// another's look.
    pub fn branch_states(&self) -> Result<BranchStates> {
        let last = self.projects.shared.last_looks.of(self.number());
        let begun = last.begun.load(Ordering::Acquire);
        let mut look = may_block(|| lock(&last.look));
        let known = look.found.upgrade();
        if let Some(found) = &known
            && look.number > begun
        {
            // It was begun after this one was asked for.
            return Ok(BranchStates(Arc::clone(found)));
        }
        let number = last.begun.fetch_add(1, Ordering::AcqRel) + 1;
        // First: what changes while they are read makes the next state.
        let state = self.branches_state()?;
        if let Some(found) = &known
            && look.state == state
        {
            look.number = number;
            return Ok(BranchStates(Arc::clone(found)));
        }
        let found = Arc::new(self.look_at_branches(known.as_ref().map_or(&[], |known| known))?);
        *look = Look {
            number,
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
                Arc::strong_count(last) > 1 || lock(&last.look).found.strong_count() > 0
            });
        }
        Arc::clone(projects.entry(project).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};
    use crate::base::repo_id::RepoId;
    use crate::repo::{ProjectWriter, Projects};
    use crate::store::memory::MemoryStore;
    use crate::store::record_cache::RecordCache;

    fn branch(name: &str) -> BranchName {
        BranchName::parse(name).unwrap()
    }

    #[test]
    fn who_looks_at_the_same_state_shares_it_and_other_states_share_names() {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21").unwrap()));
        let store = Arc::new(RecordCache::new(MemoryStore::default()));
        let projects = Projects::new(store, clock);
        let repo_id = RepoId::parse("acme/shop.erp").unwrap();
        let project = projects.create_project(&repo_id, 1, "alice").unwrap();
        let writer = ProjectWriter::new(project.clone(), "alice");
        for name in ["main", "side"] {
            writer.create_branch(&branch(name), None).unwrap();
        }
        let [first, same] = [(); 2].map(|()| project.branch_states().unwrap());
        assert!(Arc::ptr_eq(&first.0, &same.0));
        writer.create_branch(&branch("third"), None).unwrap();
        let second = project.branch_states().unwrap();
        let names =
            |states: &BranchStates| Vec::from_iter(states.0.iter().map(|it| it.name.clone()));
        let [before, after] = [&first, &second].map(names);
        assert_eq!(after, ["main", "side", "third"].map(branch));
        for (was, is) in before.iter().zip(&after) {
            assert!(ptr::eq(was.as_str(), is.as_str()), "{is}");
        }
        drop((first, same, second));
        assert_eq!(project.branch_states().unwrap().0.len(), 3);
    }
}
