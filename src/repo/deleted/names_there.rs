//! The names that forgotten projects and branches have in the older system which they came from: by these
//! it is known that they were deleted here, and are not to come again by themselves.

use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::object::key;
use crate::object::record::{BranchRecord, ProjectRecord};
use crate::repo::{Projects, Result};
use crate::store::{Batch, Expect, Scan, Values};

impl Projects {
    /// What came from an older system and is forgotten here, by its names there; without a branch, a
    /// project.
    ///
    /// # Limits
    /// Memory of some 100 bytes for each.
    pub fn forgotten(&self) -> Result<Vec<(RepoId, Option<BranchName>)>> {
        let mut names = Vec::new();
        for key in self.keys_under(key::FORGOTTEN_PROJECTS)? {
            let id = RepoId::parse(&key).ok();
            names.extend(id.map(|id| (id, None)));
        }
        for key in self.keys_under(key::FORGOTTEN_BRANCHES)? {
            let named = key.split_once('/').and_then(|(number, name)| {
                let number = u64::from_str_radix(number, 16).ok()?;
                Some((number, BranchName::parse(name).ok()?))
            });
            let Some((number, name)) = named else {
                continue;
            };
            // That of a deleted project counts again when the project is restored.
            if let Some(project) = self.sound_living(number)? {
                let id = project.moved_from().unwrap_or(project.repo_id());
                names.push((id.clone(), Some(name)));
            }
        }
        Ok(names)
    }

    /// What follows a prefix in the keys that begin so.
    fn keys_under(&self, prefix: &str) -> Result<Vec<String>> {
        let records = self.store().scan(Scan {
            values: Values::Unread,
            ..Scan::prefix(prefix)
        })?;
        let rest = records.iter().filter_map(|r| r.key.strip_prefix(prefix));
        Ok(rest.map(str::to_owned).collect())
    }

    /// Has a batch remove the record under this key of what is made anew.
    pub(in crate::repo) fn make_anew(&self, key: String, batch: &mut Batch) -> Result<()> {
        if self.store().record(&key)?.is_some() {
            batch.delete(key, Expect::Anything);
        }
        Ok(())
    }
}

/// Has a batch that begins to forget a project keep its identifier there, if it came from there.
pub(super) fn keep_project(batch: &mut Batch, number: u64, project: &ProjectRecord) {
    if let Some(there) = &project.moved_from {
        keep(batch, key::forgotten_project(there.as_str()), number);
    }
}

/// The same for a branch and its name.
pub(super) fn keep_branch(batch: &mut Batch, project: u64, number: u64, branch: &BranchRecord) {
    if branch.moved.is_some() {
        let there = branch.moved_from.as_ref().unwrap_or(&branch.name);
        keep(
            batch,
            key::forgotten_branch(project, there.as_str()),
            number,
        );
    }
}

fn keep(batch: &mut Batch, key: String, number: u64) {
    // Of two that came one after the other under one name, one record tells; a batch writes a key once.
    if batch.writes.iter().all(|write| write.key != key) {
        batch.write(key, Expect::Anything, &number);
    }
}
