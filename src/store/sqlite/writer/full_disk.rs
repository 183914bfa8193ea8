//! Commits on a full disk. What a commit leaves in the log, a copy must find room for in the database: else the log
//! could not start again, and not even a deletion would find room in it.

use super::super::room::to_copy::{bytes_of, bytes_to_copy};
use super::super::writability::Refusal;
use super::state::State;
use crate::store::{Batch, Result, Version};

impl State {
    /// Keeps room for the log as these batches make it, and for changes that free or protect after them. False if there
    /// is not as much.
    pub(super) fn keep_room_for(&self, batches: &[&Batch]) -> bool {
        let added = batches.iter().map(|batch| bytes_of(batch)).sum::<u64>();
        self.reserve.keep(self.to_copy() + added)
    }

    /// True of a refusal for want of room after which another try is safe.
    pub(super) fn may_find_room(&self, refusal: Refusal) -> bool {
        refusal.lacks_room() && self.writability.is_settled()
    }

    fn is_to_try_again<T>(&self, outcome: &std::result::Result<T, Refusal>) -> bool {
        let refusal = outcome.as_ref().err();
        refusal.is_some_and(|refusal| self.may_find_room(*refusal))
    }

    /// Bytes of room that a copy of the log needs. Others may have written to it.
    fn to_copy(&self) -> u64 {
        bytes_to_copy(&self.db, &self.folder).unwrap_or_else(|error| {
            // The next transaction meets what is wrong, too.
            tracing::debug!(%error, "what a copy of the log needs is not known");
            0
        })
    }

    /// Does work that frees or protects, on a full disk in the room that is kept for it.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> std::result::Result<T, Refusal>,
    ) -> std::result::Result<T, Refusal> {
        let mut outcome = work(self);
        if self.is_to_try_again(&outcome) {
            // The log starts again then, in the blocks that it has.
            self.checkpoint.run(&self.db);
            outcome = work(self);
        }
        while self.is_to_try_again(&outcome) && self.reserve.give_to_log(self.to_copy()) {
            outcome = work(self);
        }
        if !self.keep_room_for(&[]) {
            // Of what it has left in the log, a copy may need more room the longer it waits.
            self.checkpoint.run(&self.db);
        }
        outcome
    }

    /// Commits those batches that may use the room that was kept. There is none for the others, and this is their
    /// refusal.
    pub(super) fn commit_with_reserve(
        &mut self,
        batches: &[&Batch],
        mut refusal: Refusal,
    ) -> Vec<Result<Version>> {
        let uses_reserve = |batch: &&Batch| batch.uses_reserve;
        let chosen: Vec<_> = batches.iter().copied().filter(uses_reserve).collect();
        let mut outcomes = Vec::new().into_iter();
        let mut of_chosen = refusal;
        if !chosen.is_empty() {
            match self.with_reserve(|state| state.commit_group(&chosen)) {
                Ok(committed) => {
                    outcomes = committed.into_iter();
                    // What the log had of the others is overwritten.
                    refusal = Refusal::Full;
                }
                Err(failed) => {
                    of_chosen = failed;
                    if matches!(failed, Refusal::Moved | Refusal::Stopped) {
                        refusal = failed;
                    }
                }
            }
        }
        let refused = batches.len() - outcomes.len();
        self.tallies.refused_full.add(refused as u64);
        let outcome_of = |batch: &&Batch| {
            let (outcome, refusal) = if batch.uses_reserve {
                (outcomes.next(), of_chosen)
            } else {
                (None, refusal)
            };
            outcome.unwrap_or_else(|| Err(refusal.to_error()))
        };
        batches.iter().map(outcome_of).collect()
    }
}
