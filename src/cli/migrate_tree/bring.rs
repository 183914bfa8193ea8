//! Bringing projects and branches, or saying what would be brought.

use std::path::Path;

use super::Migration;
use super::notes;
use super::notes::{Fault, Notes};
use super::report::{Done, Kind};
use super::tree::{OldBranch, OldProject};
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::{Error, Result};
use crate::repo;
use crate::repo::{
    Author, BranchMove, Missing, OldSnapshot, Project, ProjectWriter, Revision, Standing,
};

/// What was changed here since it came.
const CHANGED_HERE: &str = "the branch was changed here since it came, and the tree has something else; \
                            it stays as it is here";
/// What changed there just now.
const SAVED_MEANWHILE: &str = "it was saved there while it was read; run this again";
/// What came so far, without the head.
const PARTLY: &str = "some of its old snapshots came, and until the rest does it is in a state of then; run \
                      this again";
/// What has old snapshots that cannot be taken.
const UNLISTED: &str =
    "its old snapshots cannot be listed; nothing of the branch is brought before they can";
/// What was deleted here.
const DELETED: &str = "it was deleted here; --renew makes it anew";
/// A project that went while it was brought.
const DELETED_MEANWHILE: &str = "the project was deleted here meanwhile";
/// What was made here.
const MADE_HERE: &str = "there is a branch of this name that was made here; it stays as it is";

impl Migration<'_> {
    /// Brings everything.
    pub(super) fn bring(&mut self) -> Result<()> {
        // Those without an entry in the map come first: what they are does not hang on who else is given an
        // account of their name.
        let mut owners = self.tree.owners.clone();
        owners.sort_by_key(|owner| self.owners.has(owner));
        for owner in owners {
            self.account(&owner)?;
        }
        for project in std::mem::take(&mut self.tree.projects) {
            match self.project(&project) {
                Err(Error::Repo(repo::Error::NotFound {
                    what: Missing::Project,
                })) => self.report.leave_out(&project.place, DELETED_MEANWHILE),
                outcome => outcome?,
            }
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

    fn project(&mut self, old: &OldProject) -> Result<()> {
        self.go_on()?;
        let Some(account) = self.account(&old.owner)? else {
            self.report
                .leave_out(&old.place, "there is no account for its owner");
            return Ok(());
        };
        let id = &old.repo_id;
        let found = self.project_here(old)?;
        match &found {
            Some(found) if found.owner() != account.number() => {
                let reason = format!(
                    "project {} is here already, and is not owned by {}",
                    found.repo_id(),
                    account.name()
                );
                self.report.leave_out(&old.place, &reason);
                return Ok(());
            }
            Some(_) => self.step(Done::Unchanged, Kind::Project, id.as_str()),
            None if self.was_deleted(old)? || self.is_taken(old)? => return Ok(()),
            None => self.step(Done::Made, Kind::Project, id.as_str()),
        }
        if self.dry_run {
            self.planned.insert(id.clone(), Some(old.owner.clone()));
            for (name, branch) in &old.branches {
                self.preview(old, name, branch, found.as_ref())?;
            }
            return Ok(());
        }
        let project = match found {
            Some(project) => project,
            None => self.opened.projects.create_project_from(
                id,
                account.number(),
                self.begin_of(old),
                &self.opened.actor,
            )?,
        };
        let is_known = project.repo_id_there().is_some();
        let writer = ProjectWriter::new(project, self.opened.actor.clone());
        if !is_known {
            writer.keep_identifier(id)?;
        }
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
            Some(notes.replaced.at)
        };
        let own = tree
            .below(&old.place)
            .and_then(|folder| folder.modified_at());
        let firsts = old.branches.values().filter_map(first);
        let now = self.opened.projects.clock().now();
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
        let Some(standing) = self.branch_here(writer, name, branch)? else {
            return Ok(());
        };
        let Some((known, head)) = self.begin_branch(old, name, branch, &standing)? else {
            return Ok(());
        };
        let Some(all_notes) = self.all_notes(branch, known, account) else {
            return Ok(());
        };
        let came = if head.is_none() {
            Done::Made
        } else {
            Done::Changed
        };
        let mut moving = writer.move_branch(name, &standing)?;
        let laid = self.lay(branch, all_notes, head.as_ref(), &mut moving, account);
        let snapshots = moving.laid();
        let done = match laid {
            Ok(Some(false)) if came == Done::Changed => Some(Done::Unchanged),
            Ok(Some(_)) => Some(came),
            // What came before the rest was left out, or failed, stays.
            Ok(None) | Err(_) if snapshots > 0 => {
                self.report.leave_out(&branch.place, PARTLY);
                Some(came)
            }
            Ok(None) | Err(_) => None,
        };
        if let Some(done) = done {
            let shown = format!("{}:{name}", old.repo_id);
            self.report.step(done, Kind::Branch, shown, snapshots);
        }
        laid.map(drop)
    }

    /// Lays the snapshots of a branch and its head. False if all of it was there; `None` if the head was
    /// left out.
    fn lay(
        &mut self,
        branch: &OldBranch,
        all_notes: Vec<(u64, &Path, Notes)>,
        head: Option<&Revision>,
        moving: &mut BranchMove<'_>,
        account: &str,
    ) -> Result<Option<bool>> {
        let (mut kept, file_limit) = (head.cloned(), self.file_limit);
        for (number, place, notes) in all_notes {
            self.go_on()?;
            let state = self.read(place, |folder, step| {
                moving.read(folder, file_limit, kept.take().as_ref(), step)
            })?;
            let Some((state, _)) = state else {
                continue;
            };
            moving.add(OldSnapshot {
                version: SnapshotVersion::new(number),
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
            at: at.unwrap_or_else(|_| self.opened.projects.clock().now()),
            by: account.to_owned(),
        };
        let state = self.read(&branch.place, |folder, step| {
            moving.read(folder, file_limit, head, step)
        })?;
        let Some((state, _)) = state else {
            return Ok(None);
        };
        if self.tree.has_moved_on(branch)? {
            self.report.leave_out(&branch.place, SAVED_MEANWHILE);
            return Ok(None);
        }
        Ok(Some(moving.finish(&state, &head_author)?.changed))
    }

    /// What of a branch is known here, before anything comes: its snapshots, and the state that it is in.
    /// `None` if it is left as it is.
    fn begin_branch(
        &mut self,
        old: &OldProject,
        name: &BranchName,
        branch: &OldBranch,
        standing: &Standing,
    ) -> Result<Option<(u64, Option<Revision>)>> {
        let found = match standing {
            Standing::Deleted if !self.renew => {
                self.report.leave_out(&branch.place, DELETED);
                return Ok(None);
            }
            Standing::Absent | Standing::Deleted => None,
            Standing::AsMigrated(found) => Some(found),
            standing => {
                self.leave(old, name, branch, standing)?;
                return Ok(None);
            }
        };
        // A branch that stays as it is waits for nothing.
        if !branch.is_listed {
            self.report.leave_out(&branch.place, UNLISTED);
            return Ok(None);
        }
        let Some(found) = found else {
            return Ok(Some((0, None)));
        };
        let (there, known) = (found.last_there(), found.snapshot_count());
        let mut later = branch.snapshots.range(there + 1..);
        if let Some((number, place)) = later.next().filter(|(number, _)| **number <= known) {
            let version = SnapshotVersion::new(*number);
            let reason = format!(
                "{version} here holds a state of which the tree had no old snapshot; the branch stays as \
                 it is here, and comes with the tree's numbers after \"siteconf branch delete\", with \
                 --renew"
            );
            self.report.leave_out(place, &reason);
            return Ok(None);
        }
        Ok(Some((known, Some(found.head()))))
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
            Some(project) => self.branch_here(project, name, branch)?,
            None => Some(Standing::Absent),
        };
        let Some(standing) = standing else {
            return Ok(());
        };
        let Some((known, head)) = self.begin_branch(old, name, branch, &standing)? else {
            return Ok(());
        };
        let Some(all_notes) = self.all_notes(branch, known, "") else {
            return Ok(());
        };
        let mut snapshots = 0;
        for (_, place, _) in all_notes {
            snapshots += u64::from(self.digest(place)?.is_some());
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
            Standing::Changed { branch, left } => (branch.last_there(), left.clone(), CHANGED_HERE),
            Standing::Own(branch) => (0, Some(branch.head()), MADE_HERE),
            Standing::Absent | Standing::Deleted | Standing::Taken(_) | Standing::AsMigrated(_) => {
                return Ok(());
            }
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

    /// True if a project was deleted here, and is not wanted anew. Asked when it is absent: it may have been there when
    /// this began.
    fn was_deleted(&mut self, old: &OldProject) -> Result<bool> {
        if self.renew || !self.opened.projects.was_deleted(&old.repo_id)? {
            return Ok(false);
        }
        self.report.leave_out(&old.place, DELETED);
        Ok(true)
    }

    /// True if another project of the older system has this identifier here.
    fn is_taken(&mut self, old: &OldProject) -> Result<bool> {
        let Some(other) = repo::optional(self.opened.projects.project(&old.repo_id))? else {
            return Ok(false);
        };
        let there = other.repo_id_there().unwrap_or(&old.repo_id);
        let reason =
            format!("the project of this name here is {there} of the tree; it stays as it is");
        self.report.leave_out(&old.place, &reason);
        Ok(true)
    }

    /// What is known of the snapshots that come after this one. `None` if it is wrong of one of them: the
    /// branch waits until that is mended, because a snapshot that came keeps its date and author.
    fn all_notes<'b>(
        &mut self,
        branch: &'b OldBranch,
        after: u64,
        account: &str,
    ) -> Option<Vec<(u64, &'b Path, Notes)>> {
        let (mut all, mut is_sound) = (Vec::new(), true);
        for (number, place) in branch.snapshots.range(after + 1..) {
            match notes::of_snapshot(&self.tree.folder, place, account) {
                Ok(notes) => all.push((*number, place.as_path(), notes)),
                Err(Fault::Folder(reason)) => self.report.leave_out(place, &reason),
                Err(Fault::Notes(reason)) => {
                    is_sound = false;
                    let reason = format!(
                        "{reason}; the branch comes when that is mended, or the file is removed"
                    );
                    self.report
                        .leave_out(&place.with_extension("json"), &reason);
                }
            }
        }
        is_sound.then_some(all)
    }

    pub(super) fn step(&mut self, done: Done, kind: Kind, name: &str) {
        self.report.step(done, kind, name.to_owned(), 0);
    }
}
