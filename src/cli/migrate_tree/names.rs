//! Projects and branches of the tree, found under the names that they have here.

use super::Migration;
use super::tree::{OldBranch, OldProject};
use crate::base::branch_name::BranchName;
use crate::cli::Result;
use crate::repo::{Project, Standing};

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

    /// How a branch of the tree stands here; told if it has another name here. `None` if another branch of the tree
    /// has its name here.
    pub(super) fn branch_here(
        &mut self,
        project: &Project,
        name: &BranchName,
        branch: &OldBranch,
    ) -> Result<Option<Standing>> {
        let standing = project.standing(name)?;
        if let Standing::Taken(other) = &standing {
            let reason = format!(
                "the branch of this name here is {} of the tree; it stays as it is",
                other.name_there()
            );
            self.report.leave_out(&branch.place, &reason);
            return Ok(None);
        }
        if let Some(found) = standing.branch()
            && found.name() != name
        {
            let remark = format!("it is branch {} here", found.name());
            self.report.remark(&branch.place, &remark);
        }
        Ok(Some(standing))
    }
}
