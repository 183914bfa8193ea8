//! This layer's records, read and written as values. Nothing is kept in memory here: the store does
//! that, and drops what it keeps when a record is written.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::error::{Error, Result};
use crate::store::{Batch, Expect, Record, Scan, Store, StoreError, Version};

/// A value as it was read, with the version that a change of it expects.
#[derive(Clone, Debug)]
pub(super) struct Kept<T> {
    /// The value.
    pub(super) value: T,
    /// The write that made it.
    pub(super) version: Version,
}

impl<T> Kept<T> {
    /// What a change of this value expects to find.
    pub(super) fn expect(&self) -> Expect {
        Expect::Version(self.version)
    }
}

/// The records of this layer.
#[derive(Clone, Debug)]
pub(super) struct Records {
    store: Arc<dyn Store>,
}

impl Records {
    pub(super) fn new(store: &Arc<dyn Store>) -> Self {
        Self {
            store: Arc::clone(store),
        }
    }

    /// The value under this key, `None` if there is none.
    pub(super) fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<Kept<T>>> {
        Ok(self.store.record(key)?.map(decode).transpose()?)
    }

    /// The values under a prefix, in the order of their keys.
    pub(super) fn under<T: DeserializeOwned>(&self, prefix: &str) -> Result<Vec<Kept<T>>> {
        let records = self.store.scan(Scan::prefix(prefix))?;
        Ok(records
            .into_iter()
            .map(decode)
            .collect::<std::result::Result<_, _>>()?)
    }

    /// True if there is nothing under a prefix.
    pub(super) fn is_empty(&self, prefix: &str) -> Result<bool> {
        let first = Scan {
            limit: 1,
            ..Scan::prefix(prefix)
        };
        Ok(self.store.scan(first)?.is_empty())
    }

    /// Takes the next number of a counter, as part of the batch: of two batches that took the same
    /// number, one is refused with [`StoreError::Conflict`]. Numbers start at 1 and are never reused.
    pub(super) fn next_number(&self, counter: &str, batch: &mut Batch) -> Result<u64> {
        let last = self.get::<u64>(counter)?;
        let expect = last.as_ref().map_or(Expect::Absent, Kept::expect);
        let number = last.map_or(0, |kept| kept.value) + 1;
        batch.write(counter.to_owned(), expect, &number);
        Ok(number)
    }

    /// Makes the batch durable and visible.
    pub(super) fn commit(&self, batch: Batch) -> Result<()> {
        self.store.commit(batch)?;
        Ok(())
    }

    /// Writes what nobody has to wait or fail for, such as when something was last used.
    pub(super) fn commit_if_possible(&self, batch: Batch, what: &'static str) {
        if let Err(error) = self.store.commit(batch) {
            tracing::debug!(%error, "{what} was not written");
        }
    }
}

/// Repeats an attempt that lost a race. It ends, because each loss is another's success.
pub(super) fn until_won<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match attempt() {
            Err(Error::Store(StoreError::Conflict { .. })) => {}
            outcome => return outcome,
        }
    }
}

fn decode<T: DeserializeOwned>(record: Record) -> std::result::Result<Kept<T>, StoreError> {
    let version = record.version;
    match serde_json::from_slice(&record.value) {
        Ok(value) => Ok(Kept { value, version }),
        Err(source) => Err(StoreError::DamagedRecord {
            key: record.key,
            source,
        }),
    }
}
