//! What other daemons have written, read from the database in the order of the versions.
//!
//! What memory keeps may be used only while the last answered look began at most [`LEASE`] ago. A daemon
//! that is cut off from the database so uses nothing of what it keeps. Who waits for a look waits for one that
//! others wait for, too, and only until it is known that the database is away.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::READER_SETTINGS;
use super::failure::unfit;
use super::known::{Change, Known};
use super::link::Link;
use super::row::{signed, unsigned};
use super::server::Server;
use crate::base::limits::CHANGES_READ_MAX;
use crate::base::reads::Reads;
use crate::base::threads::lock;
use crate::store::remote::repeated::Repeated;
use crate::store::{Result, StoreError, Version};

/// How long others who have written a record count as at work on it.
const CROWDED_FOR: Duration = Duration::from_millis(100);
/// How long a write of another daemon may go unnoticed.
pub(super) const LEASE: Duration = Duration::from_millis(20);
/// After so long everybody has noticed it: a look that still counts began after it.
pub(super) const SETTLED_AFTER: Duration = Duration::from_millis(25);
/// From the last version that is known: its row proves that the database has all that it had.
const LOOK: &str = "SELECT version, key, writer FROM siteconf.change WHERE version >= $1 ORDER BY version LIMIT $2";
/// The processes that keep everybody from reading the changes; none is named where a prepared transaction does.
const LOCKED_BY: &str = "SELECT pid FROM pg_locks
    WHERE granted AND mode = 'AccessExclusiveLock' AND relation = 'siteconf.change'::regclass
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
const LAST: &str = "SELECT max(version) FROM siteconf.change";
/// What the connection that looks is told, too, of a store that may be written: to take its share of the lock by which
/// a copy sees that somebody is here, and which it gets to itself.
const TAKE_SHARE: &str = "
SET lock_timeout = '2s'; SELECT pg_advisory_lock_shared(1936290917, 2); SET lock_timeout = 0;
";
/// Without anybody who wants it, there is a look as often as this.
const QUIET_MAX: Duration = Duration::from_secs(1);
/// Between the beginnings of two looks, where several wait: more will come, and share the next one.
const LOOKS_APART: Duration = Duration::from_millis(1);
/// After so long without an answer to a look the database is away.
const AWAY_AFTER: Duration = Duration::from_secs(3);
/// Between two looks that failed, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Follows the changes.
#[derive(Debug)]
pub(super) struct Changes {
    link: Link,
    /// Asked why the database does not answer; it does where a table is locked.
    beside: Link,
    looked: watch::Sender<Looked>,
    /// The last change of another daemon that was found, 0 for none.
    found: AtomicU64,
    /// The last moment from which somebody wants a look.
    wanted_since: AtomicU64,
    /// Wakes the task that looks.
    wanted: Notify,
    /// How many wait for a look.
    waiting: AtomicUsize,
    /// The number by which the changes of this process are told from others.
    writer: i64,
    known: Mutex<Known>,
}

/// What became of the looks.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// When the last answered one began, in nanoseconds since the boot, which count a suspension.
    began: u64,
    database: Database,
    /// Until when it counts that the database has committed, in nanoseconds since the boot; for ever where nobody
    /// looks.
    believed_until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Database {
    /// It answers, as far as is known.
    There,
    /// It has not answered for [`AWAY_AFTER`].
    Away,
    /// It no longer has what it had.
    WentBack,
}

impl Looked {
    /// Whether the database may be asked.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::WentBack`].
    fn require(self) -> Result<()> {
        self.require_at(now())
    }

    fn require_at(self, moment: u64) -> Result<()> {
        match self.database {
            Database::There if moment < self.believed_until => Ok(()),
            Database::There | Database::Away => Err(StoreError::Unavailable),
            Database::WentBack => Err(StoreError::WentBack),
        }
    }
}

impl Changes {
    /// Begins after the last change that there is.
    pub(super) async fn new(server: &Arc<Server>, writes: bool) -> Result<Self> {
        let told = format!("{READER_SETTINGS}{}", if writes { TAKE_SHARE } else { "" });
        let link = Link::new(server, told).answering_within(AWAY_AFTER);
        drop(link.first_session().await?);
        let began = now();
        let beside = Link::new(server, READER_SETTINGS).awaited_by_nobody();
        let last = match last_version(&link).await {
            Err(StoreError::Unavailable) if let Some(holder) = holder_of_changes(&beside).await => {
                return Err(unfit(format!(
                    "siteconf.change is locked{holder}; pg_stat_activity shows what holds it"
                )));
            }
            last => last?,
        };
        let writer = rand::random();
        Ok(Self {
            link,
            beside,
            looked: watch::Sender::new(Looked {
                began,
                database: Database::There,
                believed_until: u64::MAX,
            }),
            found: AtomicU64::new(0),
            wanted_since: AtomicU64::new(0),
            wanted: Notify::new(),
            waiting: AtomicUsize::new(0),
            writer,
            known: Mutex::new(Known::since(last, writer)),
        })
    }

    /// Looks whenever somebody wants it, and now and then, until the database is found to have gone back.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut began = Instant::now();
        loop {
            let is_wanted = timeout(QUIET_MAX, self.wanted.notified()).await.is_ok();
            // The last look has served all who asked before it began.
            let wanted_since = self.wanted_since.load(Ordering::Acquire);
            if is_wanted && self.looked.borrow().began >= wanted_since {
                continue;
            }
            // A timer may take a millisecond longer, which one that comes alone would wait each time.
            let is_shared = self.waiting.load(Ordering::Relaxed) > 1;
            if is_shared && began.elapsed() < LOOKS_APART {
                sleep_until(began + LOOKS_APART).await;
            }
            began = Instant::now();
            let mut look = pin!(self.look_until_answered());
            let mut looked = timeout(AWAY_AFTER, look.as_mut()).await;
            if looked.is_err() {
                tracing::error!("the database does not answer; requests are refused until it does");
                self.note(Database::Away);
                self.link.give_up_connections();
                tokio::spawn(Arc::clone(&self).tell_of_lock());
                looked = Ok(look.await);
                tracing::warn!("the database answers again");
            }
            if let Ok(Err(lost)) = looked {
                tracing::error!(error = %lost, "everything is refused");
                self.note(Database::WentBack);
                return;
            }
        }
    }

    /// Tells the log where the server does answer, and a lock is what the looks wait for.
    async fn tell_of_lock(self: Arc<Self>) {
        if let Some(holder) = holder_of_changes(&self.beside).await {
            tracing::error!(
                "the server of the database answers, and siteconf.change is locked{holder}: without it nothing \
                 that is known counts; pg_stat_activity shows what holds it"
            );
        }
        // It is rarely needed.
        self.beside.connect_anew().await;
    }

    /// Whether the database may be asked.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while it is known not to answer, [`StoreError::WentBack`].
    pub(super) fn require(&self) -> Result<()> {
        self.looked.borrow().require()
    }

    /// Ends when the database may not be asked any more.
    pub(super) async fn refused(&self) -> StoreError {
        let mut looked = self.looked.subscribe();
        let is_refused = |looked: &Looked| looked.require().is_err();
        match looked
            .wait_for(is_refused)
            .await
            .map(|looked| looked.require())
        {
            Ok(Err(refused)) => refused,
            Ok(Ok(())) | Err(_) => StoreError::Unavailable,
        }
    }

    /// What the connection that writes names, so that the changes tell who wrote them.
    pub(super) fn writer(&self) -> i64 {
        self.writer
    }

    /// As [`crate::store::Store::catch_up`].
    pub(super) fn catch_up(
        self: &Arc<Self>,
        reads: Reads,
    ) -> Option<impl Future<Output = Result<()>> + Send + use<>> {
        let asked = now();
        let looked = *self.looked.borrow();
        let last = looked.began;
        let since = match reads {
            Reads::Bounded => asked.saturating_sub(nanos(LEASE)),
            Reads::Strict => asked,
        };
        // For who comes next.
        if asked.saturating_sub(last) > nanos(LEASE) / 2 {
            self.want(asked);
        }
        if last >= since && looked.require().is_ok() {
            return None;
        }
        let changes = Arc::clone(self);
        Some(async move { changes.wait_for(since).await })
    }

    /// Has a look begin, unless one has begun at this moment or later.
    fn want(&self, moment: u64) {
        self.wanted_since.fetch_max(moment, Ordering::AcqRel);
        self.wanted.notify_one();
    }

    /// Waits for a look that began at this moment or later.
    ///
    /// # Errors
    /// Those of [`Changes::require`].
    async fn wait_for(&self, moment: u64) -> Result<()> {
        let _waiting = Waiting::among(&self.waiting);
        let mut looked = self.looked.subscribe();
        loop {
            let last = *looked.borrow_and_update();
            last.require()?;
            if last.began >= moment {
                return Ok(());
            }
            // The look under way may have begun before.
            self.want(moment);
            looked.changed().await.map_err(|_| StoreError::Stopped)?;
        }
    }

    /// As [`crate::store::Store::external_writes`], after [`Changes::catch_up`].
    pub(super) fn found(&self) -> Version {
        self.found.load(Ordering::Acquire)
    }

    /// As [`crate::store::Store::external_keys`].
    pub(super) fn keys(&self, after: Version, most: usize) -> Option<Vec<String>> {
        self.known().keys(after, most)
    }

    /// True if another daemon has written this key a moment ago.
    pub(super) fn are_of_others(&self, key: &str) -> bool {
        let since = now().saturating_sub(nanos(CROWDED_FOR));
        self.known().are_of_others(key, since)
    }

    /// The last version that this process knows of.
    pub(super) fn last(&self) -> Version {
        self.known().last
    }

    /// Says that a commit of this process has written what follows a version, up to another, and that the process
    /// knows of it. Other daemons may see it before, so who looks before that finds it, as if it were of others.
    pub(super) fn record_own(&self, before: Version, last: Version) {
        self.known().record_own(before, last);
    }

    /// # Errors
    /// [`StoreError::WentBack`]: what follows the changes that are known is not known any more.
    async fn look_until_answered(&self) -> Result<()> {
        let mut pause = PAUSE_MIN;
        let failed = Repeated::default();
        loop {
            let error = match self.look().await {
                Ok(()) => return Ok(()),
                Err(lost @ StoreError::WentBack) => return Err(lost),
                Err(error) => error,
            };
            if failed.is_due(&error.to_string()) {
                tracing::warn!(%error, "the changes of other daemons cannot be read");
            }
            sleep(pause).await;
            pause = PAUSE_MAX.min(pause * 2);
        }
    }

    /// Says until when it counts that the database has committed, in nanoseconds since the boot: what one tells that
    /// does not commit may be over.
    pub(super) fn believe_until(&self, moment: u64) {
        self.looked
            .send_modify(|looked| looked.believed_until = moment);
    }

    /// Refuses from now on what asks the database.
    fn note(&self, database: Database) {
        self.looked.send_modify(|looked| looked.database = database);
    }

    /// Reads what has come, until nothing is left.
    async fn look(&self) -> Result<()> {
        loop {
            let began = now();
            // What was acknowledged before the question must be in the answer.
            let (upto, acknowledged) = {
                let known = self.known();
                (known.upto, known.last)
            };
            let most = signed(CHANGES_READ_MAX as u64);
            let rows = self.link.read(LOOK, &[&signed(upto), &most]).await?;
            let is_all = rows.len() < CHANGES_READ_MAX;
            let mut changes = Vec::with_capacity(rows.len());
            for row in &rows {
                changes.push(Change {
                    version: unsigned(row.try_get(0)?),
                    key: String::from_utf8_lossy(row.try_get(1)?).into_owned(),
                    writer: row.try_get(2)?,
                });
            }
            let mut known = self.known();
            known.take(upto, changes, began)?;
            if is_all && known.upto < acknowledged {
                return Err(StoreError::WentBack);
            }
            if let Some(last) = known.last_external() {
                self.found.fetch_max(last, Ordering::AcqRel);
            }
            drop(known);
            if is_all {
                self.looked.send_modify(|looked| {
                    looked.began = began;
                    looked.database = Database::There;
                });
                return Ok(());
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

/// One that waits for a look, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// By which process the changes are locked, words that follow "locked"; `None` where they are not, as far as is told.
async fn holder_of_changes(link: &Link) -> Option<String> {
    let rows = link.read(LOCKED_BY, &[]).await.ok()?;
    let pid: Option<i32> = rows.first()?.try_get(0).ok()?;
    Some(pid.map_or(String::new(), |pid| format!(" by its process {pid}")))
}

/// The version of the last write.
pub(super) async fn last_version(link: &Link) -> Result<Version> {
    let rows = link.read(LAST, &[]).await?;
    let last: Option<i64> = rows
        .first()
        .map(|row| row.try_get(0))
        .transpose()?
        .flatten();
    last.map(unsigned).ok_or(StoreError::WentBack)
}

/// The time since the boot, in nanoseconds. It counts a suspension.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_suspension_the_database_is_believed_no_longer_than_its_last_commit_counts() {
        let looked = Looked {
            began: 0,
            database: Database::There,
            believed_until: 3,
        };
        assert!(looked.require_at(2).is_ok());
        for moment in [3, u64::MAX] {
            let refused = looked.require_at(moment);
            assert!(matches!(refused, Err(StoreError::Unavailable)));
        }
    }
}
