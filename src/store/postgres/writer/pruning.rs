//! The removal of what nobody needs any more: changes before the last million, and outcomes older than an hour.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::store::Result;
use crate::store::postgres::link::Link;

const PRUNE: &str = "SELECT siteconf.prune_v3($1)";
/// Rows of a kind that are removed at once.
const AT_ONCE: i32 = 2_000;
/// While there is more, some is removed after so many writes of this daemon, and after each second: twice as much goes
/// as comes.
const WRITES_BETWEEN: u64 = 1_000;
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// When there was no more.
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// It takes no more than one part in so many of the time, however much else is in its way: what was removed under an
/// old snapshot of somebody stays in the indexes for as long.
const PART_OF_TIME: u32 = 10;

/// Removes some now and then as long as somebody writes, who tells how much that was so far. It takes a connection of
/// its own: nobody waits for it.
pub(super) async fn prune(link: Link, mut written: watch::Receiver<u64>) {
    let mut pruning = Pruning::new();
    while written.changed().await.is_ok() {
        let so_far = *written.borrow_and_update();
        pruning.go_on(&link, so_far).await;
    }
}

/// When some was removed last, and what was written until then.
#[derive(Debug)]
struct Pruning {
    last: Instant,
    /// How long that took.
    took: Duration,
    written: u64,
    has_more: bool,
}

impl Pruning {
    /// Begins; nothing is known of what others have left.
    fn new() -> Self {
        Self {
            last: Instant::now(),
            took: Duration::ZERO,
            written: 0,
            has_more: true,
        }
    }

    /// Removes some if it is time to, after so many writes.
    async fn go_on(&mut self, link: &Link, written: u64) {
        let pause = if self.has_more { PAUSE_MIN } else { PAUSE_MAX };
        let has_enough = self.has_more && written - self.written >= WRITES_BETWEEN;
        let since = self.last.elapsed();
        if since < self.took * PART_OF_TIME || since < pause && !has_enough {
            return;
        }
        let began = Instant::now();
        let removed = remove_some(link).await;
        self.has_more = matches!(removed, Ok(rows) if rows >= i64::from(AT_ONCE));
        if let Err(error) = removed {
            tracing::warn!(%error, "old changes were not removed from the database");
        }
        self.written = written;
        self.last = Instant::now();
        self.took = self.last - began;
    }
}

/// The number of rows that went, of the kind of which most did.
async fn remove_some(link: &Link) -> Result<i64> {
    let rows = link.read(PRUNE, &[&AT_ONCE]).await?;
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        None => Ok(0),
    }
}
