//! A copy of the log into the database.

pub(super) mod checkpointer;

use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::data_folder::Folder;
use super::room::reserve::Reserve;
use super::room::to_copy::bytes_to_copy;
use super::tallies::Tallies;
use super::writability::{Refusal, Writability};
use crate::base::limits::WAL_FRAMES_IDLE_MAX;
use crate::store::StoreError;

/// What a copy of the log has come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    /// How long the log was, in frames.
    pub(super) frames: u64,
    /// How many of them a reader that needs the older state has kept from the database.
    pub(super) frames_left: u64,
}

impl Copied {
    /// True if that is so much that saves would notice if they had to wait for it.
    pub(super) fn is_held(self) -> bool {
        self.frames_left > WAL_FRAMES_IDLE_MAX
    }
}

/// What a copy of the log needs.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) folder: Folder,
    pub(super) writability: Arc<Writability>,
    pub(super) reserve: Arc<Reserve>,
    pub(super) tallies: Arc<Tallies>,
}

impl Checkpoint {
    /// Copies the log into the database as far as no reader needs the older state; on a full disk, in the room that is
    /// kept for it. `None` where nothing can be copied now.
    pub(super) fn run(&self, db: &Connection) -> Option<Copied> {
        if !self.writability.is_sound() {
            return None;
        }
        match self.copy(db) {
            Err(Refusal::Full) if self.writability.is_sound() => {
                let needed = bytes_to_copy(db, &self.folder).ok()?;
                let _lent = self.reserve.lend(needed)?;
                self.copy(db).ok()
            }
            copied => copied.ok(),
        }
    }

    fn copy(&self, db: &Connection) -> Result<Copied, Refusal> {
        let since = Instant::now();
        let copied = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE);
        self.tallies.checkpoints.add_duration(since.elapsed());
        match copied {
            Ok((frames, copied)) => Ok(Copied {
                frames: u64::try_from(frames).unwrap_or(0),
                frames_left: u64::try_from(frames - copied).unwrap_or(0),
            }),
            Err(failure) => {
                let failure = StoreError::from(failure);
                let refusal =
                    (self.writability).judge("copying the log into the database", &failure);
                tracing::debug!(error = %failure, ?refusal, "the log was not copied");
                Err(refusal)
            }
        }
    }
}
