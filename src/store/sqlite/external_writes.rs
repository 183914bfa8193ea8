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
    runs: Mutex<Runs>,
    /// When the last look began, in nanoseconds since `began`: every read asks.
    looked: AtomicU64,
    began: Instant,
    watch: Mutex<Watch>,
}

#[derive(Debug, Default)]
struct Runs {
    /// The latest, in their order.
    kept: VecDeque<Run>,
    /// Up to this version there were some that are not kept.
    forgotten: Version,
    /// The version before the last commit of this process.
    before_own: Version,
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
    fn observe(&self, version: Version) {
        if self.last() >= version {
            return;
        }
        // Held to the end, so that the runs found later are the later ones.
        let mut runs = self.runs();
        let before = self.last();
        if before < version {
            if runs.kept.len() == RUNS_KEPT {
                runs.forgotten = runs.kept.pop_front().map_or(0, |run| run.last);
            }
            let last = version;
            runs.kept.push_back(Run { before, last });
            self.found.store(version, Ordering::Release);
            // Last: who goes by what is observed already finds it.
            self.last.fetch_max(version, Ordering::AcqRel);
        }
    }

    /// The version after which others have written all that they were found to have written after this one;
    /// `None` if that is nothing.
    pub(super) fn first_after(&self, version: Version) -> Option<Version> {
        let runs = self.runs();
        if version < runs.forgotten {
            return Some(version);
        }
        let run = runs.kept.iter().find(|run| run.last > version)?;
        Some(run.before.max(version))
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Observes the version before a commit of this process, within its transaction: nobody else writes until it ends.
    pub(super) fn begin_own(&self, before: Version) {
        self.observe(before);
        self.runs().before_own = before;
    }

    /// Records the last version of that commit, whose writes this process knows now.
    pub(super) fn record_own(&self, version: Version) {
        let mut runs = self.runs();
        let before = runs.before_own;
        // A look may have found them in the moment between.
        let is_own = |run: &Run| run.before >= before && run.last == version;
        if runs.kept.back().is_some_and(is_own) {
            runs.kept.pop_back();
        }
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
