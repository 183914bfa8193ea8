//! Comparing what is here with the tree.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use super::Migration;
use super::accounts::at;
use super::notes;
use super::notes::Fault;
use super::report::{Done, Kind};
use super::tokens::{State, TokenLine};
use super::tree::{OldBranch, OldProject};
use crate::access::{Account, OldToken, Tokens, Trace};
use crate::base::branch_name::BranchName;
use crate::base::id::Md5;
use crate::base::repo_id::RepoId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::Result;
use crate::repo::{Branch, DigestStep, EntryKind, Project, Revision, Snapshot};

/// Files that are named of a state that differs.
const FILES_NAMED: usize = 20;

/// A file as far as a digest tells of it.
type File = (u64, Md5);

/// What came, and is not there any more.
const ONLY_HERE: &str = "it is only here";

impl Migration<'_> {
    /// Compares everything.
    pub(super) fn verify(&mut self) -> Result<()> {
        for owner in self.tree.owners.clone() {
            self.found_account(&owner)?;
        }
        for old in std::mem::take(&mut self.tree.projects) {
            self.go_on()?;
            match self.project_here(&old)? {
                Some(project) => self.verify_project(&old, &project)?,
                None => self.report.leave_out(&old.place, "the project is not here"),
            }
            self.report.tell();
        }
        for project in self.opened.projects.all()? {
            if let Some(id) = project.repo_id_there()
                && !self.planned.contains_key(id)
            {
                let at = format!("project {}", project.repo_id());
                self.report.find(&at, ONLY_HERE);
            }
        }
        self.report.tell();
        self.each_token(Self::verify_token)?;
        if self.token_file.is_some() {
            self.tokens_only_here()?;
        }
        Ok(())
    }

    /// Names the tokens that came, and that the file has not.
    fn tokens_only_here(&mut self) -> Result<()> {
        let tokens = Tokens::new(&self.opened.projects);
        for account in self.opened.accounts.list()? {
            for token in tokens.migrated_of(&account)? {
                if !self.met_tokens.contains(&token.id) {
                    let at = format!("token {} (\"{}\" of {})", token.id, token.name, token.owner);
                    self.report.find(&at, ONLY_HERE);
                }
            }
        }
        Ok(())
    }

    /// The account that an owner has become.
    fn found_account(&mut self, owner: &str) -> Result<Option<Account>> {
        if let Some(known) = self.accounts.get(owner) {
            return Ok(known.clone());
        }
        let found = self.known_account(owner)?;
        if found.is_none() {
            let reason = format!("there is no account {}", self.owners.of(owner).account);
            self.report.find(&at(owner), &reason);
        }
        self.accounts.insert(owner.to_owned(), found.clone());
        Ok(found)
    }

    fn verify_project(&mut self, old: &OldProject, project: &Project) -> Result<()> {
        let account = self.found_account(&old.owner)?;
        let there = self.owners.of(&old.owner).account;
        let name = account.as_ref().map_or("", Account::name);
        // Snapshots that came before the account was renamed have the names that it had.
        let author = Some(name).filter(|name| *name == there);
        if account.as_ref().map(Account::number) != Some(project.owner()) {
            self.report
                .leave_out(&old.place, "the project has another owner here");
        }
        let mut met = HashSet::new();
        for (branch_name, branch) in &old.branches {
            let Some(standing) = self.branch_here(project, branch_name, branch)? else {
                continue;
            };
            if let Some(found) = standing.branch() {
                self.verify_branch(branch_name, branch, found, author)?;
                met.insert(found.name().clone());
            } else {
                self.report
                    .leave_out(&branch.place, "the branch is not here");
            }
        }
        for branch in project.branches()? {
            if branch.is_migrated() && !met.contains(branch.name()) {
                let at = format!("{}:{}", project.repo_id(), branch.name());
                self.report.find(&at, "the branch is only here");
            }
        }
        Ok(())
    }

    fn verify_branch(
        &mut self,
        name: &BranchName,
        branch: &OldBranch,
        found: &Branch,
        author: Option<&str>,
    ) -> Result<()> {
        for (number, place) in &branch.snapshots {
            let version = SnapshotVersion::new(*number);
            let before = SnapshotVersion::new(number + 1);
            let snapshot = found.history(Some(before), Some(1))?.pop();
            if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.version == version) {
                self.verify_notes(place, &snapshot, author);
                self.compare(place, &snapshot.revision)?;
            } else {
                let reason = format!("{name}@{version} is not here");
                self.report.leave_out(place, &reason);
            }
        }
        self.compare(&branch.place, &found.head())
    }

    /// Compares the date and the author. Where the tree names none, that is `author`, if anybody can be told.
    fn verify_notes(&mut self, place: &Path, snapshot: &Snapshot, author: Option<&str>) {
        let author = author.unwrap_or(&snapshot.created_by);
        let notes = match notes::of_snapshot(&self.tree.folder, place, author) {
            Ok(notes) => notes,
            Err(Fault::Folder(reason)) => return self.report.leave_out(place, &reason),
            Err(Fault::Notes(reason)) => {
                let place = place.with_extension("json");
                return self.report.leave_out(&place, &reason);
            }
        };
        let (here, there) = (snapshot.created_at, notes.replaced.at);
        if here != there {
            let reason = format!("it has the date {here} here, {there} in the tree");
            self.report.leave_out(place, &reason);
        }
        let (here, there) = (&snapshot.created_by, &notes.replaced.by);
        if here != there {
            let reason = format!("its author is {here} here, {there} in the tree");
            self.report.leave_out(place, &reason);
        }
    }

    /// Compares a state with a folder by their digests, and names what differs.
    fn compare(&mut self, place: &Path, state: &Revision) -> Result<()> {
        self.go_on()?;
        let Some(there) = self.digest(place)? else {
            return Ok(());
        };
        self.report.compared();
        let here = self.digest_of(state)?;
        if here == there {
            return Ok(());
        }
        let reason = format!("its digest is {here} here, {there} in the tree");
        self.report.leave_out(place, &reason);
        let differences = self.differences(place, state)?;
        let count = differences.len();
        for (path, reason) in differences.into_iter().take(FILES_NAMED) {
            self.report.leave_out(&place.join(path), reason);
        }
        if count > FILES_NAMED {
            let reason = format!("{} more files differ", count - FILES_NAMED);
            self.report.leave_out(place, &reason);
        }
        Ok(())
    }

    /// The files that differ, with how.
    ///
    /// # Limits
    /// Memory grows with the files of the state.
    fn differences(
        &mut self,
        place: &Path,
        state: &Revision,
    ) -> Result<Vec<(String, &'static str)>> {
        let mut here: BTreeMap<String, File> = BTreeMap::new();
        for entry in state.list(None, true)? {
            if let EntryKind::File { size, md5, .. } = entry.kind {
                here.insert(entry.path, (size, md5));
            }
        }
        let mut differences = Vec::new();
        let folder = self.tree.folder.below(place);
        let folder = folder.map_err(crate::cli::Error::file("reading", place))?;
        let stop = &self.stop;
        let whole = folder.digest(self.file_limit, |step| {
            if let DigestStep::File { path, size, md5 } = step {
                match here.remove(path.as_str()) {
                    Some(known) if known == (size, md5) => {}
                    Some(_) => differences.push((path.to_string(), "the file is another here")),
                    None => differences.push((path.to_string(), "the file is not here")),
                }
            }
            if stop.is_asked() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if whole.is_none() {
            self.go_on()?;
        }
        let more = here.into_keys();
        differences.extend(more.map(|path| (path, "the file is only here")));
        Ok(differences)
    }

    /// What projects of the tree are called here; one that is not here stays as it is.
    fn repos_here(&self, repos: &[String]) -> Result<Vec<String>> {
        let mut here = Vec::with_capacity(repos.len());
        for repo in repos {
            let found = match RepoId::parse(repo) {
                Ok(id) => self.opened.projects.project_from(&id)?,
                Err(_) => None,
            };
            here.push(found.map_or_else(|| repo.clone(), |found| found.repo_id().to_string()));
        }
        Ok(here)
    }

    fn verify_token(&mut self, at: &str, line: &TokenLine, old: &OldToken) -> Result<()> {
        let account = self.found_account(&line.owner)?;
        let tokens = Tokens::new(&self.opened.projects);
        let mut reasons = Vec::new();
        match tokens.trace(old.digest)? {
            Trace::Present { view, .. } if line.state == State::Revoked => {
                reasons.push("it is revoked there, and not here");
                self.met_tokens.insert(view.id);
            }
            Trace::Absent | Trace::Revoked if line.state == State::Revoked => {}
            Trace::Absent => reasons.push("it is not here"),
            Trace::Revoked => reasons.push("it was revoked here"),
            Trace::Present {
                account: number,
                view,
                is_value,
            } => {
                let sorted = |repos: &[String]| {
                    let mut repos = repos.to_vec();
                    repos.sort();
                    repos.dedup();
                    repos
                };
                let instance = old.instance.as_ref().map(|(id, key)| (id.as_str(), key));
                for (is_other, reason) in [
                    (!is_value, "it has another value here"),
                    (
                        account.map(|account| account.number()) != Some(number),
                        "it belongs to another account here",
                    ),
                    (view.name != old.name, "it has another name here"),
                    (
                        sorted(&view.repos) != sorted(&self.repos_here(&old.repos)?),
                        "it is for other projects here",
                    ),
                    (
                        view.expires_at != old.expires_at,
                        "it ends at another time here",
                    ),
                    (
                        view.fingerprint_required != old.fingerprint_required,
                        "fingerprint_required is another here",
                    ),
                    (
                        instance.is_some() && !tokens.is_bound_to(old.digest, instance)?,
                        "it is bound to another instance here",
                    ),
                    (
                        old.created_at.is_some_and(|at| at != view.created_at),
                        "it was made at another time here",
                    ),
                    (
                        view.last_used_at < old.last_used_at,
                        "it was used there after it was used here",
                    ),
                ] {
                    if is_other {
                        reasons.push(reason);
                    }
                }
                self.met_tokens.insert(view.id);
            }
        }
        if reasons.is_empty() {
            self.report
                .step(Done::Unchanged, Kind::Token, line.name.clone(), 0);
        }
        for reason in reasons {
            self.report.find(at, reason);
        }
        Ok(())
    }
}
