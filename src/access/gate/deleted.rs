//! The gate's side for what was deleted: an owner and the role for everything see it, and restore it.

use super::{Caller, Gate};
use crate::access::account::Account;
use crate::access::error::{Error, Result};
use crate::access::rights::permission::Permissions;
use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{Branch, CountLimits, Deleted, DeletedId, Missing, Project};

/// What was restored.
#[derive(Clone, Debug)]
pub enum Restored {
    /// A project.
    Project(Project),
    /// A branch.
    Branch(Branch),
}

impl Gate {
    /// What was deleted and the caller may restore, the newest deletion first: of the caller's own projects, or
    /// with `accessible` of all. As it grows, `allows` is asked for each length that it comes to.
    ///
    /// # Errors
    /// Those of `allows`.
    pub fn deleted<E: From<repo::Error>>(
        &self,
        caller: &Caller,
        accessible: bool,
        mut allows: impl FnMut(usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Deleted>, E> {
        let mut count = 0;
        self.projects.deleted_while(|deleted| {
            let own = deleted.owner() == caller.account.number;
            let wanted = (own || accessible)
                && may_restore(&caller.account, deleted.owner(), deleted.repo_id());
            if wanted {
                count += 1;
                allows(count)?;
            }
            Ok(wanted)
        })
    }

    /// The name of the account that owns the project, or the branch's project; empty when it is gone.
    pub fn owner_name_of_deleted(&self, deleted: &Deleted) -> Result<String> {
        self.account_name(deleted.owner())
    }

    /// Restores what was deleted, under another name if one is given: the identifier of a project, the
    /// name of a branch.
    ///
    /// # Errors
    /// [`Missing::Deleted`] for an id that nothing has, or what the caller may not restore;
    /// [`Error::Forbidden`] for a new name that the caller could not make a project under;
    /// [`repo::Error::Exists`] for a name that is taken; [`repo::Error::Invalid`] for one that breaks its
    /// rule, and for one more than there may be, but for the role for everything.
    pub fn restore(&self, caller: &Caller, id: &str, new_name: Option<&str>) -> Result<Restored> {
        let account = &caller.account;
        let id: DeletedId = id.parse()?;
        let deleted = self.projects.deleted_by_id(id)?;
        if !may_restore(account, deleted.owner(), deleted.repo_id()) {
            return Err(repo::Error::missing(Missing::Deleted).into());
        }
        let invalid = |refused| Error::Repo(repo::Error::from(refused));
        let mut projects = self.projects.clone();
        if account.is_root() {
            projects = projects.with_count_limits(CountLimits::NONE);
        }
        match id {
            DeletedId::Project(number) => {
                let new_id = new_name.map(RepoId::parse).transpose().map_err(invalid)?;
                let wanted = new_id.clone();
                let may_name = move |account: &Account, owner| {
                    let mut wanted = wanted.iter();
                    wanted.all(|id| account.may_at(Permissions::WRITE, owner, id))
                };
                if !may_name(account, deleted.owner()) {
                    return Err(Error::no_role(&account.name));
                }
                let permit = self.permit(caller, move |account, owner, repo_id| {
                    may_restore(account, owner, repo_id) && may_name(account, owner)
                });
                let projects = projects.permitted_by(permit);
                let project = projects.restore_project(number, new_id.as_ref(), &caller.actor())?;
                Ok(Restored::Project(project))
            }
            DeletedId::Branch(project, number) => {
                let name = new_name.map(BranchName::parse).transpose();
                let name = name.map_err(invalid)?;
                let projects = projects.permitted_by(self.permit(caller, may_restore));
                let branch =
                    projects.restore_branch(project, number, name.as_ref(), &caller.actor())?;
                Ok(Restored::Branch(branch))
            }
        }
    }
}

/// True for the owner and for the role for everything, where their grants let them write and delete
/// there. Who may merely delete in a project of another does not take that back.
fn may_restore(account: &Account, owner: u64, repo_id: &RepoId) -> bool {
    account.rights().on(owner, repo_id).manage
}
