//! Lanes: turns of daemons at what several of them change at once. A lane only puts them in order. What is
//! written is compared all the same, and whoever loses the connection loses the lane.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Row;

use super::link::{Link, Session};
use super::server::Server;

/// How long is waited for a turn; then one goes on without.
const TURN_WAIT_MAX: Duration = Duration::from_secs(2);
const TAKE_FREE: &str = "SELECT pg_try_advisory_lock(1936290916, hashtext($1))";
const TAKE: &str = "SELECT pg_advisory_lock(1936290916, hashtext($1))";
const LEAVE: &str = "SELECT pg_advisory_unlock(1936290916, hashtext($1))";
/// What the connection is told: the server gives up a little earlier.
const LANE_SETTINGS: &str = "SET lock_timeout = '1900ms'; SET statement_timeout = '1950ms';";

/// The way to the lanes: a connection over which any number of free lanes is taken, and one that waits for a lane
/// that is not, one at a time.
#[derive(Debug)]
pub(super) struct Lanes {
    free: Arc<Link>,
    waits: Arc<Link>,
    turn: Arc<Mutex<()>>,
}

/// A lane that was taken. Dropped, it is left.
#[derive(Debug)]
pub(super) struct Lane {
    key: String,
    link: Arc<Link>,
    session: Arc<Session>,
    runtime: Handle,
    /// Of a lane that was waited for.
    turn: Option<OwnedMutexGuard<()>>,
}

impl Lanes {
    /// A way that connects when it is first used.
    pub(super) fn new(server: &Arc<Server>) -> Self {
        Self {
            free: Arc::new(Link::new(server, LANE_SETTINGS)),
            waits: Arc::new(Link::new(server, LANE_SETTINGS)),
            turn: Arc::default(),
        }
    }

    /// Takes the lane of this key, which nobody else of this process has. `None` where it is not free in time.
    pub(super) async fn take(&self, key: String) -> Option<Lane> {
        let deadline = Instant::now() + TURN_WAIT_MAX;
        if let Some(session) = taken(&self.free, TAKE_FREE, &key, deadline).await? {
            return Some(Lane::of(key, &self.free, session, None));
        }
        let turn = Arc::clone(&self.turn).lock_owned();
        let turn = timeout_at(deadline, turn).await.ok()?;
        let session = taken(&self.waits, TAKE, &key, deadline).await??;
        Some(Lane::of(key, &self.waits, session, Some(turn)))
    }
}

/// The connection over which a statement has taken a lane: none where another has it. `None` where it is not known in
/// time.
async fn taken(
    link: &Link,
    sql: &'static str,
    key: &str,
    deadline: Instant,
) -> Option<Option<Arc<Session>>> {
    let session = link.session(deadline).await.ok()?;
    match timeout_at(deadline, session.query(sql, &[&key])).await {
        // Without a truth value it was waited for.
        Ok(Ok(rows)) => {
            let is_taken = rows
                .first()
                .is_none_or(|row| row.try_get(0).unwrap_or(true));
            Some(is_taken.then_some(session))
        }
        // It may be taken later all the same: it goes with the connection.
        refused => {
            tracing::debug!(?refused, "no lane");
            link.discard(&session).await;
            None
        }
    }
}

impl Lane {
    fn of(
        key: String,
        link: &Arc<Link>,
        session: Arc<Session>,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Self {
        Self {
            key,
            link: Arc::clone(link),
            session,
            runtime: Handle::current(),
            turn,
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let turn = self.turn.take();
        let key = std::mem::take(&mut self.key);
        let (link, session) = (Arc::clone(&self.link), Arc::clone(&self.session));
        drop(self.runtime.spawn(async move {
            let left = timeout(TURN_WAIT_MAX, session.query(LEAVE, &[&key])).await;
            let is_left = matches!(left, Ok(Ok(rows)) if rows.first().is_some_and(is_true));
            if !is_left {
                // Others would wait for it as long as the connection lasts, which ends with the lanes that it has now.
                link.discard(&session).await;
            }
            drop(turn);
        }));
    }
}

fn is_true(row: &Row) -> bool {
    row.try_get(0).unwrap_or(false)
}
