//! Copying the log into the database beside the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::external_writes::ExternalWrites;
use super::high_water::HighWater;
use super::spawn;
use super::tallies::Tallies;
use super::writability::Writability;
use crate::store::{Result, StoreError};

/// How old the high-water mark may be. Each time it is raised costs a sync.
const RAISED_EVERY: Duration = Duration::from_secs(1);

/// The thread that copies the log into the database beside the writer, and keeps the high-water mark.
/// Dropped, it waits for the thread to end.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// `None` only while it is dropped.
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    copying: Arc<AtomicBool>,
}

impl Checkpointer {
    pub(super) fn start(
        db: Connection,
        writability: Arc<Writability>,
        high_water: HighWater,
        external: Arc<ExternalWrites>,
        tallies: Arc<Tallies>,
    ) -> Result<Self> {
        let (requests, requested) = sync_channel::<()>(1);
        let copying = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&copying);
        let thread = spawn("store-checkpoint", move || {
            loop {
                let request = requested.recv_timeout(RAISED_EVERY);
                if request.is_ok() {
                    copy(&db, &writability, &tallies);
                    ended.store(false, Ordering::Release);
                }
                if writability.is_sound()
                    && let Err(failure) = high_water.raise(external.last())
                {
                    writability.judge("raising the high-water mark", &failure);
                }
                if request == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
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
pub(super) fn copy(db: &Connection, writability: &Writability, tallies: &Tallies) {
    if !writability.is_sound() {
        return;
    }
    let since = Instant::now();
    let copied = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE);
    tallies.checkpoints.add_duration(since.elapsed());
    if let Err(failure) = copied {
        let failure = StoreError::from(failure);
        let refusal = writability.judge("copying the log into the database", &failure);
        tracing::debug!(error = %failure, ?refusal, "the log was not copied");
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
