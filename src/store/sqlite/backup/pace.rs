//! Leaving the disk and the processor to those who save.

use std::thread;
use std::time::{Duration, Instant};

use crate::store::sqlite::SqliteStore;
use crate::store::{Result, Store as _, Version};

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
    pub(super) fn rest(&mut self, store: &SqliteStore) -> Result<()> {
        let worked = self.resumed.elapsed();
        if worked < WORK {
            return Ok(());
        }
        let version = store.last_version()?;
        if version != std::mem::replace(&mut self.version, version) {
            thread::sleep((worked * RESTS).min(REST_MAX));
        }
        self.resumed = Instant::now();
        Ok(())
    }
}
