//! The states of a branch as commits: each snapshot and the head, with what brought it about.
//!
//! A snapshot's record says what came right *after* its state, so the commit of a state is told by the
//! snapshot before it. A state's commit id is a function of its content alone: a branch that returns
//! to an earlier content returns to its id. Such a state is a commit once, where it was last, and no
//! commit has a parent that is newer than itself: whoever follows the parents comes to an end.

use std::collections::VecDeque;

use super::newer::Newer;
use super::snapshot::Snapshot;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::limits::COMMIT_SEARCH_S_MAX;
use crate::base::may_block;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::lookup;
use crate::object::record::ParentRecord;
use crate::repo::{Branch, Error, Missing, Operation, Project, Published, Result, Revision};

/// Snapshots read at once, at most. It begins with one: most callers want only the newest commit.
pub(super) const READ_AT_ONCE_MAX: usize = 256;

/// A state of a branch and what brought it about.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The state.
    pub revision: Revision,
    /// The state that it replaced, `None` for the first.
    pub before: Option<Revision>,
    /// The newest older state that did not come back later, `None` if there is none: `before`, but for
    /// a state that the branch returned to.
    pub parent: Option<Revision>,
    /// When the branch came into the state.
    pub at: Timestamp,
    /// Who brought it there.
    pub by: String,
    /// What was done, `None` when the branch was made.
    pub operation: Option<Operation>,
    /// The path that was changed, where it was one.
    pub path: Option<String>,
    /// The message of a batch.
    pub message: Option<String>,
    /// True where the snapshots before it were pruned, which told what brought it about.
    pub is_cut_off: bool,
}

impl Commit {
    /// What was done, in one line: `save config/a.xml`.
    pub fn title(&self) -> String {
        let given = self.message.as_deref().and_then(|text| text.lines().next());
        match (given, self.operation, &self.path) {
            (Some(line), ..) if !line.trim().is_empty() => line.to_owned(),
            (_, Some(operation), Some(path)) => format!("{operation} {path}"),
            (_, Some(operation), None) => operation.to_string(),
            (_, None, _) if self.is_cut_off => "earlier history was removed".to_owned(),
            (_, None, _) => "create branch".to_owned(),
        }
    }

    /// The whole message: a batch's own, else the title.
    pub fn message(&self) -> String {
        let given = self.message.clone();
        given
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| self.title())
    }

    /// True if what lies at this path, a file or a folder, is not what lay there before.
    pub fn touches(&self, path: &FilePath) -> Result<bool> {
        // What changed one file alone is passed without a look into a tree, unless there was more.
        let places = (
            self.before.as_ref().map(Revision::place),
            self.revision.place(),
        );
        let is_next = matches!(places, (Some(Some(old)), Some(new)) if old + 1 == new);
        if matches!(self.operation, Some(Operation::Save | Operation::Delete))
            && is_next
            && let Some(changed) = self.path.as_deref()
            && !path.is_or_holds(changed)
        {
            return Ok(false);
        }
        let nodes = self.revision.nodes();
        let now = lookup::path(nodes, self.revision.root()?, path)?;
        let before = match &self.before {
            Some(before) => lookup::path(nodes, before.root()?, path)?,
            None => None,
        };
        Ok(now != before)
    }
}

/// The commits of a branch from some state on, newest first, each commit id once. Saves that changed
/// nothing are left out.
#[derive(Debug)]
pub struct Commits {
    pub(super) states: States,
    pub(super) newer: Newer,
}

/// Every state of a branch with what brought it about, newest first, as often as the branch was in it,
/// and also where a save changed nothing. None has its parent: `before` is what it replaced.
#[derive(Debug)]
pub struct EveryState {
    states: States,
}

/// The states of a branch, newest first, as often as it was in them.
#[derive(Clone, Debug)]
pub(in crate::repo) struct States {
    pub(super) branch: Branch,
    /// The state that comes next, `None` after the first one.
    state: Option<State>,
    /// Snapshots older than the state that were read ahead, newest first.
    older: VecDeque<Snapshot>,
    /// The oldest one read so far.
    read_to: Option<SnapshotVersion>,
    read_at_once: usize,
}

#[derive(Clone, Debug)]
struct State {
    revision: Revision,
    at: Timestamp,
    by: String,
}

impl Branch {
    /// The commits of this branch, from its head on.
    ///
    /// # Limits
    /// Where commit ids have to be computed first, [`COMMIT_SEARCH_S_MAX`] from now on: then the next one is
    /// [`Error::Unfinished`]. What was computed stays in memory, so that another walk comes farther.
    pub fn commits(&self) -> Commits {
        Commits {
            states: States::of(self),
            newer: Newer::until(end_of_search_ms(&self.project)),
        }
    }

    /// Every state from the head on, or from the newest snapshot before one. Memory does not grow with
    /// how many there are.
    pub fn every_state(&self, before: Option<SnapshotVersion>) -> Result<EveryState> {
        let states = match before {
            None => States::of(self),
            Some(version) => States::before(self, version)?,
        };
        Ok(EveryState { states })
    }

    /// The commit of the head, the first of [`Branch::commits`], without its parent, which may take a
    /// search. Reads no snapshot, but where the branch's record was last written before it kept its
    /// last change.
    pub fn last_commit(&self) -> Result<Commit> {
        let Some(last) = &self.record.last else {
            let commit = self.commits().unlinked()?;
            return commit.ok_or(Error::missing(Missing::Revision));
        };
        let before = last.parent.map(|ParentRecord { manifest, totals }| {
            Revision::new(&self.project, self.number, manifest, totals.into()).fixed()
        });
        Ok(Commit {
            revision: self.head(),
            before,
            parent: None,
            at: last.at,
            by: last.by.clone(),
            operation: last.operation,
            path: last.path.clone(),
            message: last.message.clone(),
            is_cut_off: false,
        })
    }

    /// The commit of the head with its parent: the state before it, unless that has the same commit id.
    pub fn last_commit_with_parent(&self) -> Result<Commit> {
        let mut commit = self.last_commit()?;
        match &commit.before {
            Some(before) if before.sha256()? == commit.revision.sha256()? => {
                let first = self.commits().next();
                first.unwrap_or(Err(Error::missing(Missing::Revision)))
            }
            before => {
                commit.parent.clone_from(before);
                Ok(commit)
            }
        }
    }
}

impl Revision {
    /// The commits of the branch from this state on, where the branch was last in it. It is looked for
    /// from the newest state on, at the cost of reading the snapshots after it: see
    /// [`Revision::states_after`].
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone, or has the state no longer; [`Error::Unfinished`] as of
    /// [`Branch::commits`].
    pub fn commits(&self) -> Result<Commits> {
        let mut commits = self.branch()?.commits();
        let skipped = commits.skip_to(self);
        skipped.map_err(|error| self.or_pruned(error))?;
        Ok(commits)
    }

    /// How many states came after it, at most: all of the branch where it was opened by its content and is
    /// not the head's.
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone.
    pub fn states_after(&self) -> Result<u64> {
        let head = self.branch()?.head();
        let last = head.place().unwrap_or_default();
        let is_head = head.id() == self.id();
        let place = self.place().unwrap_or(if is_head { last } else { 0 });
        Ok(last.saturating_sub(place))
    }

    /// What an error of reading this state comes to: where an object is missing because the branch has the
    /// state no longer, [`Missing::Revision`]. The snapshots are looked through for it.
    #[must_use]
    pub fn or_pruned(&self, error: Error) -> Error {
        if !error.lacks_object() {
            return error;
        }
        match may_block(|| self.is_kept()) {
            Ok(true) => error,
            Ok(false) => Error::missing(Missing::Revision),
            Err(other) => other,
        }
    }

    /// True while the branch is in this state or a snapshot holds it.
    fn is_kept(&self) -> Result<bool> {
        let mut states = States::of(&self.branch()?);
        while let Some(state) = states.peek() {
            if state.manifest() == self.manifest() {
                return Ok(true);
            }
            states.step()?;
        }
        Ok(false)
    }

    /// The branch that it is, or was, a state of.
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone.
    pub fn branch(&self) -> Result<Branch> {
        let branch = self.project.branch_by_number(self.branch_number())?;
        branch.ok_or(Error::missing(Missing::Revision))
    }
}

impl Project {
    /// The commits of a branch from the state on that a reference names (contract section 4), as
    /// [`Revision::commits`].
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn commits(&self, reference: Option<&str>) -> Result<Commits> {
        self.resolve(reference)?.commits()
    }

    /// The commit that a reference names.
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn commit(&self, reference: Option<&str>) -> Result<Commit> {
        let first = self.commits(reference)?.next();
        first.unwrap_or(Err(Error::missing(Missing::Revision)))
    }

    /// The digests of these states, computed where they are not known. Their commit ids are entered in the project's
    /// index with one commit, which is made first.
    pub fn publish_ids<'a>(
        &self,
        states: impl IntoIterator<Item = &'a Revision>,
    ) -> Result<Published> {
        let states: Vec<_> = states
            .into_iter()
            .map(|state| (state.branch_number(), state.manifest()))
            .collect();
        let digests = &self.projects.shared.digests;
        digests.publish_ids(self.number(), &states, || true)
    }
}

impl States {
    /// The states of a branch from its head on.
    pub(super) fn of(branch: &Branch) -> Self {
        Self {
            branch: branch.clone(),
            state: Some(State {
                revision: branch.head(),
                at: branch.updated_at(),
                by: branch.updated_by().to_owned(),
            }),
            older: VecDeque::new(),
            read_to: None,
            read_at_once: 1,
        }
    }

    /// The states of a branch from the newest snapshot before this one on.
    pub(super) fn before(branch: &Branch, version: SnapshotVersion) -> Result<Self> {
        let mut states = Self {
            state: None,
            read_to: Some(version),
            ..Self::of(branch)
        };
        states.step()?;
        Ok(states)
    }

    /// The state that comes next.
    pub(super) fn peek(&self) -> Option<&Revision> {
        self.state.as_ref().map(|state| &state.revision)
    }

    /// Goes on to the state before; gives the snapshot that holds it, which tells what came after.
    pub(super) fn step(&mut self) -> Result<Option<Snapshot>> {
        if self.older.is_empty() {
            let read = self.branch.history(self.read_to, Some(self.read_at_once))?;
            self.read_to = read.last().map(|oldest| oldest.version);
            self.older.extend(read);
            self.read_at_once = (2 * self.read_at_once).min(READ_AT_ONCE_MAX);
        }
        let Some(snapshot) = self.older.pop_front() else {
            self.state = None;
            return Ok(None);
        };
        self.state = Some(State {
            revision: snapshot.revision.clone(),
            at: snapshot.reached_at,
            by: snapshot.reached_by.clone(),
        });
        Ok(Some(snapshot))
    }

    /// Goes past the states that have the commit id of a newer one. Gives the next.
    pub(super) fn skip(&mut self, newer: &mut Newer) -> Result<Option<Revision>> {
        while let Some(state) = self.peek() {
            if !newer.has(state)? {
                return Ok(Some(state.clone()));
            }
            self.step()?;
        }
        Ok(None)
    }

    /// The next state with what brought it about, without its parent.
    pub(super) fn reached(&mut self) -> Result<Option<Commit>> {
        let Some(State { revision, at, by }) = self.state.take() else {
            return Ok(None);
        };
        let Some(before) = self.step()? else {
            return Ok(Some(Commit {
                is_cut_off: revision.place().is_some_and(|place| place > 1),
                revision,
                before: None,
                parent: None,
                at,
                by,
                operation: None,
                path: None,
                message: None,
            }));
        };
        Ok(Some(Commit {
            revision,
            before: Some(before.revision),
            parent: None,
            at: before.created_at,
            by: before.created_by,
            operation: Some(before.operation),
            path: before.path,
            message: before.message,
            is_cut_off: false,
        }))
    }
}

impl Iterator for EveryState {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        self.states.reached().transpose()
    }
}

impl Commits {
    /// Goes on to the newest state with the commit id of this one.
    fn skip_to(&mut self, wanted: &Revision) -> Result<()> {
        while let Some(state) = self.states.peek() {
            if self.newer.have_one_id(state, wanted)? {
                return Ok(());
            }
            self.newer.insert(state);
            self.states.step()?;
        }
        Err(Error::missing(Missing::Revision))
    }

    fn commit(&mut self) -> Result<Option<Commit>> {
        let Some(mut commit) = self.unlinked()? else {
            return Ok(None);
        };
        commit.parent = self.states.skip(&mut self.newer)?;
        Ok(Some(commit))
    }

    /// The next commit without its parent. What comes after it may be a state that is newer, too.
    fn unlinked(&mut self) -> Result<Option<Commit>> {
        while let Some(state) = self.states.peek() {
            self.newer.insert(state);
            let commit = self.states.reached()?;
            let is_change = |commit: &Commit| {
                let before = commit.before.as_ref().map(Revision::manifest);
                before != Some(commit.revision.manifest())
            };
            if commit.as_ref().is_none_or(is_change) {
                return Ok(commit);
            }
        }
        Ok(None)
    }
}

impl Iterator for Commits {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        self.commit().transpose()
    }
}

/// Until when a walk or a search that begins now goes on, by the clock that nobody sets.
pub(in crate::repo) fn end_of_search_ms(project: &Project) -> i64 {
    project.projects.clock().uptime_ms() + COMMIT_SEARCH_S_MAX * 1000
}
