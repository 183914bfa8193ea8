//! Group commit with a leader and followers: of the changes that wait for a branch, one caller (the
//! leader) commits all at once, and the others (its followers) wait for their outcomes. So no change
//! loses a race against another of this process, and many share one sync.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard};

use super::{Job, Outcome};
use crate::base::limits::SAVES_PER_COMMIT_MAX;
use crate::repo::{Error, Result};
use crate::store::StoreError;

/// The queues of all branches, by number. A branch has one while it has a leader.
#[derive(Debug, Default)]
pub(in crate::repo) struct SaveQueue {
    waiting: Mutex<HashMap<u64, VecDeque<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    job: Job,
    role: SyncSender<Role>,
}

/// What a caller has become.
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved to the caller that becomes it, and kept nowhere"
)]
enum Role {
    /// A leader has done its job.
    Follower(Result<Outcome>),
    /// It leads, beginning with its own job.
    Leader(Job),
}

impl SaveQueue {
    /// Does a job on a branch, together with others that wait. `run` gets jobs in the order in which
    /// they came and returns as many outcomes.
    pub(in crate::repo) fn submit(
        &self,
        branch: u64,
        job: Job,
        run: impl FnOnce(Vec<Job>) -> Vec<Result<Outcome>>,
    ) -> Result<Outcome> {
        match self.join(branch, job)? {
            Role::Follower(outcome) => outcome,
            Role::Leader(job) => self.lead(branch, job, run),
        }
    }

    /// Joins the queue: leads at once if the branch has no leader, else waits for a role.
    fn join(&self, branch: u64, job: Job) -> Result<Role> {
        let (role, assigned) = sync_channel(1);
        match self.waiting().entry(branch) {
            Entry::Vacant(queue) => {
                queue.insert(VecDeque::new());
                return Ok(Role::Leader(job));
            }
            Entry::Occupied(mut queue) => queue.get_mut().push_back(Waiter { job, role }),
        }
        // A leader that panicked drops the sender: its jobs may or may not have been committed.
        assigned.recv().map_err(|_| stopped())
    }

    fn lead(
        &self,
        branch: u64,
        own: Job,
        run: impl FnOnce(Vec<Job>) -> Vec<Result<Outcome>>,
    ) -> Result<Outcome> {
        let _guard = LeaderGuard {
            queue: self,
            branch,
        };
        let mut jobs = vec![own];
        let mut followers = Vec::new();
        if let Some(waiting) = self.waiting().get_mut(&branch) {
            let count = waiting.len().min(SAVES_PER_COMMIT_MAX - 1);
            for Waiter { job, role } in waiting.drain(..count) {
                jobs.push(job);
                followers.push(role);
            }
        }
        let mut outcomes = run(jobs).into_iter();
        let own = outcomes.next().unwrap_or_else(|| Err(stopped()));
        for (role, outcome) in followers.into_iter().zip(outcomes) {
            // A follower that no longer waits does not need its outcome.
            drop(role.send(Role::Follower(outcome)));
        }
        own
    }

    /// Makes the caller that has waited longest the leader, or removes the queue when none waits.
    fn hand_over(&self, branch: u64) {
        let mut queues = self.waiting();
        let Some(waiting) = queues.get_mut(&branch) else {
            return;
        };
        while let Some(Waiter { job, role }) = waiting.pop_front() {
            if role.send(Role::Leader(job)).is_ok() {
                return;
            }
        }
        queues.remove(&branch);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, VecDeque<Waiter>>> {
        self.waiting.lock().expect("no panic while held")
    }
}

/// Hands the lead over when it is dropped, by a panic too.
struct LeaderGuard<'a> {
    queue: &'a SaveQueue,
    branch: u64,
}

impl Drop for LeaderGuard<'_> {
    fn drop(&mut self) {
        self.queue.hand_over(self.branch);
    }
}

fn stopped() -> Error {
    StoreError::Stopped.into()
}
