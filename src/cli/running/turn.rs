//! Backups and collections take turns: one waits for the other.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use super::progress::Progress;
use super::stop::Stop;
use crate::cli::settings::seconds_to_a_day;
use crate::store;
use crate::store::StoreError;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);

/// How long a command waits for its turn.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct Wait {
    /// How long it waits for the end of a backup or a collection that runs, up to a day; then, and over PostgreSQL at
    /// once, it fails
    #[arg(long = "wait", value_name = "SECONDS", value_parser = seconds_to_a_day, default_value = "60")]
    pub(in crate::cli) wait_s: u64,
}

impl Wait {
    /// Begins what may not run beside something else, as soon as that has ended. What it waits for it says once. When
    /// it is asked to end it waits no longer.
    ///
    /// # Errors
    /// Those of `begin`; [`StoreError::Underway`] after the wait.
    pub(in crate::cli) fn begin_in_turn<T>(
        self,
        stop: &Stop,
        progress: &mut Progress<'_>,
        mut begin: impl FnMut(&mut Progress<'_>) -> store::Result<T>,
    ) -> store::Result<T> {
        let (began, longest) = (Instant::now(), Duration::from_secs(self.wait_s));
        let mut is_told = false;
        loop {
            match begin(progress) {
                Err(StoreError::Underway { what })
                    if began.elapsed() < longest && !stop.is_asked() =>
                {
                    if !is_told {
                        progress.tell(&format!(
                            "siteconf: {what} is running; waiting for its end, {} seconds at most",
                            self.wait_s
                        ));
                        is_told = true;
                    }
                    thread::sleep(LOOK);
                }
                outcome => return outcome,
            }
        }
    }
}
