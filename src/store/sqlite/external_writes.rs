//! Noticing that another process has written.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::schema;
use crate::store::{Result, Version};

/// How long a write of another process may go unnoticed. A process beside the daemon waits as long
/// before it ends, so that the daemon has noticed its writes by then. Asking at every read instead
/// would cost each request a tenth of its time.
pub(super) const UNNOTICED_MAX: Duration = Duration::from_millis(20);

/// Counts the occasions on which another process was found to have written.
#[derive(Debug)]
pub(super) struct ExternalWrites {
    found: AtomicU64,
    /// The last version that this process wrote or observed.
    last: AtomicU64,
    /// The versions among which are all that others wrote and that nobody has asked for, as the one before
    /// the first and the last.
    unread: Mutex<Option<(Version, Version)>>,
    /// When it was last looked, in nanoseconds since `began`: every read asks, and none waits.
    looked: AtomicU64,
    began: Instant,
    watch: Mutex<Watch>,
}

#[derive(Debug)]
struct Watch {
    db: Connection,
    /// A number that changes with every commit of another connection.
    data_version: i64,
}

impl ExternalWrites {
    /// Watches the database at `path`.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let db = schema::open_reader(path)?;
        let data_version = data_version(&db)?;
        let last = AtomicU64::new(schema::last_version(&db)?);
        let watch = Mutex::new(Watch { db, data_version });
        Ok(Self {
            found: AtomicU64::new(0),
            last,
            unread: Mutex::default(),
            looked: AtomicU64::new(0),
            began: Instant::now(),
            watch,
        })
    }

    /// The count, at most [`UNNOTICED_MAX`] old.
    pub(super) fn found(&self) -> Result<u64> {
        let now = self.began.elapsed();
        let looked = Duration::from_nanos(self.looked.load(Ordering::Acquire));
        // Another thread that holds it looks now: what it finds is fresh enough.
        if now.saturating_sub(looked) >= UNNOTICED_MAX
            && let Ok(mut watch) = self.watch.try_lock()
        {
            let seen = data_version(&watch.db)?;
            if seen != watch.data_version {
                self.observe(schema::last_version(&watch.db)?);
                watch.data_version = seen;
            }
            let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            self.looked.store(nanos, Ordering::Release);
        }
        Ok(self.found.load(Ordering::Acquire))
    }

    /// The last version that this process wrote or observed. It is durable.
    pub(super) fn last(&self) -> Version {
        self.last.load(Ordering::Acquire)
    }

    /// Observes the version that is the last, as a transaction of ours or a look finds it.
    pub(super) fn observe(&self, version: Version) {
        let before = self.last.fetch_max(version, Ordering::AcqRel);
        if before < version {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            let (first, last) = unread.unwrap_or((before, version));
            *unread = Some((first.min(before), last.max(version)));
            drop(unread);
            self.found.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The versions among which are all that others were found to have written since this was last asked,
    /// as the one before the first and the last; some may be our own.
    pub(super) fn take_unread(&self) -> Option<(Version, Version)> {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.take()
    }

    /// Records a version that this process wrote, before its commit returns.
    pub(super) fn record_own(&self, version: Version) {
        self.last.fetch_max(version, Ordering::AcqRel);
    }
}

fn data_version(db: &Connection) -> Result<i64> {
    Ok(db
        .prepare_cached("PRAGMA data_version")?
        .query_one([], |row| row.get(0))?)
}
