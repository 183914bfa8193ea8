//! Noticing that another process has written.

use std::collections::VecDeque;
use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use inotify::{Inotify, WatchMask};
use rusqlite::Connection;

use super::schema;
use crate::store::{Result, Version};

/// How long a write of another process may go unnoticed. A process beside the daemon waits as long
/// before it ends, so that the daemon has noticed its writes by then. Asking at every read instead
/// would cost each request a tenth of its time.
pub(super) const UNNOTICED_MAX: Duration = Duration::from_millis(20);

/// Room for some signs of a file: each takes 16 bytes.
const SIGNS_BYTES: usize = 1024;

/// Runs of versions that are told apart; of an older one, what was written since is told.
const RUNS_KEPT: usize = 64;

/// Knows at which versions another process was found to have written.
#[derive(Debug)]
pub(super) struct ExternalWrites {
    /// The last of them.
    found: AtomicU64,
    /// The last version that this process wrote or observed.
    last: AtomicU64,
    runs: Mutex<VecDeque<Run>>,
    /// When the last look began, in nanoseconds since `began`: every read asks.
    looked: AtomicU64,
    began: Instant,
    watch: Mutex<Watch>,
}

/// Versions that others were found to have written at once. Some may be our own.
#[derive(Debug)]
struct Run {
    /// The version before the first.
    before: Version,
    last: Version,
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
            runs: Mutex::default(),
            looked: AtomicU64::new(0),
            began: Instant::now(),
            watch,
        })
    }

    /// The last version at which another process was found to have written, 0 if none was. What was
    /// written for [`UNNOTICED_MAX`] is found.
    pub(super) fn found(&self) -> Result<Version> {
        self.found_as_of(self.began.elapsed().saturating_sub(UNNOTICED_MAX))
    }

    /// The same, with all that is written when this is called.
    pub(super) fn found_now(&self) -> Result<Version> {
        self.found_as_of(self.began.elapsed())
    }

    /// The same, by a look that began at this time since `began`, or later.
    fn found_as_of(&self, time: Duration) -> Result<Version> {
        let is_known = || Duration::from_nanos(self.looked.load(Ordering::Acquire)) >= time;
        if !is_known() {
            // Another thread that holds it may have looked before what we must find, and be kept from its core
            // since.
            let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_known() {
                let now = self.began.elapsed();
                let seen = data_version(&watch.db)?;
                if seen != watch.data_version {
                    self.observe(schema::last_version(&watch.db)?);
                    watch.data_version = seen;
                }
                let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
                self.looked.store(nanos, Ordering::Release);
            }
        }
        Ok(self.found.load(Ordering::Acquire))
    }

    /// The last version that this process wrote or observed. It is durable.
    pub(super) fn last(&self) -> Version {
        self.last.load(Ordering::Acquire)
    }

    /// Observes the version that is the last, as a transaction of ours or a look finds it.
    pub(super) fn observe(&self, version: Version) {
        if self.last() >= version {
            return;
        }
        let mut runs = self.runs();
        let before = self.last.fetch_max(version, Ordering::AcqRel);
        if before < version {
            if runs.len() == RUNS_KEPT {
                runs.pop_front();
            }
            let last = version;
            runs.push_back(Run { before, last });
            // With the lock held, so that the runs found later are the later ones.
            self.found.store(version, Ordering::Release);
        }
    }

    /// The version after which others have written all that they were found to have written after this one;
    /// `None` if that is nothing.
    pub(super) fn first_after(&self, version: Version) -> Option<Version> {
        let runs = self.runs();
        let at = runs.iter().position(|run| run.last > version)?;
        // Of what was written before the first run that is kept nothing is known.
        let is_forgotten = at == 0 && runs.len() == RUNS_KEPT;
        let before = if is_forgotten {
            version
        } else {
            runs[at].before
        };
        Some(before.max(version))
    }

    fn runs(&self) -> MutexGuard<'_, VecDeque<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a version that this process wrote, before its commit returns.
    pub(super) fn record_own(&self, version: Version) {
        self.last.fetch_max(version, Ordering::AcqRel);
    }
}

/// Signs that something is written to this log. One stands for all that comes until it is read.
pub(super) fn signs(log: &Path) -> io::Result<impl Stream<Item = ()> + use<>> {
    let inotify = Inotify::init()?;
    inotify.watches().add(log, WatchMask::MODIFY)?;
    let events = inotify.into_event_stream([0; SIGNS_BYTES])?;
    Ok(events.take_while(|event| ready(event.is_ok())).map(drop))
}

fn data_version(db: &Connection) -> Result<i64> {
    Ok(db
        .prepare_cached("PRAGMA data_version")?
        .query_one([], |row| row.get(0))?)
}
