//! Projects and branches of the tree, found under the names that they have here.

use std::collections::HashMap;

use super::Migration;
use super::tree::{OldBranch, OldProject};
use crate::base::branch_name::BranchName;
use crate::cli::Result;
use crate::repo::Project;

impl Migration<'_> {
    /// The project that one of the tree is here; told if it has another name.
    pub(super) fn project_here(&mut self, old: &OldProject) -> Result<Option<Project>> {
        let found = self.opened.projects.project_from(&old.repo_id)?;
        if let Some(found) = &found
            && *found.repo_id() != old.repo_id
        {
            let remark = format!("it is project {} here", found.repo_id());
            self.report.remark(&old.place, &remark);
        }
        Ok(found)
    }

    /// The name that a branch of the tree has here. `None` if another branch of the tree has it.
    pub(super) fn branch_here(
        &mut self,
        renamed: &HashMap<BranchName, BranchName>,
        name: &BranchName,
        branch: &OldBranch,
    ) -> Option<BranchName> {
        if let Some(here) = renamed.get(name) {
            self.report
                .remark(&branch.place, &format!("it is branch {here} here"));
            return Some(here.clone());
        }
        let Some((there, _)) = renamed.iter().find(|(_, here)| *here == name) else {
            return Some(name.clone());
        };
        let reason =
            format!("the branch of this name here is {there} of the tree; it stays as it is");
        self.report.leave_out(&branch.place, &reason);
        None
    }
}

/// The branches of a project that have another name here, by their names in the tree.
pub(super) fn renamed_branches(
    project: Option<&Project>,
) -> Result<HashMap<BranchName, BranchName>> {
    Ok(match project {
        Some(project) => project.renamed_branches()?,
        None => HashMap::new(),
    })
}
