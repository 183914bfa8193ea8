//! The commits of a branch that changed what lies at a path.

use std::collections::HashSet;
use std::mem;

use super::change::{Change, ChangesAhead};
use super::commits::{Commit, Commits, States, end_of_search_ms};
use super::newer::Newer;
use super::path_search::{PathSearch, oldest_place};
use crate::base::file_path::FilePath;
use crate::base::id::Md5;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::lookup;
use crate::repo::{Branch, Result, Revision};

/// The commits of a branch that changed what lies at a path, a file or a folder, newest first: each commit id once,
/// where such a change led to it last. There the branch may have come back to it later, without a change of the path.
#[derive(Debug)]
pub struct PathCommits {
    branch: Branch,
    path: FilePath,
    /// That of the state where the list begins.
    place: u64,
    search: PathSearch,
    ahead: ChangesAhead,
    /// Those that were listed.
    listed: Newer,
    /// The states from the newest on, as far as it had to be known which they are.
    newer: Newer,
    /// Those that come then.
    states: States,
    /// What lay at the path from the newest state on; `None` where the list begins with an older one.
    contents: Option<HashSet<Content>>,
    /// What lay there before the commit that was met last, and since the one that comes next.
    content: Option<Content>,
    /// True once the first state of the branch was looked at, too.
    is_over: bool,
}

/// What the commit id of a state tells of what lies at a path: where two states differ in it, so do their commit ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Content {
    /// No file.
    Nothing,
    /// A file of so many bytes.
    File(u64, Md5),
    /// So many files of so many bytes. Others of as many may be there.
    Folder(u64, u64),
}

impl Commits {
    /// Those of them that changed what lies at this path.
    ///
    /// # Limits
    /// The history is searched, and commit ids are computed, for as long as [`Branch::commits`] may take, from now on:
    /// then the next one is [`Error::Unfinished`](crate::repo::Error::Unfinished). What was searched stays in memory,
    /// so that another list comes farther. The changes that are known are read however long it takes, and what lies at
    /// the path before each. Where it may have come back to what lay there before, all newer states are read for the
    /// parent of such a commit.
    pub fn of_path(self, path: FilePath) -> Result<PathCommits> {
        let Self { states, mut newer } = self;
        let branch = states.branch.clone();
        // However long it took to come to this state.
        let until_ms = end_of_search_ms(&branch.project);
        newer.until_ms = Some(until_ms);
        let first = states.peek();
        let place = first.and_then(Revision::place).unwrap_or_default();
        Ok(PathCommits {
            search: PathSearch::new(&branch, path.clone(), place, until_ms)?,
            branch,
            path,
            place,
            ahead: ChangesAhead::default(),
            listed: Newer::until(until_ms),
            contents: newer.is_empty().then(HashSet::new),
            content: None,
            is_over: first.is_none(),
            newer,
            states,
        })
    }
}

impl PathCommits {
    fn commit(&mut self) -> Result<Option<Commit>> {
        while let Some(place) = self.search.next_place()? {
            // What was pruned since is no commit any more.
            let Some(change) = self.ahead.at(&self.branch, place)? else {
                continue;
            };
            let mut commit = commit_of(change);
            let may_be_newer = self.note_contents(&commit)?;
            if self.listed.has(&commit.revision)? {
                continue;
            }
            self.listed.insert(&commit.revision);
            commit.parent = if may_be_newer {
                self.parent(&commit)?
            } else {
                commit.before.clone()
            };
            return Ok(Some(commit));
        }
        if mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        let first = self.first()?;
        let Some(first) = first.filter(|first| first.before.is_none()) else {
            return Ok(None);
        };
        let is_listed = first.touches(&self.path)? && !self.listed.has(&first.revision)?;
        Ok(is_listed.then_some(first))
    }

    /// The commit of the oldest state that there is by now: another daemon may have pruned some since the list began.
    fn first(&self) -> Result<Option<Commit>> {
        let oldest = oldest_place(&self.branch, self.place)?;
        let mut states = if oldest > self.branch.snapshot_count() {
            States::of(&self.branch)
        } else {
            States::before(&self.branch, SnapshotVersion::new(oldest + 1))?
        };
        states.reached()
    }

    /// Notes what lies at the path since a commit. True if the state that it replaced may have the commit id of a newer
    /// one: if what lay there may have come back.
    fn note_contents(&mut self, commit: &Commit) -> Result<bool> {
        let (Some(contents), Some(before)) = (&mut self.contents, &commit.before) else {
            return Ok(true);
        };
        let now = match self.content {
            Some(content) => content,
            None => Content::of(&commit.revision, &self.path)?,
        };
        let before = Content::of(before, &self.path)?;
        self.content = Some(before);
        contents.insert(now);
        Ok(contents.contains(&before))
    }

    /// The newest state before a commit that did not come back later.
    fn parent(&mut self, commit: &Commit) -> Result<Option<Revision>> {
        let Some(before) = &commit.before else {
            return Ok(None);
        };
        while let Some(state) = self.states.peek() {
            if state.place() < commit.revision.place() {
                break;
            }
            self.newer.insert(state);
            self.states.step()?;
        }
        if !self.newer.has(before)? {
            return Ok(Some(before.clone()));
        }
        // Those in between may have changed the path.
        let place = before.place().unwrap_or_default();
        let mut older = States::before(&self.branch, SnapshotVersion::new(place + 1))?;
        older.skip(&mut self.newer)
    }
}

impl Iterator for PathCommits {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        self.commit().transpose()
    }
}

impl Content {
    fn of(state: &Revision, path: &FilePath) -> Result<Self> {
        Ok(match lookup::path(state.nodes(), state.root()?, path)? {
            Some(lookup::Found::File(file)) => Self::File(file.size, file.md5),
            Some(lookup::Found::Directory(folder)) if folder.totals.files > 0 => {
                Self::Folder(folder.totals.files, folder.totals.bytes)
            }
            Some(lookup::Found::Directory(_)) | None => Self::Nothing,
        })
    }
}

/// The commit that a change made, without its parent.
fn commit_of(change: Change) -> Commit {
    let Change { snapshot, after } = change;
    Commit {
        revision: after,
        before: Some(snapshot.revision),
        parent: None,
        at: snapshot.created_at,
        by: snapshot.created_by,
        operation: Some(snapshot.operation),
        path: snapshot.path,
        message: snapshot.message,
        is_cut_off: false,
    }
}
