//! Connections that cannot be accepted, for want of open files or memory: what the log is told of that while it lasts.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// While it lasts it is told again after so long.
const AGAIN_AFTER: Duration = Duration::from_mins(1);
/// It is over when none has failed for so long: while others close theirs, one is accepted now and then.
const OVER_AFTER: Duration = Duration::from_secs(10);

/// What has failed since it was last over.
#[derive(Debug, Default)]
pub(super) struct FailedAccepts(Option<Lasting>);

#[derive(Debug)]
struct Lasting {
    failed: u64,
    failed_at: Instant,
    told_at: Instant,
}

impl FailedAccepts {
    /// Tells the log of one, unless it was told in the last minute.
    pub(super) fn add(&mut self, error: &io::Error) {
        if let Some(failed) = self.count() {
            tracing::warn!(%error, failed, "cannot accept connections; trying again");
        }
    }

    /// Tells the log when it is over. To be asked from time to time.
    pub(super) fn look(&mut self) {
        if let Some(failed) = self.end() {
            tracing::info!(failed, "connections are accepted again");
        }
    }

    /// Counts one. Gives how many there are when that is to be told.
    fn count(&mut self) -> Option<u64> {
        let now = Instant::now();
        let Some(lasting) = &mut self.0 else {
            self.0 = Some(Lasting {
                failed: 1,
                failed_at: now,
                told_at: now,
            });
            return Some(1);
        };
        lasting.failed += 1;
        lasting.failed_at = now;
        let is_due = now.duration_since(lasting.told_at) >= AGAIN_AFTER;
        is_due.then(|| {
            lasting.told_at = now;
            lasting.failed
        })
    }

    /// Gives how many there were when it is over.
    fn end(&mut self) -> Option<u64> {
        let is_over = |lasting: &mut Lasting| lasting.failed_at.elapsed() >= OVER_AFTER;
        self.0.take_if(is_over).map(|lasting| lasting.failed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_told_when_it_begins_once_a_minute_and_when_it_ends() {
        let mut failed = FailedAccepts::default();
        assert_eq!(failed.end(), None);
        let mut told = Vec::new();
        for tenth in 0..=1200 {
            if let Some(count) = failed.count() {
                told.push((tenth, count));
            }
            assert_eq!(failed.end(), None);
            advance(Duration::from_millis(100)).await;
        }
        assert_eq!(told, [(0, 1), (600, 601), (1200, 1201)]);
        // One that is accepted between others ends nothing.
        advance(Duration::from_secs(9)).await;
        assert_eq!((failed.end(), failed.count()), (None, None));
        advance(Duration::from_secs(10)).await;
        assert_eq!((failed.end(), failed.end()), (Some(1202), None));
        assert_eq!(failed.count(), Some(1));
    }
}
