//! Lanes: turns of daemons at what several of them change at once. A lane only puts them in order. What is
//! written is compared all the same, and whoever loses the connection loses the lane.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout};

use super::link::{Link, Session};
use super::server::Server;
use crate::store;

/// How long is waited for a turn; then one goes on without.
const TURN_WAIT_MAX: Duration = Duration::from_secs(2);
const TAKE: &str = "SELECT pg_advisory_lock(1936290916, hashtext($1))";
const LEAVE: &str = "SELECT pg_advisory_unlock(1936290916, hashtext($1))";
/// What the connection is told: the server gives up a little earlier.
const SETTINGS: &str = "SET lock_timeout = '1900ms'; SET statement_timeout = '1950ms';";

/// The way to the lanes: one connection, over which one lane is taken at a time.
#[derive(Debug)]
pub(super) struct Lanes {
    link: Link,
    turn: Arc<Mutex<()>>,
}

/// A lane that was taken. Dropped, it is left.
#[derive(Debug)]
pub(super) struct Lane {
    key: String,
    session: Arc<Session>,
    runtime: Handle,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Lanes {
    /// A way that connects when it is first used.
    pub(super) fn new(server: &Arc<Server>) -> Self {
        Self {
            link: Link::new(server, SETTINGS),
            turn: Arc::default(),
        }
    }

    /// Takes the lane of this key. `None` where it is not free in time.
    pub(super) async fn take(&self, key: String) -> Option<Lane> {
        let began = Instant::now();
        let turn = Arc::clone(&self.turn).lock_owned();
        let turn = timeout(TURN_WAIT_MAX, turn).await.ok()?;
        let session = self.link.session(began + TURN_WAIT_MAX).await.ok()?;
        let mut lane = Lane {
            key,
            session,
            runtime: Handle::current(),
            turn: None,
        };
        match timeout(TURN_WAIT_MAX, lane.session.query(TAKE, &[&lane.key])).await {
            Ok(Ok(_)) => {
                lane.turn = Some(turn);
                Some(lane)
            }
            // It may be taken later all the same: it goes with the connection.
            refused => {
                tracing::debug!(?refused, "no lane");
                self.link.discard(&lane.session).await;
                None
            }
        }
    }
}

impl store::Lane for Lane {}

impl Drop for Lane {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        let (key, session) = (std::mem::take(&mut self.key), Arc::clone(&self.session));
        drop(self.runtime.spawn(async move {
            // Without the connection it is left already.
            drop(session.query(LEAVE, &[&key]).await);
            drop(turn);
        }));
    }
}
