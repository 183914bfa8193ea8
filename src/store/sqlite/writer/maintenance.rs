//! What the writer does beside batches: merging the index and keeping the log short.

use std::sync::atomic::Ordering;

use super::super::checkpoint::checkpointer::{Copier, next_copier};
use super::state::State;
use crate::base::limits::{WAL_FRAMES_HELD, WAL_FRAMES_IDLE_MAX};

impl State {
    /// True if the thread has something to do beside batches.
    pub(super) fn is_maintenance_due(&self) -> bool {
        self.frames.load(Ordering::Relaxed) > WAL_FRAMES_IDLE_MAX || self.index.is_merge_due()
    }

    /// Takes a step of the merge under way, or begins one if it is due.
    pub(super) fn merge_index(&mut self) {
        let begin = || self.index.begin_merge(&self.db);
        let Some(mut merge) = self.merge.take().or_else(begin) else {
            return;
        };
        if !self.writability.is_sound() {
            return;
        }
        match merge.step(&self.index, &mut self.db, usize::MAX) {
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
    pub(super) fn keep_log_short(&mut self, alone: bool) {
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
                let copied = self.checkpoint.run(&self.db);
                copied.inspect(|copied| self.checkpointer.note(*copied));
            }
            Some(_) | None => {}
        }
    }
}
