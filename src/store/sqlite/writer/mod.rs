//! The one connection that writes. A batch that comes while no other is being written is committed by
//! the thread that brings it. Batches that come meanwhile wait for the writer's thread, which commits
//! all of them in one transaction and replies to each after the one sync: group commit.

mod full_disk;
mod maintenance;
mod state;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;

use super::checkpoint::Checkpoint;
use super::checkpoint::checkpointer::Checkpointer;
use super::data_folder::Folder;
use super::external_writes::ExternalWrites;
use super::high_water::Raiser;
use super::object_index::ObjectIndex;
use super::room::reserve::Reserve;
use super::tallies::Tallies;
use super::writability::{Refusal, Writability};
use super::{recovery, spawn};
use crate::base::limits::{BATCHES_PER_TRANSACTION_MAX, BATCHES_WAITING_MAX};
use crate::base::may_block;
use crate::base::threads::joined::Joined;
use crate::store::{Batch, Observe, Result, StoreError, Version};
use state::State;

/// How long a log that could not be settled is left alone until it is tried again, and at most where another process
/// holds it: each time it is written again, and waited for.
const SETTLED_AGAIN_MIN: Duration = Duration::from_secs(1);
const SETTLED_AGAIN_MAX: Duration = Duration::from_mins(1);

/// What the writer's thread is asked to do.
enum Job {
    /// Commit a batch, have its outcome observed, and send it.
    Commit(Batch, Observe, SyncSender<Result<Version>>),
    /// Merge the index and copy the log, where they are due.
    Maintain,
}

/// The way to the connection that writes. When it is dropped, the thread ends after the jobs that
/// wait.
#[derive(Debug)]
pub(super) struct Writer {
    /// Before the thread, which ends without it.
    jobs: SyncSender<Job>,
    /// The jobs that were sent and that the thread has not begun with the connection locked. While
    /// there are any, no caller commits by itself: the thread would get the connection late or never.
    waiting: Arc<AtomicUsize>,
    thread: Joined,
    state: Arc<Mutex<State>>,
    writability: Arc<Writability>,
}

impl Writer {
    /// Opens the connection, as [`recovery::open`], and starts the threads. `settles` is false beside a daemon.
    ///
    /// # Errors
    /// As [`recovery::open`].
    pub(super) fn start(
        folder: &Folder,
        index: &Arc<ObjectIndex>,
        settles: bool,
        tallies: &Arc<Tallies>,
    ) -> Result<(Self, Arc<ExternalWrites>)> {
        let writability = Arc::new(Writability::new(folder, settles));
        let reserve = Arc::new(Reserve::new(folder));
        let (mut db, high_water) = recovery::open(folder, &reserve, &writability)?;
        let frames = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&frames);
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counted.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (jobs, received) = sync_channel(BATCHES_WAITING_MAX);
        let external = Arc::new(ExternalWrites::new(&folder.database())?);
        let checkpoint = Checkpoint {
            folder: folder.clone(),
            writability: Arc::clone(&writability),
            reserve: Arc::clone(&reserve),
            tallies: Arc::clone(tallies),
        };
        let checkpointer = Checkpointer::start(folder, checkpoint.clone())?;
        let raiser = Raiser::start(high_water, Arc::clone(&writability), Arc::clone(&external))?;
        let state = Arc::new(Mutex::new(State {
            checkpointer,
            _raiser: raiser,
            external: Arc::clone(&external),
            db,
            folder: folder.clone(),
            index: Arc::clone(index),
            tallies: Arc::clone(tallies),
            merge: None,
            reserve,
            writability: Arc::clone(&writability),
            checkpoint,
            frames,
            frames_copied: 0,
            held_told: false,
        }));
        let queue = Queue {
            jobs: received,
            waiting: Arc::default(),
        };
        let waiting = Arc::clone(&queue.waiting);
        let shared = Arc::clone(&state);
        let thread = spawn("store-writer", move || run(&queue, &shared))?;
        let writer = Self {
            jobs,
            waiting,
            thread,
            state,
            writability,
        };
        Ok((writer, external))
    }

    /// False when the thread has panicked, or a commit on another one.
    pub(super) fn is_alive(&self) -> bool {
        !self.thread.is_finished() && !self.state.is_poisoned()
    }

    /// Commits a batch; see [`crate::store::Store::commit_observed`].
    pub(super) fn commit(&self, batch: Batch, observe: Observe) -> Result<Version> {
        // Where batches wait already, one more shares their sync.
        if self.waiting.load(Ordering::Acquire) == 0
            && let Ok(mut state) = self.state.try_lock()
        {
            let mut outcomes = state.commit_observed(std::slice::from_ref(&batch), [observe]);
            if state.is_maintenance_due() {
                // Where the queue is full, the thread maintains after the next group anyway.
                drop(self.send(Job::Maintain));
            }
            return outcomes.pop().unwrap_or(Err(StoreError::Stopped));
        }
        let (outcome, receiver) = sync_channel(1);
        self.send(Job::Commit(batch, observe, outcome))?;
        receiver.recv().unwrap_or(Err(StoreError::Stopped))
    }

    /// Runs a transaction of another kind than a batch; on a full disk, in the room that is kept. `what`
    /// names it in the log.
    ///
    /// # Errors
    /// Those of a commit, and [`StoreError::DamagedEngine`] where a page of the database is damaged: then it
    /// has changed nothing, and others may write on.
    pub(super) fn run<T>(
        &self,
        what: &'static str,
        mut work: impl FnMut(&mut Connection, &ObjectIndex) -> rusqlite::Result<T>,
    ) -> Result<T> {
        may_block(|| {
            // Who settles the log keeps the connection for long.
            if let Some(refusal) = self.refusal() {
                return Err(refusal.to_error());
            }
            let mut state = self.state.lock().map_err(|_| StoreError::Stopped)?;
            let outcome = state.run(what, &mut work);
            // Here, and not by the thread: who takes the connection again at once keeps it waiting, and
            // the log would grow without end.
            state.keep_log_short(true);
            if state.index.is_merge_due() {
                drop(self.send(Job::Maintain));
            }
            outcome
        })
    }

    /// Copies the log into the database; true if all of it was copied.
    ///
    /// # Errors
    /// [`StoreError::Stopped`].
    pub(super) fn copy_log(&self) -> Result<bool> {
        may_block(|| {
            if let Some(refusal) = self.refusal() {
                return Err(refusal.to_error());
            }
            let state = self.state.lock().map_err(|_| StoreError::Stopped)?;
            let copied = state.checkpoint.run(&state.db);
            Ok(copied.is_some_and(|copied| copied.frames_left == 0))
        })
    }

    fn send(&self, job: Job) -> Result<()> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.jobs.try_send(job).map_err(|refused| {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            match refused {
                TrySendError::Full(_) => StoreError::Busy,
                TrySendError::Disconnected(_) => StoreError::Stopped,
            }
        })
    }

    pub(super) fn writability(&self) -> &Arc<Writability> {
        &self.writability
    }

    /// Why a change is not even tried; see [`Writability::refusal_untried`].
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if self.state.is_poisoned() {
            return Some(Refusal::Stopped);
        }
        self.writability.refusal_untried()
    }
}

/// Where the writer's thread takes its jobs from.
struct Queue {
    jobs: Receiver<Job>,
    waiting: Arc<AtomicUsize>,
}

/// Commits groups until nobody can send any more.
fn run(queue: &Queue, state: &Mutex<State>) {
    let mut merging = false;
    let mut pause = SETTLED_AGAIN_MIN;
    while let Some(jobs) = queue.next_jobs(merging, pause) {
        let Ok(mut state) = state.lock() else {
            tracing::error!("a write ended in a panic; the store refuses writes from now on");
            return;
        };
        if jobs.is_empty() && !merging {
            pause = match state.settle_again() {
                Some(Refusal::Busy) => (2 * pause).min(SETTLED_AGAIN_MAX),
                _ => SETTLED_AGAIN_MIN,
            };
            continue;
        }
        queue.waiting.fetch_sub(jobs.len(), Ordering::AcqRel);
        let commits = jobs.into_iter().filter_map(|job| match job {
            Job::Commit(batch, observe, outcome) => Some((batch, (observe, outcome))),
            Job::Maintain => None,
        });
        let (batches, callers): (Vec<_>, Vec<_>) = commits.unzip();
        let (observers, senders): (Vec<_>, Vec<_>) = callers.into_iter().unzip();
        let outcomes = state.commit_observed(&batches, observers);
        for (sender, outcome) in senders.into_iter().zip(outcomes) {
            // A caller that is gone needs no outcome.
            drop(sender.send(outcome));
        }
        state.merge_index();
        state.keep_log_short(batches.len() <= 1);
        merging = state.merge.is_some();
    }
}

impl Queue {
    /// Waits for jobs, not longer than this pause, and takes all that wait. While a merge is unfinished it does not
    /// wait. `None` when nobody can send any more.
    fn next_jobs(&self, merging: bool, pause: Duration) -> Option<Vec<Job>> {
        let first = if merging {
            match self.jobs.try_recv() {
                Ok(first) => first,
                Err(TryRecvError::Empty) => return Some(Vec::new()),
                Err(TryRecvError::Disconnected) => return None,
            }
        } else {
            match self.jobs.recv_timeout(pause) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let rest = self.jobs.try_iter().take(BATCHES_PER_TRANSACTION_MAX - 1);
        Some(std::iter::once(first).chain(rest).collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::store::{Expect, RecordWrite};

    /// A batch that writes one record.
    fn batch(key: &str) -> Batch {
        let mut batch = Batch::default();
        batch.writes.push(RecordWrite {
            key: key.to_owned(),
            expect: Expect::Anything,
            value: Some(Bytes::from_static(b"1")),
        });
        batch
    }

    #[test]
    fn a_batch_that_waits_for_the_thread_is_not_overtaken() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let (writer, _external) =
            Writer::start(&folder, &Arc::default(), true, &Arc::default()).unwrap();
        for _ in 0..100 {
            let state = writer.state.lock().unwrap();
            let (outcome, first) = sync_channel(1);
            let job = Job::Commit(batch("first"), Box::new(|_| ()), outcome);
            writer.send(job).unwrap();
            drop(state);
            // The connection is free, and the thread may not have taken it yet.
            let later = writer.commit(batch("later"), Box::new(|_| ())).unwrap();
            assert!(first.recv().unwrap().unwrap() < later);
        }
    }
}
