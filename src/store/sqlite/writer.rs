//! The one connection that writes. A batch that comes while no other is being written is committed by
//! the thread that brings it. Batches that come meanwhile wait for the writer's thread, which commits
//! all of them in one transaction and replies to each after the one sync: group commit.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::Connection;

use super::checkpointer::{self, Checkpointer, Copier, next_copier};
use super::data_folder::Folder;
use super::external_writes::ExternalWrites;
use super::failure::is_damage;
use super::high_water::Raiser;
use super::object_index::{IndexMerge, ObjectIndex};
use super::room::reserve::Reserve;
use super::tallies::Tallies;
use super::writability::{Refusal, Writability};
use super::{group, recovery, schema, spawn};
use crate::base::limits::{
    BATCHES_PER_TRANSACTION_MAX, BATCHES_WAITING_MAX, WAL_FRAMES_HELD, WAL_FRAMES_IDLE_MAX,
};
use crate::base::may_block;
use crate::base::threads::joined::Joined;
use crate::store::{Batch, Observe, Result, StoreError, Version};

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
    /// Opens the connection, as [`recovery::open`], and starts the threads.
    ///
    /// # Errors
    /// As [`recovery::open`].
    pub(super) fn start(
        folder: &Folder,
        index: &Arc<ObjectIndex>,
        settles: bool,
        tallies: &Arc<Tallies>,
    ) -> Result<(Self, Arc<ExternalWrites>)> {
        let writability = Arc::new(Writability::new(folder));
        let reserve = Reserve::new(folder);
        let (mut db, high_water) = recovery::open(folder, settles, &reserve, &writability)?;
        let frames = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&frames);
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counted.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (jobs, received) = sync_channel(BATCHES_WAITING_MAX);
        let external = Arc::new(ExternalWrites::new(&folder.database())?);
        let checkpointer =
            Checkpointer::start(folder, Arc::clone(&writability), Arc::clone(tallies))?;
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
            let mut state = self.state.lock().map_err(|_| StoreError::Stopped)?;
            let outcome = state.run(what, &mut work);
            // Here, and not by the thread: who takes the connection again at once keeps it waiting, and
            // the log would grow without end.
            state.checkpoint(true);
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
            let state = self.state.lock().map_err(|_| StoreError::Stopped)?;
            if state.writability.is_stopped() {
                return Err(StoreError::Stopped);
            }
            let copied = checkpointer::copy(&state.db, &state.writability, &state.tallies);
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

    pub(super) fn is_stopped(&self) -> bool {
        self.writability.is_stopped() || self.state.is_poisoned()
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
    while let Some(jobs) = queue.next_jobs(merging) {
        let Ok(mut state) = state.lock() else {
            tracing::error!("a write ended in a panic; the store refuses writes from now on");
            return;
        };
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
        state.checkpoint(batches.len() <= 1);
        merging = state.merge.is_some();
    }
}

impl Queue {
    /// Waits for jobs and takes all that wait. While a merge is unfinished it does not wait, and may
    /// take none. `None` when nobody can send any more.
    fn next_jobs(&self, merging: bool) -> Option<Vec<Job>> {
        let first = if merging {
            match self.jobs.try_recv() {
                Ok(first) => first,
                Err(TryRecvError::Empty) => return Some(Vec::new()),
                Err(TryRecvError::Disconnected) => return None,
            }
        } else {
            self.jobs.recv().ok()?
        };
        let rest = self.jobs.try_iter().take(BATCHES_PER_TRANSACTION_MAX - 1);
        Some(std::iter::once(first).chain(rest).collect())
    }
}

/// The connection that writes, and what is maintained beside it.
#[derive(Debug)]
struct State {
    /// Before the writing connection, which must close last, as those that watch.
    checkpointer: Checkpointer,
    _raiser: Raiser,
    external: Arc<ExternalWrites>,
    db: Connection,
    folder: Folder,
    index: Arc<ObjectIndex>,
    tallies: Arc<Tallies>,
    /// The merge under way, a step of it after each group.
    merge: Option<IndexMerge>,
    reserve: Reserve,
    writability: Arc<Writability>,
    /// The log's length, in frames.
    frames: Arc<AtomicU64>,
    /// The log's length when the checkpointer last began to copy it, in frames.
    frames_copied: u64,
    /// True once it was told that the log cannot start again.
    held_told: bool,
}

impl Drop for State {
    fn drop(&mut self) {
        // After a failure it is kept for the next start: what of it is on the disk, nobody knows.
        if self.writability.is_sound()
            && let Err(error) = schema::keep_log(&self.db, false)
        {
            tracing::warn!(%error, "the log is left to the next start");
        }
    }
}

impl State {
    /// True if the thread has something to do beside batches.
    fn is_maintenance_due(&self) -> bool {
        self.frames.load(Ordering::Relaxed) > WAL_FRAMES_IDLE_MAX || self.index.is_merge_due()
    }

    /// Commits what can be committed of the batches, has each outcome observed, and gives it.
    fn commit_observed(
        &mut self,
        batches: &[Batch],
        observers: impl IntoIterator<Item = Observe>,
    ) -> Vec<Result<Version>> {
        let outcomes = self.commit_all(batches);
        for (observe, outcome) in observers.into_iter().zip(&outcomes) {
            observe(outcome);
        }
        self.external
            .end_own(outcomes.iter().flatten().max().copied());
        outcomes
    }

    /// Commits what can be committed of the batches, and gives the outcome of each.
    fn commit_all(&mut self, batches: &[Batch]) -> Vec<Result<Version>> {
        if batches.is_empty() {
            return Vec::new();
        }
        let batches: Vec<_> = batches.iter().collect();
        let tallies = Arc::clone(&self.tallies);
        let refuse = |refusal: Refusal| {
            let refused = match refusal {
                Refusal::Full | Refusal::InDoubt => &tallies.refused_full,
                Refusal::Busy => &tallies.refused_busy,
                Refusal::Stopped => &tallies.refused_stopped,
            };
            refused.add(batches.len() as u64);
            batches.iter().map(|_| Err(refusal.to_error())).collect()
        };
        if self.writability.is_stopped() {
            return refuse(Refusal::Stopped);
        }
        if let Err(refusal) = self.settle() {
            return refuse(refusal);
        }
        if self.reserve.is_ready() {
            match self.commit_group(&batches) {
                Err(Refusal::Full) if batches.iter().any(|batch| batch.uses_reserve) => {
                    self.reserve.give_up();
                }
                outcome => {
                    let full = matches!(outcome, Err(Refusal::Full | Refusal::InDoubt));
                    self.writability.note_room(full);
                    return outcome.unwrap_or_else(refuse);
                }
            }
        }
        self.writability.note_room(true);
        self.commit_with_reserve(&batches)
    }

    fn run<T>(
        &mut self,
        what: &'static str,
        work: &mut impl FnMut(&mut Connection, &ObjectIndex) -> rusqlite::Result<T>,
    ) -> Result<T> {
        if self.writability.is_stopped() {
            return Err(StoreError::Stopped);
        }
        self.settle().map_err(Refusal::to_error)?;
        let mut attempt = |state: &mut Self| match work(&mut state.db, &state.index) {
            Ok(done) => Ok(Ok(done)),
            // It reads pages that no batch needs. One that was damaged before has nothing to do with
            // whether what is written now is durable.
            Err(failure) if is_damage(&failure) && state.db.is_autocommit() => Ok(Err(failure)),
            Err(failure) => Err(state.refusal_of(what, failure)),
        };
        let outcome = match attempt(self) {
            Err(Refusal::Full) if self.reserve.give_up() => {
                // So that the next finds room in the log's own blocks.
                checkpointer::copy(&self.db, &self.writability, &self.tallies);
                attempt(self)
            }
            outcome => outcome,
        };
        Ok(outcome.map_err(Refusal::to_error)??)
    }

    fn commit_group(
        &mut self,
        batches: &[&Batch],
    ) -> std::result::Result<Vec<Result<Version>>, Refusal> {
        let since = Instant::now();
        let committed = group::commit(&mut self.db, &self.external, &self.index, batches);
        if committed.is_ok() {
            self.tallies.commits.add_duration(since.elapsed());
            self.tallies.batches.add(batches.len() as u64);
        }
        committed.map_err(|failure| {
            self.external.end_own(None);
            self.refusal_of("a commit", failure)
        })
    }

    fn settle(&mut self) -> std::result::Result<(), Refusal> {
        recovery::settle(&mut self.db, &self.folder, &self.reserve, &self.writability)
    }

    /// The refusal that the failure of a transaction leads to.
    fn refusal_of(&mut self, what: &str, failure: rusqlite::Error) -> Refusal {
        let refusal = self.writability.judge(what, &failure.into());
        recovery::proven(refusal, || self.settle())
    }

    /// Commits those batches that may use the room that was kept. There is none for the others.
    fn commit_with_reserve(&mut self, batches: &[&Batch]) -> Vec<Result<Version>> {
        let uses_reserve = |batch: &&Batch| batch.uses_reserve;
        let chosen: Vec<_> = batches.iter().copied().filter(uses_reserve).collect();
        let mut outcomes = Vec::new().into_iter();
        let mut refusal = Refusal::Full;
        if !chosen.is_empty() {
            match self.commit_group(&chosen) {
                Ok(committed) => outcomes = committed.into_iter(),
                Err(failed) => refusal = failed,
            }
            // So that the next finds room in the log's own blocks.
            checkpointer::copy(&self.db, &self.writability, &self.tallies);
        }
        let uses_none = |batch: &&&Batch| !batch.uses_reserve;
        let refused = batches.iter().filter(uses_none).count();
        self.tallies.refused_full.add(refused as u64);
        let outcome_of = |batch: &&Batch| {
            let outcome = batch.uses_reserve.then(|| outcomes.next()).flatten();
            let refusal = if batch.uses_reserve {
                refusal
            } else {
                Refusal::Full
            };
            outcome.unwrap_or_else(|| Err(refusal.to_error()))
        };
        batches.iter().map(outcome_of).collect()
    }

    /// Takes a step of the merge under way, or begins one if it is due.
    fn merge_index(&mut self) {
        let begin = || self.index.begin_merge(&self.db);
        let Some(mut merge) = self.merge.take().or_else(begin) else {
            return;
        };
        if !self.writability.is_sound() {
            return;
        }
        match merge.step(&self.index, &mut self.db) {
            Ok(true) => {}
            Ok(false) => self.merge = Some(merge),
            // The next group begins another.
            Err(failure) => {
                let refusal = self
                    .writability
                    .judge("a merge of the index", &failure.into());
                tracing::debug!(?refusal, "the index was not merged");
            }
        }
    }

    /// Keeps the log short; see [`next_copier`].
    fn checkpoint(&mut self, alone: bool) {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.frames_copied {
            // The log has started again.
            self.frames_copied = 0;
            self.held_told = false;
        }
        if frames > WAL_FRAMES_HELD && !self.held_told {
            self.held_told = true;
            tracing::warn!(
                mebibytes = frames >> 8,
                "the log grows and cannot start again: a process that reads the store, such as a \
                 suspended command, holds it"
            );
        }
        let held = self.checkpointer.is_held();
        match next_copier(frames, self.frames_copied, alone, held) {
            Some(Copier::Checkpointer) if self.checkpointer.begin() => self.frames_copied = frames,
            Some(Copier::Writer) if !self.checkpointer.is_copying() => {
                let copied = checkpointer::copy(&self.db, &self.writability, &self.tallies);
                copied.inspect(|copied| self.checkpointer.note(*copied));
            }
            Some(_) | None => {}
        }
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
