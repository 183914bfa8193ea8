//! What is another among the branches of a project than it was before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::vec;

use super::{Branch, Project, Result};
use crate::base::branch_name::BranchName;
use crate::object::key;
use crate::object::record::BranchRecord;
use crate::store::{Folder, Record};

/// All branches of a project, as they were when they were looked at. Holding it holds their records.
#[derive(Clone, Debug, Default)]
pub struct BranchStates(Folder);

/// What became of branches between two looks at them, told one after the other.
#[derive(Clone, Debug)]
pub struct BranchChanges {
    project: Project,
    before: BranchStates,
    now: BranchStates,
    told: Passed,
    /// Places among those of before, in the byte order of their names.
    gone: vec::IntoIter<usize>,
}

/// How many records of two folders were passed, in the order of their keys.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    before: usize,
    now: usize,
}

impl Project {
    /// Looks at all branches. None is read that memory has.
    pub fn branch_states(&self) -> Result<BranchStates> {
        let prefix = key::branches(self.number());
        Ok(BranchStates(self.projects.store().folder(&prefix)?))
    }

    /// What became of the branches of this project.
    ///
    /// # Limits
    /// Time grows with the number of branches, some nanoseconds each, and once more while it is told.
    pub fn branch_changes(
        &self,
        before: &BranchStates,
        now: &BranchStates,
    ) -> Result<BranchChanges> {
        let (mut gone, mut names_now) = (BTreeMap::new(), BTreeSet::new());
        let mut passed = Passed::default();
        while let Some((older, newer)) = passed.next(&before.0, &now.0) {
            let (was, is) = (older.map(|at| &before.0[at]), newer.map(|at| &now.0[at]));
            if was.map(|r| r.version) == is.map(|r| r.version) {
                continue;
            }
            if let Some(is) = is {
                names_now.insert(name_of(is)?);
            }
            if let (Some(at), Some(was)) = (older, was) {
                gone.insert(name_of(was)?, at);
            }
        }
        gone.retain(|name, _| !names_now.contains(name));
        let gone: Vec<_> = gone.into_values().collect();
        Ok(BranchChanges {
            project: self.clone(),
            before: before.clone(),
            now: now.clone(),
            told: Passed::default(),
            gone: gone.into_iter(),
        })
    }
}

impl BranchChanges {
    /// True if it tells of this project.
    pub fn is_of(&self, project: &Project) -> bool {
        self.project.number() == project.number()
    }

    /// The next branch that was made or changed, as the second look found it, in the order of their making; those of
    /// which `also` is true are told in any case.
    pub fn next_changed(&mut self, also: impl Fn(&BranchName) -> bool) -> Result<Option<Branch>> {
        while let Some((older, newer)) = self.told.next(&self.before.0, &self.now.0) {
            let Some(newer) = newer.map(|at| &self.now.0[at]) else {
                continue;
            };
            let older = older.map(|at| self.before.0[at].version);
            let branch = self.project.branch_of(newer.number(), newer.decode()?);
            if older != Some(newer.version) || also(branch.name()) {
                return Ok(Some(branch));
            }
        }
        Ok(None)
    }

    /// The next name that no branch has any more, in byte order.
    pub fn next_gone(&mut self) -> Result<Option<BranchName>> {
        let next = self.gone.next();
        next.map(|at| name_of(&self.before.0[at])).transpose()
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
    /// Passes the records of the next key, and gives their places.
    fn next(
        &mut self,
        before: &[Arc<Record>],
        now: &[Arc<Record>],
    ) -> Option<(Option<usize>, Option<usize>)> {
        let older = before.get(self.before).map(|record| &record.key);
        let newer = now.get(self.now).map(|record| &record.key);
        let (is_older, is_newer) = match (older, newer) {
            (None, None) => return None,
            (Some(older), Some(newer)) => (older <= newer, newer <= older),
            (older, newer) => (older.is_some(), newer.is_some()),
        };
        let places = (
            is_older.then_some(self.before),
            is_newer.then_some(self.now),
        );
        self.before += usize::from(is_older);
        self.now += usize::from(is_newer);
        Some(places)
    }
}

fn name_of(record: &Record) -> Result<BranchName> {
    Ok(record.decode::<BranchRecord>()?.value.name.clone())
}
