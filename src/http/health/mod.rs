//! Whether the service is well: what probes, load balancers and the metrics are told.

pub(in crate::http) mod probe;

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;

use super::admission::borrowed_permit;
use super::blocking::give_thread_back;
use crate::access::{Gate, LargeBodies, Writes};
use crate::base::clock::told_of_skew;
use crate::base::may_block;

/// What is known of the service beside what it serves.
#[derive(Debug)]
pub(in crate::http) struct Health {
    disk_low_bytes: u64,
    /// True if it was last found that the disk has little room.
    disk_low: AtomicBool,
    stopping: AtomicBool,
    turns: Semaphore,
}

/// How the service is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct State {
    pub(in crate::http) writes: Writes,
    pub(in crate::http) large_files: LargeBodies,
    /// How many milliseconds the clock of the machine is ahead of the database's.
    pub(in crate::http) clock_ahead_ms: i64,
    /// Room for the store on its file system, in bytes, where it has one and tells.
    pub(in crate::http) free_bytes: Option<u64>,
    /// That is less than the settings want.
    pub(in crate::http) disk_low: bool,
    pub(in crate::http) stopping: bool,
}

impl Health {
    /// Of a service that has just started.
    pub(in crate::http) fn new(disk_low_bytes: u64) -> Self {
        Self {
            disk_low_bytes,
            disk_low: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            turns: Semaphore::new(1),
        }
    }

    /// From now on the service is stopping.
    pub(in crate::http) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// True from when it is stopping.
    pub(in crate::http) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// How the service is now. The log is told, once, when the room on the disk becomes little, and when
    /// there is enough again.
    pub(in crate::http) fn look(&self, gate: &Gate) -> State {
        let free_bytes = gate.free_bytes();
        State {
            writes: gate.writes(),
            large_files: gate.large_files(),
            clock_ahead_ms: gate.clock_ahead_ms(),
            free_bytes,
            disk_low: self.is_low(free_bytes),
            stopping: self.is_stopping(),
        }
    }

    /// The same for one of many who ask at once, one after the other: a disk may be slow, and each of them would have a
    /// thread meanwhile.
    pub(in crate::http) async fn look_in_turn(&self, gate: &Gate) -> State {
        let _turn = borrowed_permit(&self.turns).await;
        let state = may_block(|| self.look(gate));
        give_thread_back().await;
        state
    }

    fn is_low(&self, free_bytes: Option<u64>) -> bool {
        let Some(free_bytes) = free_bytes else {
            return false;
        };
        let disk_low_bytes = self.disk_low_bytes;
        let low = free_bytes < disk_low_bytes;
        if self.disk_low.swap(low, Ordering::Relaxed) != low {
            if low {
                tracing::warn!(
                    free_bytes,
                    disk_low_bytes,
                    "the disk of the store has little room left"
                );
            } else {
                tracing::info!(
                    free_bytes,
                    disk_low_bytes,
                    "the disk of the store has room again"
                );
            }
        }
        low
    }
}

impl State {
    /// Why no requests should be sent; empty if they should.
    pub(in crate::http) fn hindrances(&self) -> Vec<String> {
        let mut hindrances = Vec::new();
        if self.stopping {
            hindrances.push("the service is stopping".to_owned());
        }
        match self.writes {
            Writes::Taken => {}
            Writes::Full => hindrances.push(
                "writes are refused: the disk is full, or less is free than disk_free_min"
                    .to_owned(),
            ),
            Writes::Busy => hindrances.push(
                "writes are refused until another process that uses the store has ended, such as a \
                 suspended command"
                    .to_owned(),
            ),
            Writes::DatabaseReadOnly => hindrances.push(
                "writes are refused: the database takes none, as its setting \
                 default_transaction_read_only says"
                    .to_owned(),
            ),
            Writes::Away | Writes::Denied => hindrances.push(
                "the database does not answer, or cannot be used; the log says why".to_owned(),
            ),
            Writes::WentBack => hindrances.push(
                "everything is refused until the service is restarted: the database no longer has \
                 changes that it had; see that it is the right one"
                    .to_owned(),
            ),
            Writes::Moved => hindrances.push(
                "writes are refused: the data folder is not at its place any more; put it back, or \
                 restart the service with the new one"
                    .to_owned(),
            ),
            Writes::Stopped => hindrances.push(
                "writes are refused after a failed write, until the service is restarted"
                    .to_owned(),
            ),
        }
        match self.large_files {
            LargeBodies::Well => {}
            LargeBodies::Full => hindrances.push(
                "large files are refused: their bucket is full, or its quota is used up".to_owned(),
            ),
            LargeBodies::Denied => hindrances.push(
                "large files are refused: their bucket refuses writes to the keys of the service, which \
                 need s3:PutObject there"
                    .to_owned(),
            ),
            LargeBodies::Away => hindrances.push(
                "the bucket of large files does not answer, or cannot be used; the log says why"
                    .to_owned(),
            ),
        }
        if let Some(skew) = told_of_skew(self.clock_ahead_ms) {
            hindrances.push(format!(
                "the clock of this machine is {skew}; set both by NTP"
            ));
        }
        if let (true, Some(free)) = (self.disk_low, self.free_bytes) {
            let mebibytes = free >> 20;
            hindrances.push(format!(
                "the disk of the store has {mebibytes} MiB left, less than disk_low_bytes"
            ));
        }
        hindrances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hindrance_is_told() {
        let well = State {
            writes: Writes::Taken,
            large_files: LargeBodies::Well,
            clock_ahead_ms: 30_000,
            free_bytes: Some(5 << 30),
            disk_low: false,
            stopping: false,
        };
        assert!(well.hindrances().is_empty());
        let ill = State {
            writes: Writes::Stopped,
            large_files: LargeBodies::Away,
            clock_ahead_ms: -31_500,
            free_bytes: Some(12 << 20),
            disk_low: true,
            stopping: true,
        };
        assert_eq!(
            ill.hindrances().join("; "),
            "the service is stopping; writes are refused after a failed write, until the service is \
             restarted; the bucket of large files does not answer, or cannot be used; the log says why; \
             the clock of this machine is 31 s behind the database's; set both by NTP; \
             the disk of the store has 12 MiB left, less than disk_low_bytes"
        );
    }

    #[test]
    fn little_room_is_less_than_the_setting() {
        let health = Health::new(100);
        for (free, low) in [
            (Some(100), false),
            (Some(99), true),
            (Some(100), false),
            (None, false),
        ] {
            assert_eq!(health.is_low(free), low, "{free:?}");
        }
    }
}
