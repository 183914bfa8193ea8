//! Records as typed values.

use serde::de::DeserializeOwned;

use crate::store::{Batch, Expect, Record, Result, Store, StoreError, Version};

/// A value and the write that made it.
#[derive(Clone, Debug)]
pub(super) struct Versioned<T> {
    pub(super) version: Version,
    pub(super) value: T,
}

/// Reads a record's value.
pub(super) fn decode<T: DeserializeOwned>(record: &Record) -> Result<Versioned<T>> {
    let value =
        serde_json::from_slice(&record.value).map_err(|source| StoreError::DamagedRecord {
            key: record.key.clone(),
            source,
        })?;
    Ok(Versioned {
        version: record.version,
        value,
    })
}

/// The value under a key, `None` if there is none.
pub(super) fn read<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
) -> Result<Option<Versioned<T>>> {
    store.record(key)?.as_ref().map(decode).transpose()
}

/// The last part of a key as the number it is written as.
pub(super) fn number_in(key: &str) -> Option<u64> {
    u64::from_str_radix(key.rsplit('/').next()?, 16).ok()
}

/// Takes the next number of a counter; the batch's commit makes it final.
pub(super) fn next_number(store: &dyn Store, counter: &str, batch: &mut Batch) -> Result<u64> {
    let current = read::<u64>(store, counter)?;
    let (number, expect) = match current {
        Some(last) => (last.value + 1, Expect::Version(last.version)),
        None => (1, Expect::Absent),
    };
    batch.write(counter.to_owned(), expect, &number);
    Ok(number)
}

/// Commits what `prepare` makes, and prepares anew as long as somebody else was faster.
pub(super) fn commit_prepared<T, E: From<StoreError>>(
    store: &dyn Store,
    mut prepare: impl FnMut(&mut Batch) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    loop {
        let mut batch = Batch::default();
        let outcome = prepare(&mut batch)?;
        match store.commit(batch) {
            Ok(_) => return Ok(outcome),
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
}
