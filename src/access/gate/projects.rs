//! The gate's side for projects as such: listed, made, named anew, given away.

use std::collections::HashMap;

use super::{Caller, Gate};
use crate::access::account::Account;
use crate::access::error::{Error, Result};
use crate::access::rights::permission::Permissions;
use crate::base::name_error::shortened;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{Condition, Missing, Project, ProjectWriter, Rule};
use crate::store::StoreError;

/// How often a change of a project is tried that others rename or give away at the same time.
const CHANGE_ATTEMPTS_MAX: u32 = 10;

impl Gate {
    /// The caller's own projects, or with `accessible` all that grants open, each with its owner's
    /// name, in byte order of their repo ids; of these, those whose repo id is `wanted`.
    pub fn projects(
        &self,
        caller: &Caller,
        accessible: bool,
        wanted: impl Fn(&RepoId) -> bool,
    ) -> Result<Vec<(Project, String)>> {
        let rights = caller.account.rights();
        let mut names = HashMap::new();
        let mut listed = Vec::new();
        let is_listed = |project: &Project| {
            let own = project.owner() == caller.account.number;
            let listable = (own || accessible) && wanted(project.repo_id());
            listable && rights.on(project.owner(), project.repo_id()).read
        };
        for project in self.projects.all_that(is_listed)? {
            let name = match names.get(&project.owner()) {
                Some(name) => String::clone(name),
                None => self.owner_name(&project)?,
            };
            names.insert(project.owner(), name.clone());
            listed.push((project, name));
        }
        Ok(listed)
    }

    /// Makes a project that belongs to the caller.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for a name under `public/` without the right to write there;
    /// [`repo::Error::Exists`] for a name that is taken.
    pub fn create_project(&self, caller: &Caller, id: &RepoId) -> Result<Project> {
        let account = &caller.account;
        let may =
            |account: &Account, owner, id: &RepoId| account.may_at(Permissions::WRITE, owner, id);
        if !may(account, account.number, id) {
            return Err(Error::no_role(&account.name));
        }
        let projects = self.projects.clone().permitted_by(self.permit(caller, may));
        Ok(projects.create_project(id, account.number, caller.actor())?)
    }

    /// Opens a project for who may rename it, see its tokens and set its rules.
    ///
    /// # Errors
    /// As [`Gate::open`].
    pub fn open_to_manage(&self, caller: &Caller, id: &RepoId) -> Result<Project> {
        let project = self.open(caller, id)?;
        if !caller.rights_on(&project).manage {
            return Err(Error::no_role(&caller.account.name));
        }
        Ok(project)
    }

    /// Gives a project another identifier, as [`ProjectWriter::rename_project`]. Its present one is no
    /// change.
    ///
    /// # Errors
    /// As there; as [`Gate::open`], also for a new identifier that the caller could not make a project of
    /// this owner under.
    pub fn rename_project(&self, caller: &Caller, id: &RepoId, new_id: &RepoId) -> Result<Project> {
        let new = new_id.clone();
        let may = move |account: &Account, owner| account.may_at(Permissions::WRITE, owner, &new);
        self.change_project(caller, id, may, |writer| {
            if new_id == id {
                return Ok(Project::clone(&writer));
            }
            Ok(writer.rename_project(new_id)?)
        })
    }

    /// Gives a project to the account of this name, as [`ProjectWriter::transfer_project`]. To the one that
    /// has it is no change.
    ///
    /// # Errors
    /// As there; as [`Gate::open`]; [`Error::Forbidden`] for who has not the role for everything;
    /// [`Error::Invalid`] for a name that no enabled account has.
    pub fn transfer_project(&self, caller: &Caller, id: &RepoId, owner: &str) -> Result<Project> {
        let may = |account: &Account, _| account.is_root();
        self.change_project(caller, id, may, |writer| {
            self.require_root(caller)?;
            let new = self.known_account(owner)?;
            if new.as_ref().is_some_and(|new| new.number == writer.owner()) {
                return Ok(Project::clone(&writer));
            }
            let new = new.filter(|new| new.enabled);
            let shown = shortened(owner);
            let none = || Error::invalid(format!("there is no enabled user \"{shown}\""));
            let new = new.ok_or_else(none)?;
            Ok(writer.transfer_project(new.number, &new.name)?)
        })
    }

    /// Gives a project rules for its contents, as [`ProjectWriter::set_rules_if`].
    ///
    /// # Errors
    /// As there; as [`Gate::open`], also for who may see it but not manage it.
    pub fn set_rules(
        &self,
        caller: &Caller,
        id: &RepoId,
        rules: &[Rule],
        condition: &Condition,
    ) -> Result<()> {
        self.change_project(
            caller,
            id,
            |_, _| true,
            |writer| Ok(writer.set_rules_if(rules, condition)?),
        )
    }

    /// Opens a project to manage it and changes it, while who may manage it also `may` do this where the account of
    /// this number owns it. Where somebody renamed it or gave it away meanwhile, the caller's right is judged anew.
    fn change_project<T>(
        &self,
        caller: &Caller,
        id: &RepoId,
        may: impl Fn(&Account, u64) -> bool + Send + Sync + 'static,
        change: impl Fn(ProjectWriter) -> Result<T>,
    ) -> Result<T> {
        let permit = self.permit(caller, move |account, owner, repo_id| {
            account.rights().on(owner, repo_id).manage && may(account, owner)
        });
        for _ in 0..CHANGE_ATTEMPTS_MAX {
            let project = self.open_to_manage(caller, id)?;
            let writer = ProjectWriter::new(project, caller.actor()).permitted_by(permit.clone());
            match change(writer) {
                Err(Error::Repo(repo::Error::NotFound {
                    what: Missing::Project,
                })) => {}
                done => return done,
            }
        }
        Err(StoreError::Busy.into())
    }
}
