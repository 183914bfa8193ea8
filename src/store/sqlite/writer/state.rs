//! The connection that writes, and its transactions.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use rusqlite::Connection;

use super::super::checkpoint::Checkpoint;
use super::super::checkpoint::checkpointer::Checkpointer;
use super::super::data_folder::Folder;
use super::super::external_writes::ExternalWrites;
use super::super::failure::is_damage;
use super::super::high_water::Raiser;
use super::super::object_index::{IndexMerge, ObjectIndex};
use super::super::room::reserve::Reserve;
use super::super::tallies::Tallies;
use super::super::writability::{Refusal, Writability};
use super::super::{group, recovery, schema};
use crate::store::{Batch, Observe, Result, StoreError, Version};

/// The connection that writes, and what is maintained beside it.
#[derive(Debug)]
pub(super) struct State {
    /// Before the writing connection, which must close last, as those that watch.
    pub(super) checkpointer: Checkpointer,
    pub(super) _raiser: Raiser,
    pub(super) external: Arc<ExternalWrites>,
    pub(super) db: Connection,
    pub(super) folder: Folder,
    pub(super) index: Arc<ObjectIndex>,
    pub(super) tallies: Arc<Tallies>,
    /// The merge under way, a step of it after each group.
    pub(super) merge: Option<IndexMerge>,
    pub(super) reserve: Arc<Reserve>,
    pub(super) writability: Arc<Writability>,
    pub(super) checkpoint: Checkpoint,
    /// The log's length, in frames.
    pub(super) frames: Arc<AtomicU64>,
    /// The log's length when the checkpointer last began to copy it, in frames.
    pub(super) frames_copied: u64,
    /// True once it was told that the log cannot start again.
    pub(super) held_told: bool,
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
    /// Commits what can be committed of the batches, has each outcome observed, and gives it.
    pub(super) fn commit_observed(
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
        if let Err(refusal) = self.require_sound() {
            return self.refuse(&batches, refusal);
        }
        let mut refusal = Refusal::Full;
        if self.keep_room_for(&batches) {
            match self.commit_group(&batches) {
                Err(lacking)
                    if self.may_find_room(lacking)
                        && batches.iter().any(|batch| batch.uses_reserve) =>
                {
                    refusal = lacking;
                }
                Err(refusal) => return self.refuse(&batches, refusal),
                Ok(outcomes) => {
                    self.writability.note_room(false);
                    return outcomes;
                }
            }
        }
        self.writability.note_room(true);
        self.commit_with_reserve(&batches, refusal)
    }

    /// The outcome of batches of which none is committed.
    fn refuse(&self, batches: &[&Batch], refusal: Refusal) -> Vec<Result<Version>> {
        let full = matches!(refusal, Refusal::Full | Refusal::InDoubt);
        self.writability.note_room(full);
        let refused = match refusal {
            Refusal::Full | Refusal::InDoubt => &self.tallies.refused_full,
            Refusal::Busy => &self.tallies.refused_busy,
            Refusal::Moved | Refusal::Stopped => &self.tallies.refused_stopped,
        };
        refused.add(batches.len() as u64);
        batches.iter().map(|_| Err(refusal.to_error())).collect()
    }

    /// Refuses what would be written behind a failure, or behind a log that is not settled.
    fn require_sound(&mut self) -> std::result::Result<(), Refusal> {
        match self.writability.refusal_untried() {
            Some(refusal) => Err(refusal),
            None => self.settle(),
        }
    }

    pub(super) fn run<T>(
        &mut self,
        what: &'static str,
        work: &mut impl FnMut(&mut Connection, &ObjectIndex) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.require_sound().map_err(Refusal::to_error)?;
        let outcome = self.with_reserve(|state| match work(&mut state.db, &state.index) {
            Ok(done) => Ok(Ok(done)),
            Err(failure) if state.is_of_damage(&failure) => Ok(Err(failure)),
            Err(failure) => Err(state.refusal_of(what, failure)),
        });
        Ok(outcome.map_err(Refusal::to_error)??)
    }

    /// Commits the batches in one transaction, those that can be committed.
    ///
    /// # Errors
    /// Why none of them was.
    pub(super) fn commit_group(
        &mut self,
        batches: &[&Batch],
    ) -> std::result::Result<Vec<Result<Version>>, Refusal> {
        let since = Instant::now();
        let failure = match group::commit(&mut self.db, &self.external, &self.index, batches) {
            Ok(outcomes) => {
                self.tallies.commits.add_duration(since.elapsed());
                self.tallies.batches.add(batches.len() as u64);
                return Ok(outcomes);
            }
            Err(failure) => failure,
        };
        self.external.end_own(None);
        if !self.is_of_damage(&failure) {
            return Err(self.refusal_of("a commit", failure));
        }
        if let [_] = batches {
            tracing::error!(error = %failure, "a change needs a damaged page, and is not made");
            return Ok(vec![Err(failure.into())]);
        }
        // One of them needs a damaged page; the others are committed each alone.
        let alone = |batch: &&Batch| {
            // One that came before may have failed in another way.
            let committed = self
                .require_sound()
                .and_then(|()| self.commit_group(&[batch]));
            match committed {
                Ok(mut outcomes) => outcomes.pop().unwrap_or(Err(StoreError::Stopped)),
                Err(refusal) => Err(refusal.to_error()),
            }
        };
        Ok(batches.iter().map(alone).collect())
    }

    /// True where a transaction has met a page that was damaged before, and is undone. That has nothing to do with
    /// whether what is written now is durable.
    fn is_of_damage(&self, failure: &rusqlite::Error) -> bool {
        is_damage(failure) && self.db.is_autocommit()
    }

    /// Settles the log, unless that is done.
    pub(super) fn settle(&mut self) -> std::result::Result<(), Refusal> {
        recovery::settle(&mut self.db, &self.folder, &self.reserve, &self.writability)
    }

    /// Tries once more to settle a log that could not be settled, as for want of room. Gives why it still cannot be.
    pub(super) fn settle_again(&mut self) -> Option<Refusal> {
        if self.writability.is_settled() {
            return None;
        }
        let refused = self.settle().err();
        if refused.is_none() {
            self.writability.note_room(false);
            self.keep_room_for(&[]);
            tracing::info!(
                "what was left in the log is in the database now, and changes are taken"
            );
        }
        refused
    }

    /// The refusal that the failure of a transaction leads to.
    fn refusal_of(&mut self, what: &str, failure: rusqlite::Error) -> Refusal {
        let refusal = self.writability.judge(what, &failure.into());
        recovery::proven(refusal, || match self.writability.refusal() {
            // Beside a service it is not settled here, and may be in the log.
            Some(refusal @ (Refusal::Moved | Refusal::Stopped)) => Err(refusal),
            _ => self.settle(),
        })
    }
}
