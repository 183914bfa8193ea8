//! What is another among the branches of a project than it was before.

use std::collections::BTreeSet;
use std::vec;

use super::looks::BranchState;
use super::states::BranchStates;
use crate::base::branch_name::BranchName;
use crate::repo::{Branch, Project, Result};

/// What became of branches between two looks at them, told one after the other.
#[derive(Clone, Debug)]
pub struct BranchChanges {
    project: Project,
    before: BranchStates,
    now: BranchStates,
    told: Passed,
    gone: vec::IntoIter<BranchName>,
}

/// How many branches of two looks were passed, in the order of their making.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    before: usize,
    now: usize,
}

impl Project {
    /// What became of the branches of this project.
    ///
    /// # Limits
    /// Time grows with the number of branches, some nanoseconds each, and once more while it is told.
    pub fn branch_changes(&self, before: &BranchStates, now: &BranchStates) -> BranchChanges {
        let (mut gone, mut names_now) = (BTreeSet::new(), BTreeSet::new());
        let mut passed = Passed::default();
        while let Some((older, newer)) = passed.next(&before.0, &now.0) {
            if older.map(|was| was.version) != newer.map(|is| is.version) {
                gone.extend(older.map(|was| &was.name));
                names_now.extend(newer.map(|is| &is.name));
            }
        }
        let gone: Vec<_> = gone.difference(&names_now).copied().cloned().collect();
        BranchChanges {
            project: self.clone(),
            before: before.clone(),
            now: now.clone(),
            told: Passed::default(),
            gone: gone.into_iter(),
        }
    }
}

impl BranchChanges {
    /// True if it tells of this project.
    pub fn is_of(&self, project: &Project) -> bool {
        self.project.number() == project.number()
    }

    /// The next branch that was made or changed, as it is by now, in the order of their making; those of which `also`
    /// is true are told in any case. One that is not there any more by now is passed.
    pub fn next_changed(&mut self, also: impl Fn(&BranchName) -> bool) -> Result<Option<Branch>> {
        while let Some((older, newer)) = self.told.next(&self.before.0, &self.now.0) {
            let Some(newer) = newer else {
                continue;
            };
            let is_changed = older.is_none_or(|older| older.version != newer.version);
            if (is_changed || also(&newer.name))
                && let Some(branch) = self.project.branch_by_number(newer.number)?
            {
                return Ok(Some(branch));
            }
        }
        Ok(None)
    }

    /// The next name that no branch had any more, in byte order.
    pub fn next_gone(&mut self) -> Option<BranchName> {
        self.gone.next()
    }
}

impl Branch {
    /// What no other state of a branch of this store has: its number, and that of the write that made its record.
    pub fn stamp(&self) -> [u8; 16] {
        let both = (u128::from(self.number) << 64) | u128::from(self.version);
        both.to_be_bytes()
    }
}

impl Passed {
    /// Passes the branch that was made next, and gives what it was and is.
    fn next<'a>(
        &mut self,
        before: &'a [BranchState],
        now: &'a [BranchState],
    ) -> Option<(Option<&'a BranchState>, Option<&'a BranchState>)> {
        let (older, newer) = (before.get(self.before), now.get(self.now));
        let next = [older, newer].into_iter().flatten();
        let next = next.map(|branch| branch.number).min()?;
        let is_next = |branch: &&BranchState| branch.number == next;
        let (older, newer) = (older.filter(is_next), newer.filter(is_next));
        self.before += usize::from(older.is_some());
        self.now += usize::from(newer.is_some());
        Some((older, newer))
    }
}
