//! What is another among the branches of a project than it was before.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Branch, Project, Result};
use crate::base::branch_name::BranchName;
use crate::object::key;
use crate::object::record::BranchRecord;
use crate::store::{Folder, Record};

/// All branches of a project, as they were when they were looked at. Holding it holds their records.
#[derive(Clone, Debug, Default)]
pub struct BranchStates(Folder);

/// What became of branches between two looks at them.
#[derive(Clone, Debug)]
pub struct BranchChanges {
    /// Those that were made or changed, as the second look found them, in the order of their making.
    pub changed: Vec<Branch>,
    /// Names that no branch has any more, in byte order.
    pub gone: Vec<BranchName>,
}

impl Project {
    /// Looks at all branches. None is read that memory has.
    pub fn branch_states(&self) -> Result<BranchStates> {
        let prefix = key::branches(self.number());
        Ok(BranchStates(self.projects.store().folder(&prefix)?))
    }

    /// What became of the branches of this project; those of which `also` is true are told in any case.
    ///
    /// # Limits
    /// Time grows with the number of branches, some nanoseconds each.
    pub fn branch_changes(
        &self,
        before: &BranchStates,
        now: &BranchStates,
        also: impl Fn(&BranchName) -> bool,
    ) -> Result<BranchChanges> {
        let (mut before, mut now) = (before.0.as_slice(), now.0.as_slice());
        let mut names_before = BTreeSet::new();
        let (mut changed, mut names_now) = (Vec::new(), BTreeSet::new());
        loop {
            let keys = (before.first().map(|r| &r.key), now.first().map(|r| &r.key));
            let (older, newer) = match keys {
                (None, None) => break,
                (Some(older), Some(newer)) => (older <= newer, newer <= older),
                (older, newer) => (older.is_some(), newer.is_some()),
            };
            let older = older.then(|| take_first(&mut before));
            let newer = newer.then(|| take_first(&mut now));
            let is_same = older.map(|r| r.version) == newer.map(|r| r.version);
            if let Some(newer) = newer {
                let branch = self.branch_of(newer.number(), newer.decode()?);
                if is_same && !also(branch.name()) {
                    continue;
                }
                names_now.insert(branch.name().clone());
                changed.push(branch);
            }
            if let Some(older) = older {
                let record = older.decode::<BranchRecord>()?.value;
                names_before.insert(record.name.clone());
            }
        }
        let gone = names_before.difference(&names_now).cloned().collect();
        Ok(BranchChanges { changed, gone })
    }
}

/// Takes the first of records that are not empty.
fn take_first<'a>(records: &mut &'a [Arc<Record>]) -> &'a Record {
    let (first, rest) = records.split_first().expect("there is one");
    *records = rest;
    first
}
