//! Leaving the disk and the processor to those who save.

use std::thread;
use std::time::{Duration, Instant};

use crate::store::sqlite::SqliteStore;
use crate::store::{Store as _, Version};

/// Work after which it is looked whether somebody saves.
const WORK: Duration = Duration::from_millis(10);
/// While somebody saves, it rests so many times as long as it worked, so that the disk is mostly theirs.
const RESTS: u32 = 2;
/// The longest rest: so soon an end that was asked for comes.
const REST_MAX: Duration = Duration::from_secs(1);

/// Work in turns with rest, as long as others save.
#[derive(Debug)]
pub(super) struct Pace {
    resumed: Instant,
    /// The store's last version when it was last looked.
    version: Version,
}

impl Pace {
    pub(super) fn begin() -> Self {
        Self {
            resumed: Instant::now(),
            version: Version::MAX,
        }
    }

    /// Rests if enough was done and somebody has saved meanwhile. Not to be called in a transaction.
    pub(super) fn rest(&mut self, store: &SqliteStore) {
        let worked = self.resumed.elapsed();
        if worked < WORK {
            return;
        }
        match store.last_version() {
            Ok(version) => {
                if version != std::mem::replace(&mut self.version, version) {
                    thread::sleep((worked * RESTS).min(REST_MAX));
                }
            }
            // Where the newest rows are damaged, others do not save either.
            Err(error) => tracing::debug!(%error, "whether somebody saves is not known"),
        }
        self.resumed = Instant::now();
    }
}
