//! A look at all branches of a project.

use std::sync::Arc;

use super::looks::BranchState;
use crate::object::key;
use crate::object::record::BranchRecord;
use crate::repo::{Project, Result};

/// All branches of a project, as they were when they were looked at: 32 bytes for each, which all who look at the
/// same state share. Their names are shared with other states, too.
#[derive(Clone, Debug, Default)]
pub struct BranchStates(pub(super) Arc<Vec<BranchState>>);

impl Project {
    /// Looks at all branches.
    ///
    /// # Limits
    /// It reads all of their records, and holds none of them; once for all who look at the same state, or who waited
    /// for another's look.
    pub fn branch_states(&self) -> Result<BranchStates> {
        let state = || self.branches_state();
        let look = |known: &[BranchState]| self.look_at_branches(known);
        let last_looks = &self.projects.shared.last_looks;
        Ok(BranchStates(last_looks.get_or_look(
            self.number(),
            state,
            look,
        )?))
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

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::base::branch_name::BranchName;
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
        let names = |states: &BranchStates| -> Vec<_> {
            states.0.iter().map(|state| state.name.clone()).collect()
        };
        let [before, after] = [&first, &second].map(names);
        assert_eq!(after, ["main", "side", "third"].map(branch));
        for (was, is) in before.iter().zip(&after) {
            assert!(ptr::eq(was.as_str(), is.as_str()), "{is}");
        }
        drop((first, same, second));
        assert_eq!(project.branch_states().unwrap().0.len(), 3);
    }
}
