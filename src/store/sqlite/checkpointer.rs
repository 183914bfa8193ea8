//! Copying the log into the database beside the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::spawn;
use crate::store::Result;

/// The way to the thread that copies the log into the database beside the writer. Dropped, it waits
/// for the thread to end.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wishes: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    copying: Arc<AtomicBool>,
}

impl Checkpoints {
    pub(super) fn start(db: Connection) -> Result<Self> {
        let (wishes, wished) = sync_channel::<()>(1);
        let copying = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&copying);
        let thread = spawn("store-checkpoint", move || {
            while wished.recv().is_ok() {
                copy(&db);
                ended.store(false, Ordering::Release);
            }
        })?;
        Ok(Self {
            wishes: Some(wishes),
            thread: Some(thread),
            copying,
        })
    }

    /// Has the log copied as far as it goes now. False when the thread is still at it.
    pub(super) fn begin(&self) -> bool {
        if self.copying.swap(true, Ordering::AcqRel) {
            return false;
        }
        if let Some(wishes) = &self.wishes {
            // A thread that is gone has said why.
            let _sent = wishes.try_send(());
        }
        true
    }

    /// True while the thread copies.
    pub(super) fn is_copying(&self) -> bool {
        self.copying.load(Ordering::Acquire)
    }
}

/// Copies what no reader stands in the way of.
pub(super) fn copy(db: &Connection) {
    if let Err(e) = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
        tracing::warn!(error = %e, "a checkpoint failed");
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.wishes.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's checkpoints ended in a panic");
        }
    }
}
