//! Copying the log into the database beside the writer.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::fs::syncfs;

use super::{Checkpoint, Copied};
use crate::base::limits::{WAL_FRAMES_IDLE_MAX, WAL_FRAMES_MAX};
use crate::base::threads::joined::Joined;
use crate::store::Result;
use crate::store::sqlite::data_folder::Folder;
use crate::store::sqlite::{schema, spawn};

/// How often a log that is held is tried.
const HELD_TRIED_EVERY: Duration = Duration::from_secs(1);
/// How often what came while a long log was copied is copied too, so that little is left for the writer, for which
/// saves wait.
const REPEATS_MAX: u32 = 4;

/// The thread that copies the log into the database beside the writer. Dropped, it waits for the thread to end.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Checkpointer {
    /// Before the thread, which ends without it.
    requests: SyncSender<()>,
    _thread: Joined,
    copying: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl Checkpointer {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Engine`] when the database cannot be opened, [`crate::store::StoreError::Io`] when
    /// no thread can be started.
    pub(in crate::store::sqlite) fn start(folder: &Folder, checkpoint: Checkpoint) -> Result<Self> {
        let db = schema::open_checkpointer(&folder.database())?;
        let root = folder.root().to_owned();
        let (requests, requested) = sync_channel::<()>(1);
        let copying = Arc::new(AtomicBool::new(false));
        let held = Arc::new(AtomicBool::new(false));
        let (ended, found_held) = (Arc::clone(&copying), Arc::clone(&held));
        let thread = spawn("store-checkpoint", move || {
            loop {
                let request = requested.recv_timeout(HELD_TRIED_EVERY);
                if request == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
                let was_held = found_held.load(Ordering::Relaxed);
                if request.is_ok() || was_held {
                    let copy = || checkpoint.run(&db);
                    let is_held = if was_held {
                        copy_held(copy, &root)
                    } else {
                        copy().is_some_and(Copied::is_held)
                    };
                    found_held.store(is_held, Ordering::Relaxed);
                    ended.store(false, Ordering::Release);
                }
            }
        })?;
        Ok(Self {
            requests,
            _thread: thread,
            copying,
            held,
        })
    }

    /// Makes the thread copy the log as it is now. False if it is still copying.
    pub(in crate::store::sqlite) fn begin(&self) -> bool {
        if self.copying.swap(true, Ordering::AcqRel) {
            return false;
        }
        // A thread that has ended has logged why.
        let _sent = self.requests.try_send(());
        true
    }

    /// True from when a reader was found to keep much of the log from the database until that is copied. The thread
    /// tries it each second.
    pub(in crate::store::sqlite) fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    /// Notes what a copy by the writer has come to.
    pub(in crate::store::sqlite) fn note(&self, copied: Copied) {
        if copied.is_held() {
            self.held.store(true, Ordering::Relaxed);
        }
    }

    /// True while the thread copies.
    pub(in crate::store::sqlite) fn is_copying(&self) -> bool {
        self.copying.load(Ordering::Acquire)
    }
}

/// Copies a log that a reader has held, and then what came meanwhile. True while that is not done.
fn copy_held(mut copy: impl FnMut() -> Option<Copied>, root: &Path) -> bool {
    let mut length = 0;
    for _ in 0..REPEATS_MAX {
        let Some(copied) = copy() else {
            return true;
        };
        if copied.is_held() {
            return true;
        }
        // SQLite syncs only with the last frame, for which the writer would wait. Nothing relies on this: a failure is
        // told to SQLite's own sync, too.
        let synced = File::open(root).and_then(|root| Ok(syncfs(root)?));
        if let Err(error) = synced {
            tracing::debug!(%error, "what was copied is not synced yet");
        }
        if copied.frames.saturating_sub(length) <= WAL_FRAMES_IDLE_MAX {
            return false;
        }
        length = copied.frames;
    }
    false
}

/// Which thread copies the log into the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::sqlite) enum Copier {
    /// While batches are committed.
    Checkpointer,
    /// While batches wait.
    Writer,
}

/// Who is to copy a log of so many frames, when the checkpointer last began at `frames_copied`;
/// `None` if nobody. The log starts again, in the blocks that it has on the disk already, only at a
/// moment at which all of it is copied: so after the checkpointer has copied most of it, the writer
/// copies the little that came meanwhile. `alone` is false where several batches came at once; there
/// the writer copies seldom, because others wait. Of a log that a reader holds, and of what it has held until now,
/// the writer copies nothing: it may be so much that saves would wait for seconds.
pub(in crate::store::sqlite) fn next_copier(
    frames: u64,
    frames_copied: u64,
    alone: bool,
    held: bool,
) -> Option<Copier> {
    if held {
        return None;
    }
    let most = if alone {
        WAL_FRAMES_IDLE_MAX
    } else {
        WAL_FRAMES_MAX
    };
    let long = frames > most;
    let due = frames - frames_copied > WAL_FRAMES_IDLE_MAX || long && frames_copied <= most;
    // Where the log grows faster than the checkpointer copies, saves have to wait for it.
    let overdue = frames > 2 * WAL_FRAMES_MAX;
    if due && !overdue {
        Some(Copier::Checkpointer)
    } else if long {
        Some(Copier::Writer)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_copied_beside_the_writer_until_it_outgrows_the_copies() {
        const IDLE: u64 = WAL_FRAMES_IDLE_MAX;
        const MAX: u64 = WAL_FRAMES_MAX;
        for (frames, frames_copied, alone, copier) in [
            (IDLE, 0, true, None),
            (IDLE + 1, 0, true, Some(Copier::Checkpointer)),
            (IDLE + 1, 0, false, Some(Copier::Checkpointer)),
            // Most is copied: one alone copies the rest, so that the log can start again.
            (IDLE + 2, IDLE + 1, true, Some(Copier::Writer)),
            (IDLE + 2, IDLE + 1, false, None),
            (2 * IDLE + 2, IDLE + 1, false, Some(Copier::Checkpointer)),
            (MAX + 1, MAX, false, Some(Copier::Checkpointer)),
            (MAX + 2, MAX + 1, false, Some(Copier::Writer)),
            // It grows faster than it is copied: only the writer can stop that.
            (2 * MAX, MAX + 1, false, Some(Copier::Checkpointer)),
            (2 * MAX + 1, MAX + 1, false, Some(Copier::Writer)),
        ] {
            assert_eq!(
                next_copier(frames, frames_copied, alone, false),
                copier,
                "{frames} frames, {frames_copied} copied, alone {alone}"
            );
            assert_eq!(next_copier(frames, frames_copied, alone, true), None);
        }
    }

    #[test]
    fn what_came_while_a_held_log_was_copied_is_copied_until_it_is_little() {
        const IDLE: u64 = WAL_FRAMES_IDLE_MAX;
        let root = tempfile::tempdir().unwrap();
        // The length of the log at each copy, and what a reader has left of it.
        let tried = |lengths: &[(u64, u64)]| {
            let mut copies = lengths.iter();
            let copy = || {
                let &(frames, frames_left) = copies.next()?;
                Some(Copied {
                    frames,
                    frames_left,
                })
            };
            let is_held = copy_held(copy, root.path());
            (is_held, copies.len())
        };
        assert_eq!(tried(&[]), (true, 0), "nothing can be copied now");
        assert_eq!(tried(&[(90_000, IDLE + 1), (90_000, 0)]), (true, 1));
        assert_eq!(
            tried(&[(90_000, 0), (99_000, IDLE), (99_000 + IDLE, 0), (1, 0)]),
            (false, 1)
        );
        // It comes as fast as it is copied.
        let fast = [(10_000, 0), (20_000, 0), (30_000, 0), (40_000, 0), (1, 0)];
        assert_eq!(tried(&fast), (false, 1));
    }
}
