//! Counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something happened, or how much of it there is.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Once more.
    pub fn up(&self) {
        self.add(1);
    }

    /// So much more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// One less.
    pub fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// So many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
