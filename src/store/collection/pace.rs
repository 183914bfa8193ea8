//! How fast a collection works: others come first.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use crate::store::{Batch, Result, Store, Version};

/// How long a transaction should take: others that save meanwhile wait for it.
pub(in crate::store) const STEP: Duration = Duration::from_millis(1);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(400);
/// Rows or pages of a transaction. Of fewer than the least, most is the sync, however slow the disk is.
const SIZE_MIN: usize = 32;
const SIZE_MAX: usize = 2048;

/// The size of transactions, and the pauses between them.
#[derive(Debug)]
pub struct Pace {
    size: Cell<usize>,
    /// How long to pause after each transaction while others save, as a multiple of the time that it took.
    pause_times: u32,
    /// The last write of a record that was seen.
    seen: Cell<Version>,
}

impl Pace {
    /// Pauses after each transaction, while others save, for this multiple of the time that it took.
    pub fn new(pause_times: u32) -> Self {
        Self {
            size: Cell::new(64),
            pause_times,
            seen: Cell::new(0),
        }
    }

    /// How many rows or pages the next transaction should take.
    pub(in crate::store) fn size(&self) -> usize {
        self.size.get()
    }

    /// Halves the size, where there is no room for a step. False if it is the least already.
    pub(in crate::store) fn halve(&self) -> bool {
        let size = self.size.get();
        self.size.set((size / 2).max(SIZE_MIN));
        size > SIZE_MIN
    }

    /// Makes a step, and pauses after it if others save.
    pub(in crate::store) fn step<T>(
        &self,
        store: &dyn Store,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let began = Instant::now();
        let done = step()?;
        let taken = began.elapsed();
        let size = self.size.get();
        if taken > 2 * STEP {
            self.size.set((size / 2).max(SIZE_MIN));
        } else if taken < STEP {
            self.size.set((size + size / 4).min(SIZE_MAX));
        }
        self.pause(store, taken)?;
        Ok(done)
    }

    /// Commits a batch as a step, to a store over this one.
    pub fn commit(&self, store: &dyn Store, over: &dyn Store, batch: Batch) -> Result<()> {
        let began = Instant::now();
        let before = store.last_version()?;
        if before == self.seen.get() {
            self.seen.set(over.commit(batch)?);
        } else {
            over.commit(batch)?;
        }
        self.pause(store, began.elapsed())
    }

    fn pause(&self, store: &dyn Store, taken: Duration) -> Result<()> {
        let last = store.last_version()?;
        if self.seen.replace(last) != last {
            thread::sleep((taken * self.pause_times).min(PAUSE_MAX));
        }
        Ok(())
    }
}
