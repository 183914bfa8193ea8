//! Copying the log into the database beside the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::spawn;
use crate::store::Result;

/// The thread that copies the log into the database beside the writer. Dropped, it waits for the
/// thread to end.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// `None` only while it is dropped.
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    copying: Arc<AtomicBool>,
}

impl Checkpointer {
    pub(super) fn start(db: Connection) -> Result<Self> {
        let (requests, requested) = sync_channel::<()>(1);
        let copying = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&copying);
        let thread = spawn("store-checkpoint", move || {
            while requested.recv().is_ok() {
                copy(&db);
                ended.store(false, Ordering::Release);
            }
        })?;
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread),
            copying,
        })
    }

    /// Makes the thread copy the log as it is now. False if it is still copying.
    pub(super) fn begin(&self) -> bool {
        if self.copying.swap(true, Ordering::AcqRel) {
            return false;
        }
        if let Some(requests) = &self.requests {
            // A thread that has ended has logged why.
            let _sent = requests.try_send(());
        }
        true
    }

    /// True while the thread copies.
    pub(super) fn is_copying(&self) -> bool {
        self.copying.load(Ordering::Acquire)
    }
}

/// Copies the log into the database as far as no reader needs the older state.
pub(super) fn copy(db: &Connection) {
    if let Err(e) = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
        tracing::warn!(error = %e, "a checkpoint failed");
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's checkpoints ended in a panic");
        }
    }
}
