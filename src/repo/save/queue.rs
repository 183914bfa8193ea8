//! One lane a branch: of many changes that wait, one caller commits all, and nobody loses a race.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard};

use crate::base::limits::SAVES_PER_COMMIT_MAX;
use crate::repo::{Error, Result};
use crate::store::StoreError;

/// Lanes by branch. A lane exists while somebody is in it.
#[derive(Debug)]
pub(in crate::repo) struct Lanes<J, O> {
    waiting: Mutex<HashMap<u64, Vec<Waiter<J, O>>>>,
}

#[derive(Debug)]
struct Waiter<J, O> {
    job: J,
    news: SyncSender<News<J, O>>,
}

/// What somebody who waits is told.
enum News<J, O> {
    /// Another did the job.
    Done(Result<O>),
    /// The lane is yours, and here is your job.
    Lead(J),
}

impl<J, O> Default for Lanes<J, O> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
        }
    }
}

impl<J, O> Lanes<J, O> {
    /// Does a job on a branch, together with others that wait. `run` gets jobs in the order they
    /// came and gives as many outcomes.
    pub(in crate::repo) fn submit(
        &self,
        branch: u64,
        job: J,
        run: impl FnOnce(Vec<J>) -> Vec<Result<O>>,
    ) -> Result<O> {
        match self.enter(branch, job)? {
            News::Done(outcome) => outcome,
            News::Lead(job) => self.lead(branch, job, run),
        }
    }

    /// Enters the lane: leads at once if it is empty, else waits for news.
    fn enter(&self, branch: u64, job: J) -> Result<News<J, O>> {
        let (news, told) = sync_channel(1);
        match self.lanes().entry(branch) {
            Entry::Vacant(lane) => {
                lane.insert(Vec::new());
                return Ok(News::Lead(job));
            }
            Entry::Occupied(mut lane) => lane.get_mut().push(Waiter { job, news }),
        }
        // A leader that panicked drops the sender: its jobs may or may not have been committed.
        told.recv().map_err(|_| stopped())
    }

    fn lead(&self, branch: u64, own: J, run: impl FnOnce(Vec<J>) -> Vec<Result<O>>) -> Result<O> {
        let _turn = Turn {
            lanes: self,
            branch,
        };
        let mut jobs = vec![own];
        let mut others = Vec::new();
        if let Some(waiting) = self.lanes().get_mut(&branch) {
            let count = waiting.len().min(SAVES_PER_COMMIT_MAX - 1);
            for Waiter { job, news } in waiting.drain(..count) {
                jobs.push(job);
                others.push(news);
            }
        }
        let mut outcomes = run(jobs).into_iter();
        let own = outcomes.next().unwrap_or_else(|| Err(stopped()));
        for (news, outcome) in others.into_iter().zip(outcomes) {
            // Who no longer waits for the news does not need it.
            drop(news.send(News::Done(outcome)));
        }
        own
    }

    /// Hands the lane to who waits longest, or closes it.
    fn hand_on(&self, branch: u64) {
        let mut lanes = self.lanes();
        let Some(waiting) = lanes.get_mut(&branch) else {
            return;
        };
        while !waiting.is_empty() {
            let Waiter { job, news } = waiting.remove(0);
            if news.send(News::Lead(job)).is_ok() {
                return;
            }
        }
        lanes.remove(&branch);
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<u64, Vec<Waiter<J, O>>>> {
        self.waiting.lock().expect("no panic while held")
    }
}

/// The lead of a lane; handed on even by a panic.
struct Turn<'a, J, O> {
    lanes: &'a Lanes<J, O>,
    branch: u64,
}

impl<J, O> Drop for Turn<'_, J, O> {
    fn drop(&mut self) {
        self.lanes.hand_on(self.branch);
    }
}

fn stopped() -> Error {
    StoreError::Stopped.into()
}
