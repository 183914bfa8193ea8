//! The end that a signal asks for, and pauses that it cuts short.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::fault::{Fault, Pulled};
use crate::cli::Result;
use crate::cli::backup::stop::Stop;

/// How long a signal may go unseen.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Whether an end was asked for; seen by all threads.
#[derive(Clone, Debug)]
pub(super) struct Stopping(Arc<Stop>);

impl Stopping {
    /// Watches for Ctrl-C and SIGTERM; a second signal ends at once.
    pub(super) fn watch() -> Result<Self> {
        Ok(Self(Arc::new(Stop::watch(false)?)))
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.0
    }

    pub(super) fn is_asked(&self) -> bool {
        self.0.is_asked()
    }

    /// Goes on unless an end was asked for.
    pub(super) fn go_on(&self) -> Pulled<()> {
        if self.is_asked() {
            return Err(Fault::Stopped);
        }
        Ok(())
    }

    /// Waits so long, or until an end is asked for.
    pub(super) fn pause(&self, length: Duration) -> Pulled<()> {
        let end = Instant::now() + length;
        loop {
            self.go_on()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Calls `then` once an end is asked for, from a thread of its own.
    pub(super) fn on_ask(&self, then: impl FnOnce() + Send + 'static) {
        let stopping = self.clone();
        thread::spawn(move || {
            while !stopping.is_asked() {
                thread::sleep(LOOK);
            }
            then();
        });
    }
}
