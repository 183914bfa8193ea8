//! Records as typed values: JSON that is decoded once, however often it is read.

use std::any::Any;
use std::fmt;
use std::iter;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{Batch, Expect, Result, Scan, Store, StoreError, Version, retry};

/// A mutable value under an ordered key.
#[derive(Clone)]
pub struct Record {
    /// The key.
    pub key: String,
    /// The write that made this value.
    pub version: Version,
    /// JSON.
    pub value: Bytes,
    decoded: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// Records in the order of their keys, shared by all who read them.
pub type Folder = Arc<Vec<Arc<Record>>>;

/// The record of this key in a folder, `None` without one.
pub(super) fn find_in<'a>(folder: &'a Folder, key: &str) -> Option<&'a Arc<Record>> {
    let found = folder.binary_search_by(|kept| kept.key.as_str().cmp(key));
    found.ok().map(|at| &folder[at])
}

/// Puts a record into a folder in place of its older version.
pub(super) fn put_into(folder: &mut Vec<Arc<Record>>, record: &Arc<Record>) {
    match folder.binary_search_by(|kept| kept.key.cmp(&record.key)) {
        Ok(at) if folder[at].version > record.version => {}
        Ok(at) => folder[at] = Arc::clone(record),
        Err(at) => folder.insert(at, Arc::clone(record)),
    }
}

/// A decoded value and the write that made it.
#[derive(Debug)]
pub struct Versioned<T> {
    /// The write that made it.
    pub version: Version,
    /// The value.
    pub value: Arc<T>,
}

impl Record {
    /// The record of this key, version and JSON value.
    pub fn new(key: String, version: Version, value: Bytes) -> Self {
        Self {
            key,
            version,
            value,
            decoded: OnceLock::new(),
        }
    }

    /// The value as this type. It is decoded when it is first asked for.
    ///
    /// # Errors
    /// [`StoreError::DamagedRecord`] when the JSON is not of the type.
    pub fn decode<T: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Versioned<T>> {
        let known = self.decoded.get().cloned();
        if let Some(Ok(value)) = known.map(Arc::downcast::<T>) {
            return Ok(self.versioned(value));
        }
        let decoded =
            serde_json::from_slice::<T>(&self.value).map_err(|source| self.damaged(source));
        let value = Arc::new(decoded?);
        // A record has one type; if it is read as another, that one is decoded each time.
        let _first = self.decoded.set(Arc::<T>::clone(&value));
        Ok(self.versioned(value))
    }

    /// The value as this type, `None` for a damaged one, of which it tells in the log of the service.
    pub fn decode_sound<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
    ) -> Option<Versioned<T>> {
        self.decode()
            .inspect_err(|error| tracing::error!(%error, "it is left out"))
            .ok()
    }

    /// The error for a value that is JSON of its type and still makes no sense.
    pub fn damaged(&self, source: serde_json::Error) -> StoreError {
        StoreError::DamagedRecord {
            key: self.key.clone(),
            source,
        }
    }

    /// The last part of the key as the number that it is written as, 0 where there is none.
    pub fn number(&self) -> u64 {
        let last = self.key.rsplit('/').next().unwrap_or_default();
        u64::from_str_radix(last, 16).unwrap_or_default()
    }

    fn versioned<T>(&self, value: Arc<T>) -> Versioned<T> {
        Versioned {
            version: self.version,
            value,
        }
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        (&self.key, self.version, &self.value) == (&other.key, other.version, &other.value)
    }
}

impl Eq for Record {}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key)
            .field("version", &self.version)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

impl<T> Versioned<T> {
    /// What a change of this value expects to find.
    pub fn expect(&self) -> Expect {
        Expect::Version(self.version)
    }
}

impl<T> Clone for Versioned<T> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            value: Arc::clone(&self.value),
        }
    }
}

impl dyn Store + '_ {
    /// The value under a key, `None` if there is none.
    pub fn value<T>(&self, key: &str) -> Result<Option<Versioned<T>>>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        self.record(key)?.map(|record| record.decode()).transpose()
    }

    /// The same, for what can be made again: a damaged record is as none, and the log of the service tells
    /// of it.
    pub fn sound_value<T>(&self, key: &str) -> Result<Option<Versioned<T>>>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        match self.value(key) {
            Err(error @ StoreError::DamagedRecord { .. }) => {
                tracing::error!(%error, "it is left out");
                Ok(None)
            }
            found => found,
        }
    }

    /// The values under a prefix that ends in a slash, in the order of their keys.
    pub fn values<T>(&self, prefix: &str) -> Result<Vec<Versioned<T>>>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let folder = self.folder(prefix)?;
        folder.iter().map(|record| record.decode()).collect()
    }

    /// True if no key starts with this prefix.
    pub fn is_empty_under(&self, prefix: &str) -> Result<bool> {
        let first = Scan {
            limit: 1,
            ..Scan::prefix(prefix)
        };
        Ok(self.scan(first)?.is_empty())
    }

    /// The records of a scan, at most its limit at a time. An error ends it.
    ///
    /// # Limits
    /// Memory for one page: all of them might not fit.
    pub fn pages<'a>(
        &'a self,
        scan: Scan<'a>,
    ) -> impl Iterator<Item = Result<Vec<Arc<Record>>>> + 'a {
        let mut after = scan.after.map(str::to_owned);
        let mut is_over = false;
        iter::from_fn(move || {
            if is_over {
                return None;
            }
            let page = self.scan(Scan {
                after: after.as_deref(),
                ..scan
            });
            let last = page.as_ref().ok().and_then(|page| page.last());
            after = last.map(|last| last.key.clone());
            is_over = page.as_ref().map_or(true, |page| page.len() < scan.limit);
            (page.is_err() || after.is_some()).then_some(page)
        })
    }

    /// Commits what `prepare` makes. When a record has changed since it was read, `prepare` is called
    /// again.
    ///
    /// # Errors
    /// Those of [`retry::Attempts::lost`].
    pub fn commit_prepared<T, E: From<StoreError>>(
        &self,
        mut prepare: impl FnMut(&mut Batch) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        retry::until_committed(self, StoreError::conflict, || {
            let mut batch = Batch::default();
            match prepare(&mut batch) {
                Ok(outcome) => self.commit(batch).map(|_| Ok(outcome)),
                // What it refuses is not repeated.
                Err(refused) => Ok(Err(refused)),
            }
        })?
    }

    /// Takes the next number of a counter as part of the batch: of two batches that took the same
    /// number, one is refused with [`StoreError::Conflict`]. Numbers start at 1 and are never reused.
    pub fn next_number(&self, counter: &str, batch: &mut Batch) -> Result<u64> {
        let last = self.value::<u64>(counter)?;
        let expect = last.as_ref().map_or(Expect::Absent, Versioned::expect);
        let number = last.map_or(0, |last| *last.value) + 1;
        batch.write(counter.to_owned(), expect, &number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;

    #[test]
    fn pages_are_all_of_a_scan_in_its_order() {
        let store = MemoryStore::default();
        let mut batch = Batch::default();
        for key in ["a/1", "a/2", "a/3", "a/4", "b/1"] {
            batch.write(key.to_owned(), Expect::Absent, &0);
        }
        store.commit(batch).unwrap();
        let store: &dyn Store = &store;
        let pages = |scan| -> Vec<String> {
            let keys = |page: Vec<Arc<Record>>| {
                let keys: Vec<_> = page.iter().map(|record| record.key.as_str()).collect();
                keys.join(" ")
            };
            store.pages(scan).map(|page| keys(page.unwrap())).collect()
        };
        let scan = |limit| Scan {
            limit,
            ..Scan::prefix("a/")
        };
        assert_eq!(pages(scan(2)), ["a/1 a/2", "a/3 a/4"]);
        assert_eq!(pages(scan(3)), ["a/1 a/2 a/3", "a/4"]);
        assert_eq!(pages(scan(usize::MAX)), ["a/1 a/2 a/3 a/4"]);
        let back = Scan {
            after: Some("a/4"),
            descending: true,
            ..scan(2)
        };
        assert_eq!(pages(back), ["a/3 a/2", "a/1"]);
        assert!(pages(Scan::prefix("c/")).is_empty());
    }

    #[test]
    fn a_value_is_decoded_once_and_damage_names_the_key() {
        let record = Record::new("a/0000002a".to_owned(), 7, Bytes::from_static(b"[1,2]"));
        let first = record.decode::<Vec<u64>>().unwrap();
        let again = record.decode::<Vec<u64>>().unwrap();
        assert_eq!((*first.value).clone(), [1, 2]);
        assert_eq!(first.expect(), Expect::Version(7));
        assert!(Arc::ptr_eq(&first.value, &again.value));
        assert_eq!(*record.decode::<(u8, u8)>().unwrap().value, (1, 2));
        let refused = record.decode::<String>().unwrap_err().to_string();
        assert!(
            refused.starts_with("record \"a/0000002a\" is damaged"),
            "{refused}"
        );
        assert_eq!(record.number(), 42);
    }
}
