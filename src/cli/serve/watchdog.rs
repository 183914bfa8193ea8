//! Tells systemd that the service is well, for as long as it is.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::notify::Notifier;

/// Tells it at half of the time in which it is waited for, while requests are answered and the store has
/// its writer. A store that has stopped writing is alive: a restart is for its operator to decide.
pub(super) async fn watch<F: Future<Output = bool>>(
    notifier: Notifier,
    within: Duration,
    is_answered: impl Fn() -> F,
    has_writer: impl Fn() -> bool,
) {
    let half = within / 2;
    let mut ticks = interval(half);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let answers = timeout(half, is_answered()).await == Ok(true);
        let writes = has_writer();
        if answers && writes {
            notifier.well();
        } else {
            tracing::error!(answers, writes, "the watchdog is not told that all is well");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// How often it is told within 12 seconds of a service that is waited for every 10.
    async fn told(answer: Option<bool>, has_writer: bool) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let notifier = Notifier::to(path.as_os_str()).unwrap();
        let is_answered = || async move {
            match answer {
                Some(answer) => answer,
                None => pending().await,
            }
        };
        let watched = watch(notifier, Duration::from_secs(10), is_answered, || {
            has_writer
        });
        timeout(Duration::from_secs(12), watched).await.unwrap_err();
        let mut bytes = [0; 100];
        let mut count = 0;
        while let Ok(length) = socket.recv(&mut bytes) {
            assert_eq!(&bytes[..length], b"WATCHDOG=1");
            count += 1;
        }
        count
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_told_of_a_service_that_answers_and_has_a_writer() {
        assert_eq!(told(Some(true), true).await, 3);
        assert_eq!(told(Some(true), false).await, 0);
        assert_eq!(told(Some(false), true).await, 0);
        assert_eq!(told(None, true).await, 0);
    }
}
