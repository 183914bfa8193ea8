//! Figures that cost too much for every scrape: counted in the background, once a minute.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::access::{Census, Gate};
use crate::base::threads::joined::Joined;
use crate::base::threads::lock;
use crate::cli::{Error, Result};
#[cfg(feature = "fleet")]
use crate::store::collection::Collectable as _;
use crate::store::collection::KeptByCollection;
use crate::store::engine::Engine;
use crate::store::sqlite::ObjectCensus;

/// Time between two counts.
const EVERY: Duration = Duration::from_mins(1);
/// Rows of objects that are counted at a time.
const ROWS_AT_ONCE: u32 = 2000;
/// Pause between those, so that the first count of a large store takes none of its disk away.
const PAUSE: Duration = Duration::from_millis(20);

/// The last counts; none before the first is done.
#[derive(Debug, Default)]
pub(super) struct Samples(Mutex<Counted>);

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) census: Option<Census>,
    /// Of the embedded engine.
    pub(super) objects: Option<ObjectCensus>,
    /// Room that the database takes, of an engine that must ask for it.
    pub(super) database_bytes: Option<u64>,
    /// What its last collection kept.
    pub(super) last_collection: Option<KeptByCollection>,
}

impl Samples {
    /// The last counts.
    pub(super) fn last(&self) -> Counted {
        lock(&self.0).clone()
    }

    fn keep(&self, keep: impl FnOnce(&mut Counted)) {
        keep(&mut lock(&self.0));
    }
}

/// The thread that counts. Dropped, it waits for the thread to end: the store is closed after it.
#[derive(Debug)]
pub(super) struct Sampler {
    /// Before the thread, which ends without it.
    _stop: SyncSender<()>,
    _thread: Joined,
}

impl Sampler {
    /// Starts to count.
    pub(super) fn start(samples: Arc<Samples>, engine: Engine, gate: Gate) -> Result<Self> {
        let (stop, stopped) = sync_channel(0);
        let count = move || {
            let mut objects = ObjectCensus::default();
            loop {
                match gate.census() {
                    Ok(census) => samples.keep(|kept| kept.census = Some(census)),
                    Err(error) => tracing::warn!(%error, "sessions and tokens are not counted"),
                }
                match &engine {
                    Engine::Embedded(store) => {
                        let more = || store.count_objects(&mut objects, ROWS_AT_ONCE);
                        match count_all(more, || is_over(&stopped, PAUSE)) {
                            Ok(true) => samples.keep(|kept| kept.objects = Some(objects.clone())),
                            Ok(false) => return,
                            // The next count goes on from there.
                            Err(error) => tracing::warn!(%error, "objects are not counted"),
                        }
                    }
                    #[cfg(feature = "fleet")]
                    Engine::Postgres(store) => {
                        match store.database_bytes() {
                            Ok(bytes) => samples.keep(|kept| kept.database_bytes = Some(bytes)),
                            Err(error) => {
                                tracing::warn!(%error, "the room of the database is not known");
                            }
                        }
                        match store.last_collection() {
                            Ok(last) => samples.keep(|kept| kept.last_collection = last),
                            Err(error) => {
                                tracing::warn!(%error, "the last collection is not known");
                            }
                        }
                    }
                }
                if is_over(&stopped, EVERY) {
                    return;
                }
            }
        };
        let thread = Joined::spawn("metrics", count)
            .map_err(|e| Error::Failed(format!("starting the thread of the metrics: {e}")))?;
        Ok(Self {
            _stop: stop,
            _thread: thread,
        })
    }
}

/// Counts on while there is more. False if the pause between two parts ended it before the last row.
///
/// # Errors
/// Of the part that was not counted.
fn count_all<E>(
    mut more: impl FnMut() -> std::result::Result<bool, E>,
    mut pause_ends_it: impl FnMut() -> bool,
) -> std::result::Result<bool, E> {
    while more()? {
        if pause_ends_it() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits so long. True if it was told to stop.
fn is_over(stopped: &Receiver<()>, wait: Duration) -> bool {
    stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_count_to_the_last_row_is_whole() {
        let count = |parts: &[std::result::Result<bool, &'static str>], pauses: usize| {
            let (mut parts, mut paused) = (parts.iter().copied(), 0);
            let counted = count_all(
                || parts.next().expect("no part after the last"),
                || {
                    paused += 1;
                    paused > pauses
                },
            );
            (counted, parts.len())
        };
        assert_eq!(count(&[Ok(true), Ok(true), Ok(false)], 9), (Ok(true), 0));
        assert_eq!(count(&[Ok(true), Ok(true), Ok(false)], 1), (Ok(false), 1));
        let damaged = [Ok(true), Err("damaged"), Ok(false)];
        assert_eq!(count(&damaged, 9), (Err("damaged"), 1));
    }
}
