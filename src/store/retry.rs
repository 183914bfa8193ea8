//! Repeating a change that lost a race, and telling a lost race from damage.

use serde::de::Error as _;

use super::{Result, Store, StoreError, Version};
use crate::base::limits::COMMIT_ATTEMPTS_MAX;

/// The attempts at one change, each of which reads anew what it goes by.
#[derive(Debug, Default)]
pub struct Attempts {
    failed: u32,
    /// The record that the last attempt met, and its version.
    met: Option<(String, Version)>,
}

impl Attempts {
    /// Says that an attempt has met another record under this key than it expected. The change may be
    /// tried again when this returns.
    ///
    /// # Errors
    /// [`StoreError::DamagedRecord`] when the attempt before met the same record at the same version:
    /// nobody has written it meanwhile, so it is not what the record says that leads to it.
    /// [`StoreError::Busy`] after [`COMMIT_ATTEMPTS_MAX`] attempts.
    pub fn lost(&mut self, store: &dyn Store, key: &str) -> Result<()> {
        self.failed += 1;
        if self.failed >= COMMIT_ATTEMPTS_MAX {
            return Err(StoreError::Busy);
        }
        let found = store.record(key)?.map(|record| record.version);
        let met = found.map(|version| (key.to_owned(), version));
        if met.is_some() && met == self.met {
            let reason = "it is in the way of every change, and nobody writes it: this record or the one that leads to it is damaged";
            return Err(StoreError::DamagedRecord {
                key: key.to_owned(),
                source: serde_json::Error::custom(reason),
            });
        }
        self.met = met;
        Ok(())
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
        attempts.lost(&store, "a").unwrap();
        let refused = attempts.lost(&store, "a").unwrap_err().to_string();
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
