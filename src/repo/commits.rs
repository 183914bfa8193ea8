//! The states of a branch as commits: each snapshot and the head, with what brought it about.
//!
//! A snapshot's record says what came right *after* its state, so the commit of a state is told by the
//! snapshot before it. A state's commit id is a function of its content alone: a branch that returns
//! to an earlier content returns to its id.

use std::collections::VecDeque;

use super::{Branch, Error, Missing, Operation, Project, Result, Revision, Snapshot};
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::lookup;
use crate::object::record::ParentRecord;

/// Snapshots read at once, at most. It begins with one: most callers want only the newest commit.
const READ_AT_ONCE_MAX: usize = 256;

/// A state of a branch and what brought it about.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The state.
    pub revision: Revision,
    /// The state before it, `None` for the first.
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
}

impl Commit {
    /// What was done, in one line: `save config/a.xml`.
    pub fn title(&self) -> String {
        let given = self.message.as_deref().and_then(|text| text.lines().next());
        match (given, self.operation, &self.path) {
            (Some(line), ..) if !line.trim().is_empty() => line.to_owned(),
            (_, Some(operation), Some(path)) => format!("{operation} {path}"),
            (_, Some(operation), None) => operation.to_string(),
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
        let nodes = self.revision.nodes();
        let now = lookup::path(nodes, self.revision.root()?, path)?;
        let before = match &self.parent {
            Some(parent) => lookup::path(nodes, parent.root()?, path)?,
            None => None,
        };
        Ok(now != before)
    }
}

/// The commits of a branch from some state on, newest first. Saves that changed nothing are left out.
#[derive(Debug)]
pub struct Commits {
    branch: Branch,
    /// The state whose commit comes next, `None` after the first one.
    state: Option<State>,
    /// Snapshots older than the state that were read ahead, newest first.
    older: VecDeque<Snapshot>,
    /// The oldest one read so far.
    read_to: Option<SnapshotVersion>,
    read_at_once: usize,
}

#[derive(Debug)]
struct State {
    revision: Revision,
    at: Timestamp,
    by: String,
}

impl Branch {
    /// The commits of this branch, from its head on.
    pub fn commits(&self) -> Commits {
        Commits {
            branch: self.clone(),
            state: Some(State {
                revision: self.head(),
                at: self.updated_at(),
                by: self.updated_by().to_owned(),
            }),
            older: VecDeque::new(),
            read_to: None,
            read_at_once: 1,
        }
    }

    /// The commit of the head, the first of [`Branch::commits`]. Reads no snapshot, but where the
    /// branch's record was last written before it kept its last change.
    pub fn last_commit(&self) -> Result<Commit> {
        let Some(last) = &self.record.last else {
            let first = self.commits().next();
            return first.unwrap_or(Err(Error::missing(Missing::Revision)));
        };
        let parent = last.parent.map(|ParentRecord { manifest, totals }| {
            Revision::new(&self.project, self.number, manifest, totals.into(), true)
        });
        Ok(Commit {
            revision: self.head(),
            parent,
            at: last.at,
            by: last.by.clone(),
            operation: last.operation,
            path: last.path.clone(),
            message: last.message.clone(),
        })
    }
}

impl Project {
    /// The commits of a branch from the state on that a reference names (contract section 4). A commit
    /// id is looked for from the newest state on, at the cost of reading the snapshots after it.
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn commits(&self, reference: Option<&str>) -> Result<Commits> {
        let revision = self.resolve(reference)?;
        let branch = self
            .branch_by_number(revision.branch_number())?
            .ok_or(Error::missing(Missing::Revision))?;
        let mut commits = branch.commits();
        commits.skip_to(revision.manifest())?;
        Ok(commits)
    }

    /// The commit that a reference names.
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn commit(&self, reference: Option<&str>) -> Result<Commit> {
        let first = self.commits(reference)?.next();
        first.unwrap_or(Err(Error::missing(Missing::Revision)))
    }

    /// Computes the digests of these states where they are not known, and enters their commit ids in
    /// the project's index with one commit.
    pub fn publish_ids<'a>(&self, states: impl IntoIterator<Item = &'a Revision>) -> Result<()> {
        let states: Vec<_> = states
            .into_iter()
            .map(|state| (state.branch_number(), state.manifest()))
            .collect();
        let digests = &self.projects.shared.digests;
        digests.publish_ids(self.number(), &states)
    }

    /// Opens a state again that was opened before, by what [`Revision::branch_number`] and
    /// [`Revision::manifest`] told. The caller answers for it that the branch had this state.
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone.
    pub fn reopen(&self, branch: u64, manifest: ManifestId) -> Result<Revision> {
        if self.branch_by_number(branch)?.is_none() {
            return Err(Error::missing(Missing::Revision));
        }
        let totals = self.projects.nodes().manifest(manifest)?.totals;
        Ok(Revision::new(self, branch, manifest, totals, true))
    }
}

impl Commits {
    /// Goes on to the newest state with this manifest.
    fn skip_to(&mut self, manifest: ManifestId) -> Result<()> {
        while let Some(state) = &self.state {
            if state.revision.manifest() == manifest {
                return Ok(());
            }
            self.step()?;
        }
        Err(Error::missing(Missing::Revision))
    }

    /// Goes on to the state before; gives the snapshot that holds it, which tells what came after.
    fn step(&mut self) -> Result<Option<Snapshot>> {
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

    fn commit(&mut self) -> Result<Option<Commit>> {
        while let Some(State { revision, at, by }) = self.state.take() {
            let Some(before) = self.step()? else {
                return Ok(Some(Commit {
                    revision,
                    parent: None,
                    at,
                    by,
                    operation: None,
                    path: None,
                    message: None,
                }));
            };
            if before.revision.manifest() == revision.manifest() {
                continue;
            }
            return Ok(Some(Commit {
                revision,
                parent: Some(before.revision),
                at: before.created_at,
                by: before.created_by,
                operation: Some(before.operation),
                path: before.path,
                message: before.message,
            }));
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
