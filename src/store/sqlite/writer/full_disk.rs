//! Commits on a full disk. What a commit leaves in the log, a copy must find room for in the database: else the log could
//! not start again, and not even a deletion would find room in it.

use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::super::room::to_copy::{FRAME_BYTES, bytes_to_copy};
use super::super::writability::Refusal;
use super::state::State;
use crate::store::{Batch, NewObject, Result, Version};

/// Frames by which the log grows until it is asked again what a copy of it needs.
const FRAMES_BETWEEN_LOOKS: u64 = 1024;
/// Bytes of a row beside its content, at most.
const ROW_BYTES: u64 = 256;

/// The room that a copy of the log needs, when the log had so many frames.
#[derive(Debug, Default)]
pub(super) struct ToCopy {
    bytes: u64,
    frames: u64,
}

impl State {
    /// True if room is kept for the log as these batches make it, and for changes that free or protect after them.
    pub(super) fn has_room_for(&mut self, batches: &[&Batch]) -> bool {
        let added = batches.iter().map(|batch| bytes_of(batch)).sum::<u64>();
        let frames = self.frames.load(Ordering::Relaxed);
        let since = frames.checked_sub(self.to_copy.frames);
        if let Some(since) = since.filter(|since| *since <= FRAMES_BETWEEN_LOOKS)
            && (self.reserve).keep(self.to_copy.bytes + since * FRAME_BYTES + added)
        {
            return true;
        }
        match bytes_to_copy(&self.db, &self.folder) {
            Ok(bytes) => self.to_copy = ToCopy { bytes, frames },
            // The commit meets what is wrong, too.
            Err(error) => tracing::debug!(%error, "what a copy of the log needs is not known"),
        }
        self.reserve.keep(self.to_copy.bytes + added)
    }

    /// Does work that frees or protects, on a full disk in the room that is kept for it.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> std::result::Result<T, Refusal>,
    ) -> std::result::Result<T, Refusal> {
        let mut outcome = work(self);
        if matches!(outcome, Err(Refusal::Full)) {
            // The log starts again then, in the blocks that it has.
            self.checkpoint.run(&self.db);
            outcome = work(self);
        }
        if matches!(outcome, Err(Refusal::Full)) && self.reserve.give_to_log() {
            outcome = work(self);
        }
        if !self.has_room_for(&[]) {
            // Of what it has left in the log, a copy may need more room the longer it waits.
            self.checkpoint.run(&self.db);
        }
        outcome
    }

    /// Commits those batches that may use the room that was kept. There is none for the others.
    pub(super) fn commit_with_reserve(&mut self, batches: &[&Batch]) -> Vec<Result<Version>> {
        let uses_reserve = |batch: &&Batch| batch.uses_reserve;
        let chosen: Vec<_> = batches.iter().copied().filter(uses_reserve).collect();
        let mut outcomes = Vec::new().into_iter();
        let mut refusal = Refusal::Full;
        if !chosen.is_empty() {
            match self.with_reserve(|state| state.commit_group(&chosen)) {
                Ok(committed) => outcomes = committed.into_iter(),
                Err(failed) => refusal = failed,
            }
        }
        let refused = batches.len() - outcomes.len();
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
}

/// Bytes that a batch adds to the database, a little more than less.
fn bytes_of(batch: &Batch) -> u64 {
    let object = |new: &NewObject| {
        let inline = new.inline().map_or(0, Bytes::len);
        inline + new.outboard().map_or(0, Bytes::len)
    };
    let objects = batch.objects.iter().map(object);
    let records = batch.writes.iter().map(|write| {
        let value = write.value.as_ref().map_or(0, Bytes::len);
        value + 2 * write.key.len()
    });
    let appended = batch.appends.iter().map(|append| append.value.len());
    let sizes = objects.chain(records).chain(appended);
    // Pages are not filled to the last byte.
    let filled = |size: usize| (size as u64 + ROW_BYTES) / 4 * 5;
    sizes.map(filled).sum()
}
