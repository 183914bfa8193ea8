//! Noticing that another process has written.

use std::collections::VecDeque;
use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use inotify::{Inotify, WatchMask};
use rusqlite::Connection;

use super::schema;
use crate::base::may_block;
use crate::base::threads::lock;
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
    /// The last version that a look has seen.
    seen: AtomicU64,
    runs: Mutex<Runs>,
    /// A commit of this process is known, or a later version is observed.
    own_ended: Condvar,
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
    /// The version before the commit of this process that is under way.
    before_own: Option<Version>,
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
            seen: AtomicU64::new(0),
            runs: Mutex::default(),
            own_ended: Condvar::new(),
            looked: AtomicU64::new(0),
            began: Instant::now(),
            watch,
        })
    }

    /// The last version at which another process was found to have written, 0 if none was. What was
    /// written for [`UNNOTICED_MAX`] is found.
    pub(super) fn found(&self) -> Result<Version> {
        self.found_as_of(self.began.elapsed().saturating_sub(UNNOTICED_MAX), true)
    }

    /// The same, with all that is written when this is called. See [`crate::store::Store::external_writes_seen`].
    pub(super) fn found_now(&self, waits: bool) -> Result<Version> {
        self.found_as_of(self.began.elapsed(), waits)
    }

    /// The same, by a look that began at this time since `began`, or later.
    fn found_as_of(&self, time: Duration, waits: bool) -> Result<Version> {
        let is_known = || Duration::from_nanos(self.looked.load(Ordering::Acquire)) >= time;
        if !is_known() {
            // Another thread that holds it may have looked before what we must find, and be kept from its core
            // since.
            let mut watch = lock(&self.watch);
            if !is_known() {
                let now = self.began.elapsed();
                let data_version = data_version(&watch.db)?;
                if data_version != watch.data_version {
                    let last = schema::last_version(&watch.db)?;
                    self.seen.fetch_max(last, Ordering::AcqRel);
                    watch.data_version = data_version;
                }
                let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
                self.looked.store(nanos, Ordering::Release);
            }
        }
        let seen = self.seen.load(Ordering::Acquire);
        if seen > self.last() {
            if waits && self.runs().before_own.is_some() {
                self.wait_for_own(seen);
            }
            self.observe(&mut self.runs(), seen);
        }
        Ok(self.found.load(Ordering::Acquire))
    }

    /// Waits while this process has committed this version and does not know it yet.
    fn wait_for_own(&self, version: Version) {
        let is_under_way = |runs: &mut Runs| runs.before_own.is_some() && self.last() < version;
        may_block(|| {
            let ended = &self.own_ended;
            drop(ended.wait_timeout_while(self.runs(), UNNOTICED_MAX, is_under_way));
        });
    }

    /// The last version that this process wrote or observed. It is durable.
    pub(super) fn last(&self) -> Version {
        self.last.load(Ordering::Acquire)
    }

    /// Observes the version that is the last, as a transaction of ours or a look finds it.
    fn observe(&self, runs: &mut Runs, version: Version) {
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
            self.own_ended.notify_all();
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
        lock(&self.runs)
    }

    /// Observes the version before a commit of this process, within its transaction: nobody else writes until it ends.
    pub(super) fn begin_own(&self, before: Version) {
        let mut runs = self.runs();
        self.observe(&mut runs, before);
        runs.before_own = Some(before);
    }

    /// Records the last version of that commit, if it has written, and that this process knows its writes.
    pub(super) fn end_own(&self, last: Option<Version>) {
        let mut runs = self.runs();
        let before = runs.before_own.take();
        if let Some((before, last)) = before.zip(last) {
            // Who could not wait has found them as another's.
            let is_own = |run: &Run| run.before >= before && run.last == last;
            if runs.kept.back().is_some_and(is_own) {
                runs.kept.pop_back();
            }
            self.last.fetch_max(last, Ordering::AcqRel);
        }
        self.own_ended.notify_all();
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
