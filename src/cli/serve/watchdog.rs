//! Tells systemd that the service is well, for as long as it is.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::notify::Notifier;
use crate::http::Probe;
use crate::store::Store;

/// Tells it at half of the time in which it is waited for, while requests are answered and the store's
/// writer lives. A store that has stopped writing is alive: a restart is for its operator to decide.
pub(super) async fn watch(
    notifier: Notifier,
    within: Duration,
    probe: Probe,
    store: Arc<dyn Store>,
) {
    let half = within / 2;
    let mut ticks = interval(half);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let answers = timeout(half, probe.is_answered()).await == Ok(true);
        let writes = store.has_writer();
        if answers && writes {
            notifier.well();
        } else {
            tracing::error!(answers, writes, "the watchdog is not told that all is well");
        }
    }
}
