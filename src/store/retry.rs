//! Repeating a change that lost a race, and telling a lost race from damage.

use std::thread;
use std::time::{Duration, Instant};

use serde::de::Error as _;

use super::{Result, Store, StoreError, Version};
use crate::base::limits::COMMIT_ATTEMPTS_MAX;
use crate::base::may_block;

/// How long the same record is met in the way before it counts as damaged. Longer than a write of this
/// or another process may be in the store and not yet in what memory keeps.
const IN_THE_WAY_MAX: Duration = Duration::from_millis(250);
/// After so many lost races it is better to wait for one's turn.
const CROWDED_FROM: u32 = 2;
/// What other daemons have written is in memory after so long: more than twice the bound of
/// [`Store::external_writes`].
const NOTICED_AFTER: Duration = Duration::from_millis(50);
/// Pause before what has met the same record again is tried once more.
const PAUSE: Duration = Duration::from_millis(2);

/// The attempts at one change, each of which reads anew what it goes by.
#[derive(Debug, Default)]
pub struct Attempts {
    failed: u32,
    met: Option<Met>,
    /// When the attempt under way began, but for the first.
    began: Option<Instant>,
}

/// The record that the last attempts met.
#[derive(Debug)]
struct Met {
    key: String,
    version: Version,
    since: Instant,
}

impl Attempts {
    /// True once so many were lost that others must be changing the same all the time.
    pub fn are_crowded(&self) -> bool {
        self.failed >= CROWDED_FROM
    }

    /// Says that an attempt has met another record under this key than it expected. The change may be
    /// tried again when this returns.
    ///
    /// # Errors
    /// [`StoreError::DamagedRecord`] when an attempt that began a quarter of a second after a record was first met has
    /// met it at the same version: nobody has written it meanwhile, and what leads to it was read anew, so it is not
    /// what the record says that leads to it. [`StoreError::Busy`] after [`COMMIT_ATTEMPTS_MAX`] attempts.
    pub fn lost(&mut self, store: &dyn Store, key: &str) -> Result<()> {
        self.failed += 1;
        if self.failed >= COMMIT_ATTEMPTS_MAX {
            return Err(StoreError::Busy);
        }
        let began = self.began.take();
        if let Some(since) = self.meet(store, key)? {
            // One that only took long may have begun with what memory had before the record was written.
            let is_in_the_way =
                began.is_some_and(|began| began.duration_since(since) >= IN_THE_WAY_MAX);
            may_block(|| thread::sleep(if is_in_the_way { NOTICED_AFTER } else { PAUSE }));
            // Another daemon may have written the record at the end of the attempt.
            if is_in_the_way && self.meet(store, key)?.is_some() {
                let reason = "it is in the way of every change, and nobody writes it: this record \
                              or the one that leads to it is damaged";
                return Err(StoreError::DamagedRecord {
                    key: key.to_owned(),
                    source: serde_json::Error::custom(reason),
                });
            }
        }
        self.began = Some(Instant::now());
        Ok(())
    }

    /// Looks at the record that an attempt has met. Gives since when it is met as it is, `None` if it was another one
    /// before.
    fn meet(&mut self, store: &dyn Store, key: &str) -> Result<Option<Instant>> {
        let found = store.record(key)?.map(|record| record.version);
        let met = self.met.as_ref();
        let same = met.filter(|met| met.key == key && found == Some(met.version));
        let since = same.map(|met| met.since);
        if since.is_none() {
            self.met = found.map(|version| Met {
                key: key.to_owned(),
                version,
                since: Instant::now(),
            });
        }
        Ok(since)
    }
}

/// Calls `attempt`, which reads anew what it goes by, until it ends in anything else than a conflict, of which
/// `conflict` gives the key.
///
/// # Errors
/// Those of `attempt` and of [`Attempts::lost`].
pub fn until_committed<T, E: From<StoreError>>(
    store: &dyn Store,
    conflict: impl Fn(&E) -> Option<&str>,
    mut attempt: impl FnMut() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let mut attempts = Attempts::default();
    loop {
        let outcome = attempt();
        match outcome.as_ref().err().and_then(&conflict) {
            Some(key) => attempts.lost(store, key)?,
            None => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::store::{Batch, Expect};

    fn write(store: &MemoryStore, key: &str) {
        let mut batch = Batch::default();
        batch.write(key.to_owned(), Expect::Anything, &1);
        store.commit(batch).unwrap();
    }

    #[test]
    fn a_record_that_moves_is_a_race_and_one_that_stays_is_damage() {
        let store = MemoryStore::default();
        let mut attempts = Attempts::default();
        for _ in 0..3 {
            write(&store, "a");
            attempts.lost(&store, "a").unwrap();
        }
        write(&store, "b");
        attempts.lost(&store, "b").unwrap();
        let began = Instant::now();
        let refused = loop {
            if let Err(refused) = attempts.lost(&store, "a") {
                break refused.to_string();
            }
        };
        // Until then it may be a write that is not noticed yet.
        assert!(began.elapsed() >= IN_THE_WAY_MAX);
        assert!(
            refused.starts_with("record \"a\" is damaged: "),
            "{refused}"
        );
    }

    #[test]
    fn the_attempts_end() {
        let store = MemoryStore::default();
        let mut attempts = Attempts::default();
        for _ in 1..COMMIT_ATTEMPTS_MAX {
            attempts.lost(&store, "absent").unwrap();
        }
        assert!(matches!(
            attempts.lost(&store, "absent"),
            Err(StoreError::Busy)
        ));
    }
}
