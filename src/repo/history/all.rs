//! The commits of all branches of a project in one list.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::mem;

use super::commits::{Commit, Commits};
use super::newer::Newer;
use crate::base::clock::Timestamp;
use crate::base::limits::{BEGINNINGS_SEARCHED_MAX, PROJECT_SNAPSHOTS_SEARCHED_MAX};
use crate::repo::{Branch, Project, Result, Revision};

/// The commits of all branches, newest first, each commit id once: where a branch was in it last. What a branch
/// begins with is no change; it comes after all changes, and only where none of them led to it.
///
/// # Limits
/// The newest 100,000 are listed. Older ones than the asked time are only looked at to see whether they led to what a
/// branch begins with, 1,000 of them. Two snapshots of each branch are read before the first commit is listed, and of
/// each branch memory keeps what [`Commits`] keeps.
#[derive(Debug)]
pub struct AllCommits {
    branches: Vec<Commits>,
    /// Of each branch the next one.
    next: BinaryHeap<Next>,
    listed: Newer,
    left: usize,
    /// From when on they are listed.
    since: Option<Timestamp>,
    /// What branches begin with since then, as long as no change was met that led to it. An older change may: only
    /// when there are none of these left is there nothing more to list.
    beginnings: Vec<Revision>,
    /// So many older changes are looked at.
    older_left: usize,
}

/// A commit and the place of its branch. The greatest comes next.
#[derive(Debug)]
struct Next {
    commit: Commit,
    branch: usize,
}

impl Next {
    fn rank(&self) -> (bool, Timestamp, Reverse<usize>) {
        let is_change = self.commit.before.is_some();
        (is_change, self.commit.at, Reverse(self.branch))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next {}

impl Project {
    /// The commits of all branches, of a time only those from then on. There are none in a project without a branch.
    pub fn all_commits(&self, since: Option<Timestamp>) -> Result<AllCommits> {
        let branches = self.branches()?;
        let mut all = AllCommits {
            next: BinaryHeap::with_capacity(branches.len()),
            branches: branches.iter().map(Branch::commits).collect(),
            listed: Newer::default(),
            left: PROJECT_SNAPSHOTS_SEARCHED_MAX,
            since,
            beginnings: Vec::new(),
            older_left: BEGINNINGS_SEARCHED_MAX,
        };
        for branch in 0..all.branches.len() {
            all.read_next(branch)?;
        }
        Ok(all)
    }
}

impl AllCommits {
    fn read_next(&mut self, branch: usize) -> Result<()> {
        let Some(commit) = self.branches[branch].next().transpose()? else {
            return Ok(());
        };
        let since = self.since.filter(|since| commit.at >= *since);
        if since.is_some() && commit.before.is_none() && !self.listed.has(&commit.revision)? {
            self.beginnings.push(commit.revision.clone());
        }
        self.next.push(Next { commit, branch });
        Ok(())
    }

    fn commit(&mut self) -> Result<Option<Commit>> {
        while self.left > 0
            && let Some(Next { commit, branch }) = self.next.pop()
        {
            let is_older = self.since.is_some_and(|since| commit.at < since);
            if is_older && self.beginnings.is_empty() {
                return Ok(None);
            }
            if is_older && commit.before.is_some() {
                if self.older_left == 0 {
                    self.next.retain(|next| next.commit.before.is_none());
                    continue;
                }
                self.older_left -= 1;
            }
            self.left -= 1;
            self.read_next(branch)?;
            if self.listed.has(&commit.revision)? {
                continue;
            }
            self.pass(&commit.revision)?;
            if !is_older {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    /// Has a state not listed again.
    fn pass(&mut self, state: &Revision) -> Result<()> {
        self.listed.insert(state);
        for beginning in mem::take(&mut self.beginnings) {
            if !beginning.has_commit_id_of(state)? {
                self.beginnings.push(beginning);
            }
        }
        Ok(())
    }
}

impl Iterator for AllCommits {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Result<Commit>> {
        self.commit().transpose()
    }
}
