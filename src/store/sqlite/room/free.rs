//! Room on the disk that stays free: below a minimum nothing is added, before the disk is full.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use rustix::process::geteuid;

/// How long a look at the file system counts. A fast disk takes some 256 MiB in that time.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The minimum, and whether the disk was last found below it.
#[derive(Debug)]
pub(in crate::store::sqlite) struct FreeRoom {
    root: PathBuf,
    /// In bytes; 0 for none.
    minimum: AtomicU64,
    began: Instant,
    /// Until when the last look counts, in milliseconds since it began.
    looked_until_ms: AtomicU64,
    lacking: AtomicBool,
}

impl FreeRoom {
    /// Of the file system of a folder, without a minimum.
    pub(in crate::store::sqlite) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            minimum: AtomicU64::new(0),
            began: Instant::now(),
            looked_until_ms: AtomicU64::new(0),
            lacking: AtomicBool::new(false),
        }
    }

    /// Sets the minimum, in bytes; 0 for none.
    pub(in crate::store::sqlite) fn keep(&self, minimum: u64) {
        self.minimum.store(minimum, Ordering::Relaxed);
    }

    /// True while less is free than the minimum, as far as the last look told, which is not old.
    pub(in crate::store::sqlite) fn is_lacking(&self) -> bool {
        self.is_lacking_at(self.began.elapsed(), || free_bytes(&self.root))
    }

    fn is_lacking_at(&self, now: Duration, look: impl FnOnce() -> Option<u64>) -> bool {
        let minimum = self.minimum.load(Ordering::Relaxed);
        if minimum == 0 {
            return false;
        }
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let until = self.looked_until_ms.load(Ordering::Relaxed);
        let next = ms(now + LOOK_EVERY);
        let looks = ms(now) >= until
            && (self.looked_until_ms)
                .compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        // Where it cannot be told, the disk itself refuses what it has no room for.
        if looks {
            self.note(look().filter(|free| *free < minimum), minimum);
        }
        self.lacking.load(Ordering::Relaxed)
    }

    /// Notes what is free where that is too little, and tells the log when it changes.
    fn note(&self, too_little: Option<u64>, minimum: u64) {
        let is_lacking = too_little.is_some();
        if self.lacking.swap(is_lacking, Ordering::Relaxed) == is_lacking {
            return;
        }
        if let Some(free_bytes) = too_little {
            tracing::warn!(
                free_bytes,
                disk_free_min = minimum,
                "the disk has less free room than disk_free_min: nothing is added until there is \
                 more; reading, deleting and logging in go on"
            );
        } else {
            tracing::info!(
                disk_free_min = minimum,
                "the disk has the free room of disk_free_min again"
            );
        }
    }
}

/// What is free on the file system of a path, in bytes; `None` where that cannot be told.
pub(in crate::store::sqlite) fn free_bytes(path: &Path) -> Option<u64> {
    let room = statvfs(path).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}

/// What this process may take of it at most: root also what is kept for the system itself. A file system may have no
/// limit, and tell zeros.
pub(in crate::store::sqlite) fn at_most_bytes(path: &Path) -> Option<u64> {
    let room = statvfs(path).ok().filter(|room| room.f_blocks > 0)?;
    let blocks = if geteuid().is_root() {
        room.f_bfree
    } else {
        room.f_bavail
    };
    Some(blocks.saturating_mul(room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_found_and_heals_with_the_next_look() {
        let room = FreeRoom::new(Path::new("/"));
        let at = |ms, free| room.is_lacking_at(Duration::from_millis(ms), || free);
        assert!(!at(0, Some(0)), "without a minimum nothing lacks");
        room.keep(100);
        for (ms, free, lacking) in [
            (0, Some(100), false),
            // The last look still counts, then no more.
            (249, Some(99), false),
            (250, Some(99), true),
            (499, Some(100), true),
            (500, Some(100), false),
            (750, Some(0), true),
            (1000, None, false),
        ] {
            assert_eq!(at(ms, free), lacking, "after {ms} ms");
        }
        room.keep(0);
        assert!(!at(1250, Some(0)));
    }
}
