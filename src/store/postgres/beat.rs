//! Signs of life. Each daemon commits a row of its own once a second, for it to be seen, and to know whether the
//! primary still is one: where commits wait for a standby, a primary that was cut off from it, and whose place
//! the standby may have taken, commits nothing any more, but would go on to answer reads. What is read over connections
//! to another server than the one that commits is not believed.

use std::fs::read_to_string;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout, timeout_at};
use tokio_postgres::Row;

use super::changes::Changes;
use super::failure::failure;
use super::link::{CONNECTION_WAIT_MAX, Link, Params};
use super::server::Server;
use super::skew::Skew;
use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::store::writes::Trouble;
use crate::store::{Result, StoreError};

const BEAT: &str = "SELECT siteconf.beat_v2($1, $2, $3, $4)";
/// What the database's clock showed then, in milliseconds since 1970.
const BEATEN: &str =
    "SELECT (extract(epoch FROM at) * 1000)::int8 FROM siteconf.daemon WHERE id = $1";
/// What the connection is told. Its commit is never cancelled: what is cancelled while it waits for a standby
/// is told to be committed.
const SETTINGS: &str =
    "SET statement_timeout = 0; SET lock_timeout = '2s'; SET enable_seqscan = off;";
const EVERY: Duration = Duration::from_secs(1);
/// After so long without a commit the primary is no longer believed.
const CONFIRMED_FOR: Duration = Duration::from_secs(3);
/// How long a connection has for a commit that was made because others had met another server, before they have one
/// made again, and how long it is kept when it has committed.
const NEW_FOR: Duration = Duration::from_secs(2);
const KEPT_FOR: Duration = Duration::from_millis(100);
/// How long a commit may take before its connection counts as lost.
const BEAT_MAX: Duration = Duration::from_secs(10);

/// What a daemon commits.
pub(super) struct Beats {
    link: Link,
    changes: Arc<Changes>,
    want_of_room: Arc<Trouble>,
    skew: Arc<Skew>,
    id: [u8; 16],
    /// The name of the machine.
    host: String,
}

impl Beats {
    /// Those of a daemon that follows these changes, and whose commits may meet this want of room.
    pub(super) fn new(
        server: &Arc<Server>,
        changes: &Arc<Changes>,
        want_of_room: &Arc<Trouble>,
        skew: &Arc<Skew>,
    ) -> Self {
        let host = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            link: Link::new(server, SETTINGS),
            changes: Arc::clone(changes),
            want_of_room: Arc::clone(want_of_room),
            skew: Arc::clone(skew),
            id: rand::random(),
            host: host.trim_end().to_owned(),
        }
    }

    /// Commits once a second, without end, and has nothing be read while that fails.
    pub(super) async fn run(self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut confirmed = Instant::now();
        let mut last_error = None;
        let mut doubts_from = Instant::now();
        loop {
            let mut beat = std::pin::pin!(async {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = self.doubted(doubts_from) => doubts_from = self.connect_anew().await,
                }
                self.beat(&mut doubts_from).await
            });
            let in_time = timeout_at(confirmed + CONFIRMED_FOR, beat.as_mut()).await;
            let beaten = if let Ok(beaten) = in_time {
                beaten
            } else {
                if self.changes.confirm(false) {
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
                    if self.changes.confirm(true) {
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

    /// What the daemon refuses, and why: words that follow "refuses". What it refuses without the database, it cannot
    /// say there.
    fn refuses(&self) -> Option<&'static str> {
        if matches!(self.changes.require(), Err(StoreError::WentBack)) {
            Some(
                "everything: the database no longer has changes that it had; see that it is the right one, \
                 and restart the daemon",
            )
        } else if self.want_of_room.lasts() {
            Some("changes: the disk of the database is full")
        } else {
            None
        }
    }

    /// Commits one. Gives when that began. Where somebody meets another server meanwhile, it is committed over a new
    /// connection: this one may lead to a server that commits nothing any more.
    async fn beat(&self, doubts_from: &mut Instant) -> Result<Instant> {
        loop {
            tokio::select! {
                beaten = self.beat_once() => {
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

    /// Commits one, and compares the clocks by it. Gives when that began.
    async fn beat_once(&self) -> Result<Instant> {
        let session = self
            .link
            .session(Instant::now() + CONNECTION_WAIT_MAX)
            .await?;
        let (began, before) = (Instant::now(), SystemClock.now());
        session.forget_warnings();
        let id = self.id.as_slice();
        let version = env!("CARGO_PKG_VERSION");
        let beaten = async {
            let refuses = self.refuses();
            let named: Params<'_> = &[&id, &self.host, &version, &refuses];
            session.query(BEAT, named).await?;
            let after = SystemClock.now();
            Ok((session.query(BEATEN, &[&id]).await, after))
        };
        match timeout(BEAT_MAX, beaten).await {
            // Somebody may have ended its wait for a standby.
            Ok(Ok((told, after))) if !session.is_doubtful() => {
                let told = told.ok().and_then(|rows| rows.first().map(clock_of));
                if let Some(Ok(told)) = told {
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
