//! Bringing accounts, projects, branches and tokens, or saying what would be brought.

use std::path::Path;

use super::Migration;
use super::notes;
use super::report::{Done, Kind};
use super::tokens::{State, TokenLine};
use super::tree::{OldBranch, OldProject};
use crate::access;
use crate::access::{Account, Brought, OldToken, Tokens, Trace};
use crate::base::account_name::AccountName;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::repo_id::RepoId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::{Error, Result};
use crate::repo;
use crate::repo::{Author, OldSnapshot, Project, ProjectWriter, Standing};

/// What was changed here since it came.
const CHANGED_HERE: &str = "the branch was changed here since it came, and the tree has something else; \
                            it stays as it is here";
/// What was made here.
const MADE_HERE: &str = "there is a branch of this name that was made here; it stays as it is";

impl Migration<'_> {
    /// Brings everything.
    pub(super) fn bring(&mut self) -> Result<()> {
        for owner in self.tree.owners.clone() {
            self.account(&owner)?;
        }
        for project in std::mem::take(&mut self.tree.projects) {
            self.project(&project)?;
            self.report.tell();
        }
        self.each_token(Self::token)?;
        let unknown: Vec<_> = self.owners.names().map(str::to_owned).collect();
        for owner in unknown {
            if !self.accounts.contains_key(&owner) {
                let reason = format!("\"{owner}\" owns nothing in the tree");
                self.report.find("owner map", &reason);
            }
        }
        Ok(())
    }

    /// The account that an owner becomes: found, or made. `None` when that cannot be, or is only said.
    pub(super) fn account(&mut self, owner: &str) -> Result<Option<Account>> {
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        let becomes = self.owners.of(owner);
        let accounts = &self.opened.accounts;
        let name = becomes.account.clone();
        let found = match accounts.by_name(&name) {
            Ok(account) => {
                for role in &becomes.roles {
                    if !account.roles().contains(role) {
                        let reason = format!(
                            "account {name} is here, and has not {role}; \"siteconf user role add\" \
                             gives it"
                        );
                        self.report.find("owner map", &reason);
                    }
                }
                self.step(Done::Unchanged, Kind::Account, &name);
                Some(Account::clone(&account))
            }
            Err(access::Error::NoSuchAccount { .. }) if self.dry_run => {
                match AccountName::parse(&name) {
                    Ok(_) => self.step(Done::Made, Kind::Account, &name),
                    Err(refused) => self.refuse_owner(owner, &refused.to_string()),
                }
                None
            }
            Err(access::Error::NoSuchAccount { .. }) => {
                let made = match &becomes.password {
                    Some(password) => accounts.create(&name, password, &becomes.roles),
                    None => accounts.create_without_password(&name, &becomes.roles),
                };
                match made {
                    Ok(account) => {
                        self.step(Done::Made, Kind::Account, &name);
                        Some(account)
                    }
                    Err(access::Error::Invalid { reason }) => {
                        self.refuse_owner(owner, &reason);
                        None
                    }
                    Err(failed) => return Err(failed.into()),
                }
            }
            Err(failed) => return Err(failed.into()),
        };
        self.accounts.insert(owner.to_owned(), found.clone());
        Ok(found)
    }

    fn refuse_owner(&mut self, owner: &str, reason: &str) {
        let reason = format!("{reason}; an owner map gives the owner another account");
        self.report.find(&format!("owner \"{owner}\""), &reason);
    }

    fn project(&mut self, old: &OldProject) -> Result<()> {
        self.go_on()?;
        let Some(account) = self.account(&old.owner)? else {
            if self.dry_run {
                self.step(Done::Made, Kind::Project, old.repo_id.as_str());
                for (name, branch) in &old.branches {
                    self.preview(old, name, branch, None)?;
                }
            } else {
                self.report
                    .leave_out(&old.place, "there is no account for its owner");
            }
            return Ok(());
        };
        let found = match self.opened.repository.project(&old.repo_id) {
            Ok(found) if found.owner() != account.number() => {
                let reason = format!(
                    "project {} is here already, and is not owned by {}",
                    old.repo_id,
                    account.name()
                );
                self.report.leave_out(&old.place, &reason);
                return Ok(());
            }
            Ok(found) => {
                self.step(Done::Unchanged, Kind::Project, old.repo_id.as_str());
                Some(found)
            }
            Err(repo::Error::NotFound { .. }) => {
                if self.was_deleted(old, None) {
                    return Ok(());
                }
                self.step(Done::Made, Kind::Project, old.repo_id.as_str());
                None
            }
            Err(failed) => return Err(failed.into()),
        };
        if self.dry_run {
            for (name, branch) in &old.branches {
                self.preview(old, name, branch, found.as_ref())?;
            }
            return Ok(());
        }
        let project = match found {
            Some(project) => project,
            None => self.opened.repository.create_project_at(
                &old.repo_id,
                account.number(),
                self.begin_of(old),
                &self.opened.actor,
            )?,
        };
        let writer = ProjectWriter::new(project, self.opened.actor.clone());
        for (name, branch) in &old.branches {
            match self.branch(old, name, branch, &writer, account.name()) {
                Err(Error::Repo(repo::Error::Invalid { reason })) => {
                    self.report.leave_out(&branch.place, &reason);
                }
                outcome => outcome?,
            }
            self.report.tell();
        }
        Ok(())
    }

    /// Since when a project is there, as far as the tree tells.
    fn begin_of(&self, old: &OldProject) -> Timestamp {
        let tree = &self.tree.folder;
        let first = |branch: &OldBranch| {
            let first = branch.snapshots.values().next()?;
            let notes = notes::of_snapshot(tree, first, "").ok()?;
            Some(notes.0.replaced.at)
        };
        let own = tree
            .below(&old.place)
            .and_then(|folder| folder.modified_at());
        let firsts = old.branches.values().filter_map(first);
        let now = self.opened.repository.clock().now();
        firsts.chain(own.ok()).min().unwrap_or(now)
    }

    fn branch(
        &mut self,
        old: &OldProject,
        name: &BranchName,
        branch: &OldBranch,
        writer: &ProjectWriter,
        account: &str,
    ) -> Result<()> {
        self.go_on()?;
        let (known, head) = match writer.standing(name)? {
            Standing::Absent if self.was_deleted(old, Some(name)) => return Ok(()),
            Standing::Absent => (0, None),
            Standing::AsMoved(found) => (found.snapshot_count(), Some(found.head())),
            standing => return self.leave(old, name, branch, &standing),
        };
        let is_new = head.is_none();
        let mut moving = writer.move_branch(name)?;
        let (mut kept, file_bytes_max) = (head.clone(), self.file_bytes_max);
        for (number, place) in branch.snapshots.range(known + 1..) {
            self.go_on()?;
            let Some(notes) = self.notes(place, account) else {
                continue;
            };
            let state = self.read(place, |folder, step| {
                moving.read(folder, file_bytes_max, kept.take().as_ref(), step)
            })?;
            let Some((state, _)) = state else {
                continue;
            };
            moving.add(OldSnapshot {
                version: SnapshotVersion::new(*number),
                state,
                replaced: notes.replaced,
                operation: notes.operation,
                path: notes.path,
                message: notes.message,
            })?;
        }
        let at = self.tree.folder.below(&branch.place);
        let at = at.and_then(|folder| folder.newest_at());
        let head_author = Author {
            at: at.unwrap_or_else(|_| self.opened.repository.clock().now()),
            by: account.to_owned(),
        };
        let state = self.read(&branch.place, |folder, step| {
            moving.read(folder, file_bytes_max, head.as_ref(), step)
        })?;
        let Some((state, _)) = state else {
            return Ok(());
        };
        let laid = moving.finish(state, &head_author)?;
        let done = match (is_new, laid.changed) {
            (true, _) => Done::Made,
            (false, true) => Done::Changed,
            (false, false) => Done::Unchanged,
        };
        let shown = format!("{}:{name}", old.repo_id);
        self.report.step(done, Kind::Branch, shown, laid.snapshots);
        Ok(())
    }

    /// Says what would come of a branch.
    fn preview(
        &mut self,
        old: &OldProject,
        name: &BranchName,
        branch: &OldBranch,
        project: Option<&Project>,
    ) -> Result<()> {
        self.go_on()?;
        let standing = match project {
            Some(project) => project.standing(name)?,
            None => Standing::Absent,
        };
        let (known, head) = match standing {
            Standing::Absent if self.was_deleted(old, Some(name)) => return Ok(()),
            Standing::Absent => (0, None),
            Standing::AsMoved(found) => (found.snapshot_count(), Some(found.head())),
            standing => return self.leave(old, name, branch, &standing),
        };
        let mut snapshots = 0;
        for place in branch.snapshots.range(known + 1..).map(|(_, place)| place) {
            if self.notes(place, "").is_some() && self.digest(place)?.is_some() {
                snapshots += 1;
            }
        }
        let Some(digest) = self.digest(&branch.place)? else {
            return Ok(());
        };
        let done = match head {
            None => Done::Made,
            Some(head) if snapshots == 0 && self.digest_of(&head)? == digest => Done::Unchanged,
            Some(_) => Done::Changed,
        };
        let shown = format!("{}:{name}", old.repo_id);
        self.report.step(done, Kind::Branch, shown, snapshots);
        Ok(())
    }

    /// Leaves a branch as it is here, and names it where the tree has something else.
    fn leave(
        &mut self,
        old: &OldProject,
        name: &BranchName,
        branch: &OldBranch,
        standing: &Standing,
    ) -> Result<()> {
        let (known, state, reason) = match standing {
            Standing::Changed {
                snapshots, left, ..
            } => (*snapshots, left.clone(), CHANGED_HERE),
            Standing::Own(branch) => (0, Some(branch.head()), MADE_HERE),
            Standing::Absent | Standing::AsMoved(_) => return Ok(()),
        };
        let has_new = branch.snapshots.range(known + 1..).next().is_some();
        if let Some(state) = state
            && !has_new
            && self.digest(&branch.place)? == Some(self.digest_of(&state)?)
        {
            let shown = format!("{}:{name}", old.repo_id);
            self.report.step(Done::Unchanged, Kind::Branch, shown, 0);
        } else {
            self.report.leave_out(&branch.place, reason);
        }
        Ok(())
    }

    /// True if a project, or a branch of it, was deleted here, and is not wanted anew.
    fn was_deleted(&mut self, old: &OldProject, branch: Option<&BranchName>) -> bool {
        let what = (old.repo_id.clone(), branch.cloned());
        if self.renew || !self.deleted.contains(&what) {
            return false;
        }
        let place = branch.map_or(&old.place, |name| &old.branches[name].place);
        self.report
            .leave_out(place, "it was deleted here; --renew makes it anew");
        true
    }

    /// What is known of a snapshot.
    pub(super) fn notes(&mut self, place: &Path, account: &str) -> Option<notes::Notes> {
        match notes::of_snapshot(&self.tree.folder, place, account) {
            Ok((notes, fault)) => {
                if let Some(fault) = fault {
                    self.report.leave_out(&place.with_extension("json"), &fault);
                }
                Some(notes)
            }
            Err(reason) => {
                self.report.leave_out(place, &reason);
                None
            }
        }
    }

    fn step(&mut self, done: Done, kind: Kind, name: &str) {
        self.report.step(done, kind, name.to_owned(), 0);
    }

    /// Brings a token, or what changed of it.
    fn token(&mut self, at: &str, line: &TokenLine, old: &OldToken) -> Result<()> {
        let account = self.account(&line.owner)?;
        let tokens = Tokens::new(&self.opened.repository);
        let trace = tokens.trace(old.digest)?;
        let outcome = match (&account, trace) {
            (_, Trace::Absent | Trace::Revoked) if line.state == State::Revoked => {
                Ok(Done::Unchanged)
            }
            (None, _) if !self.dry_run => {
                self.report.find(at, "there is no account for its owner");
                return Ok(());
            }
            (_, Trace::Absent) if self.dry_run => match self.unknown_repo(&line.repos) {
                Some(repo) => Err(format!("there is no project \"{repo}\"")),
                None => Ok(Done::Made),
            },
            (Some(account), Trace::Present(number, view)) if line.state == State::Revoked => {
                if number == account.number() {
                    if !self.dry_run {
                        tokens.revoke(account, &view.id, &self.opened.actor)?;
                    }
                    Ok(Done::Revoked)
                } else {
                    Err("it belongs to another account here".to_owned())
                }
            }
            (None, _) => Err("it belongs to another account here".to_owned()),
            (Some(account), _) => {
                let actor = &self.opened.actor;
                match tokens.bring(account, old, actor, self.dry_run) {
                    Ok(Brought::Made) => Ok(Done::Made),
                    Ok(Brought::Changed) => Ok(Done::Changed),
                    Ok(Brought::Unchanged) => Ok(Done::Unchanged),
                    Err(access::Error::Invalid { reason }) => Err(reason),
                    Err(access::Error::Forbidden(_)) => Err(format!(
                        "{} may not read every project that it is for",
                        account.name()
                    )),
                    Err(failed) => return Err(failed.into()),
                }
            }
        };
        match outcome {
            Ok(done) => {
                let shown = format!("\"{}\" of {}", line.name, line.owner);
                self.report.step(done, Kind::Token, shown, 0);
            }
            Err(reason) => self.report.find(at, &reason),
        }
        Ok(())
    }

    /// The first of these projects that is neither here nor in the tree.
    fn unknown_repo<'r>(&self, repos: &'r [String]) -> Option<&'r str> {
        let is_known = |repo: &str| {
            repo == "*"
                || self.planned.contains(repo)
                || RepoId::parse(repo).is_ok_and(|id| self.opened.repository.project(&id).is_ok())
        };
        repos
            .iter()
            .map(String::as_str)
            .find(|repo| !is_known(repo))
    }
}
