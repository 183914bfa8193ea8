//! Signs of life. Each daemon commits one each second, to know whether the primary still is one: where commits wait for
//! a standby, a primary that was cut off from it, and whose place the standby may have taken, commits nothing any more,
//! but would go on to answer reads. What is read over connections to another server than the one that commits is not
//! believed. Every few seconds the sign is a row of the daemon's own, for it to be seen.

use std::fs::read_to_string;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_postgres::Row;

use super::changes::{Changes, nanos, now};
use super::failure::failure;
use super::link::{CONNECTION_WAIT_MAX, Link, Params};
use super::server::Server;
use super::skew::Skew;
use super::writer::RefusedWrites;
use crate::base::build::BUILD;
use crate::base::clock::{Clock, SystemClock, Timestamp, told_of_skew};
use crate::store::bucket::RefusedUploads;
use crate::store::inspection::CommonSettings;
use crate::store::{LargeBodies, Result, StoreError, Writes};

const BEAT: &str = "SELECT siteconf.beat_v3($1, $2, $3, $4, $5)";
/// What the database's clock showed then, in milliseconds since 1970.
const BEATEN: &str =
    "SELECT (extract(epoch FROM at) * 1000)::int8 FROM siteconf.daemon WHERE id = $1";
/// What is committed in between, and where the row has no room, is locked or may not be written: it takes no room, is
/// allowed in a read-only transaction, and waits for a standby all the same. Other daemons do not see it.
const SIGN_ALONE: &str = "SELECT pg_logical_emit_message(true, 'siteconf', ''::text)";
/// What the connection is told. Its commit is never cancelled: what is cancelled while it waits for a standby
/// is told to be committed. Who waits for a lock is in time for a sign that needs none.
const BEAT_SETTINGS: &str =
    "SET statement_timeout = 0; SET lock_timeout = '1s'; SET enable_seqscan = off;";
const EVERY: Duration = Duration::from_secs(1);
/// After so long the row is written again although it says the same. Each write leaves a version of it, which later
/// reads pass as long as somebody holds an old snapshot. It must be less than the ten seconds after which `status` no
/// longer names a daemon.
const ROW_STANDS_FOR: Duration = Duration::from_millis(4_500);
/// After so long without a commit the primary is no longer believed. A suspension counts.
const CONFIRMED_FOR: Duration = Duration::from_secs(3);
/// How long a connection has for a commit that was made because others had met another server, before they have one
/// made again, and how long it is kept when it has committed.
const NEW_FOR: Duration = Duration::from_secs(2);
const KEPT_FOR: Duration = Duration::from_millis(100);
/// A connection over which the database takes no changes is kept for so long at least. It may be so over this one
/// alone, or at this host.
const READ_ONLY_KEPT_FOR: Duration = Duration::from_secs(5);
/// How long a commit may take before its connection counts as lost.
const BEAT_MAX: Duration = Duration::from_secs(10);

/// What the daemon's row says that it refuses, and when the row was last written; `None` before it was.
type Written = Option<(Option<String>, Instant)>;

/// What a daemon commits.
pub(super) struct Beats {
    link: Link,
    changes: Arc<Changes>,
    refused_writes: Arc<RefusedWrites>,
    /// Where large blobs lie in a bucket.
    refused_uploads: Option<Arc<RefusedUploads>>,
    skew: Arc<Skew>,
    id: [u8; 16],
    /// The name of the machine.
    host: String,
    /// What others compare with theirs.
    settings: String,
}

impl Beats {
    /// Those of a daemon that follows these changes, and whose own may be refused for this.
    pub(super) fn new(
        server: &Arc<Server>,
        changes: &Arc<Changes>,
        refused_writes: &Arc<RefusedWrites>,
        refused_uploads: Option<&Arc<RefusedUploads>>,
        skew: &Arc<Skew>,
        settings: &CommonSettings,
    ) -> Self {
        let host = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            link: Link::new(server, BEAT_SETTINGS),
            changes: Arc::clone(changes),
            refused_writes: Arc::clone(refused_writes),
            refused_uploads: refused_uploads.map(Arc::clone),
            skew: Arc::clone(skew),
            id: rand::random(),
            host: host.trim_end().to_owned(),
            settings: settings.encode(),
        }
    }

    /// That of the daemon's row.
    pub(super) fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Commits once a second, without end, and has nothing be read while that fails.
    pub(super) async fn run(self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut confirmed = now();
        let (mut is_refused, mut last_error) = (false, None);
        let mut doubts_from = Instant::now();
        let mut written = None;
        loop {
            let believed_until = confirmed + nanos(CONFIRMED_FOR);
            if !is_refused {
                self.changes.believe_until(believed_until);
            }
            let mut beat = std::pin::pin!(async {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = self.doubted(doubts_from) => doubts_from = self.connect_anew().await,
                }
                self.beat(&mut doubts_from, &mut written).await
            });
            let left = Duration::from_nanos(believed_until.saturating_sub(now()));
            let in_time = timeout(left, beat.as_mut()).await;
            let beaten = if let Ok(beaten) = in_time {
                beaten
            } else {
                if !is_refused {
                    is_refused = true;
                    self.changes.believe_until(0);
                    tracing::error!(
                        last_error,
                        "the database has committed nothing for 3 seconds; requests are refused until it \
                         does: it is away, its standby does not follow, or another server has taken its \
                         place"
                    );
                }
                beat.await
            };
            match beaten {
                Ok(began) => {
                    // What was committed when it began may be all that the primary had confirmed.
                    confirmed = began;
                    last_error = None;
                    if is_refused {
                        is_refused = false;
                        tracing::warn!("the database commits again");
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "no sign of life was committed");
                    last_error = Some(error.to_string());
                }
            }
        }
    }

    /// What the daemon refuses, and why: words that follow "refuses", as in
    /// [`crate::store::inspection::DaemonSeen::refuses`]. What it refuses without the database, it cannot
    /// say there.
    fn refuses(&self) -> Option<String> {
        let uploads = self.refused_uploads.as_ref().map(|last| last.lasting());
        let refuses = match (self.refused_writes.lasting(), uploads) {
            _ if matches!(self.changes.require(), Err(StoreError::WentBack)) => {
                "everything: the database no longer has changes that it had; see that it is the right one, \
                 and restart the daemon"
            }
            (Writes::Full, _) => "changes: the disk of the database is full",
            (Writes::Denied, _) => {
                "changes: the role of the daemon lacks a right; its log says which"
            }
            (_, Some(LargeBodies::Full)) => {
                "large files: their bucket is full, or its quota is used up"
            }
            (_, Some(LargeBodies::Denied)) => {
                "large files: their bucket refuses writes to its keys, which need s3:PutObject there"
            }
            _ => {
                let skew = told_of_skew(self.skew.ahead_ms()?)?;
                return Some(format!(
                    "to be ready: the clock of its machine is {skew}; set both by NTP"
                ));
            }
        };
        Some(refuses.to_owned())
    }

    /// Commits one. Gives when that began, in nanoseconds since the boot. Where somebody meets another server
    /// meanwhile, it is committed over a new connection: this one may lead to a server that commits nothing any more.
    async fn beat(&self, doubts_from: &mut Instant, written: &mut Written) -> Result<u64> {
        loop {
            tokio::select! {
                beaten = self.beat_once(written) => {
                    *doubts_from = Instant::now() + KEPT_FOR;
                    return beaten;
                }
                () = self.doubted(*doubts_from) => *doubts_from = self.connect_anew().await,
            }
        }
    }

    /// Ends when somebody has met another server, from this moment on.
    async fn doubted(&self, from: Instant) {
        sleep_until(from).await;
        self.link.primary().doubted().await;
    }

    /// Has a new connection be made. Gives from when on it may be doubted, too.
    async fn connect_anew(&self) -> Instant {
        self.link.connect_anew().await;
        Instant::now() + NEW_FOR
    }

    /// Commits one, and compares the clocks if that is the row. Gives when it began.
    async fn beat_once(&self, written: &mut Written) -> Result<u64> {
        let session = self
            .link
            .session(Instant::now() + CONNECTION_WAIT_MAX)
            .await?;
        let (began, before) = (now(), SystemClock.now());
        session.forget_warnings();
        let id = self.id.as_slice();
        let version = BUILD.as_str();
        let beaten = async {
            let refuses = self.refuses();
            let stands = |(said, at): &(Option<String>, Instant)| {
                *said == refuses && at.elapsed() < ROW_STANDS_FOR
            };
            if written.as_ref().is_some_and(stands) {
                let signed = session.query(SIGN_ALONE, &[]).await;
                return signed.map(|_| (began, None));
            }
            let named: Params<'_> = &[&id, &self.host, &version, &refuses, &self.settings];
            let asked = Instant::now();
            if let Err(error) = session.query(BEAT, named).await {
                let refusal = failure(&error);
                match refusal {
                    StoreError::Full | StoreError::LockInTheWay => {}
                    StoreError::DatabaseReadOnly => self.refused_writes.note_read_only(true),
                    _ => return Err(error),
                }
                self.link.tell_refused(&error);
                let began = now();
                session.query(SIGN_ALONE, &[]).await?;
                let is_read_only = matches!(refusal, StoreError::DatabaseReadOnly);
                if is_read_only && session.made.elapsed() > READ_ONLY_KEPT_FOR {
                    // Not before there is another: without a sign of life nothing is read.
                    self.link.renew(&session, EVERY).await;
                }
                return Ok((began, None));
            }
            self.refused_writes.note_read_only(false);
            *written = Some((refuses, asked));
            let after = SystemClock.now();
            let told = session.query(BEATEN, &[&id]).await.ok();
            Ok((began, told.map(|rows| (rows, after))))
        };
        match timeout(BEAT_MAX, beaten).await {
            // Somebody may have ended its wait for a standby.
            Ok(Ok((began, told))) if !session.is_doubtful() => {
                if let Some((rows, after)) = told
                    && let Some(Ok(told)) = rows.first().map(clock_of)
                {
                    self.skew.note(before, told, after);
                }
                self.link.primary().note(session.started);
                Ok(began)
            }
            beaten => {
                self.link.discard(&session).await;
                match beaten {
                    Ok(Err(error)) => {
                        self.link.tell_refused(&error);
                        Err(failure(&error))
                    }
                    _ => Err(StoreError::Unavailable),
                }
            }
        }
    }
}

fn clock_of(row: &Row) -> Result<Timestamp> {
    Ok(Timestamp::from_ms(row.try_get(0)?))
}
