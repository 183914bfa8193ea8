//! Records from one store into another, with the versions that they have.

use std::fmt;
use std::sync::Arc;

use super::objects::flow;
use super::{Loader, Result, Step, Tell, TransferError};
use crate::base::digest::byte_count;
use crate::store::{Record, Scan, Store, StoreError, Version};

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 4 << 20;
/// Records that are read at first, and at most.
const FIRST_PAGE: usize = 32;
const PAGE_MAX: usize = 2048;

/// All records of a store, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsDigest {
    /// How many.
    pub count: u64,
    /// The version of the last write.
    pub last: Version,
    /// BLAKE3 over keys, versions and values, in the order of the keys.
    pub blake3: blake3::Hash,
}

impl fmt::Display for RecordsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records up to version {} with digest {}",
            self.count, self.last, self.blake3
        )
    }
}

/// Copies all records, and gives what was read.
pub(super) fn copy(
    source: &dyn Store,
    last: Version,
    loader: &mut dyn Loader,
    tell: &mut Tell<'_>,
) -> Result<RecordsDigest> {
    loader.begin_records().map_err(TransferError::Target)?;
    let mut summing = Summing::default();
    let mut pages = Pages::of(source);
    while let Some(page) = pages.next().map_err(TransferError::Source)? {
        summing.add(&page);
        loader.put_records(&page).map_err(TransferError::Target)?;
        flow(tell(Step::Records(summing.count)))?;
    }
    loader.end_records(last).map_err(TransferError::Target)?;
    Ok(summing.finish(last))
}

/// What a copy gives back.
pub(super) fn digest(store: &dyn Store, tell: &mut Tell<'_>) -> Result<RecordsDigest> {
    let mut summing = Summing::default();
    let mut pages = Pages::of(store);
    while let Some(page) = pages.next().map_err(TransferError::Target)? {
        summing.add(&page);
        flow(tell(Step::Compared(summing.count)))?;
    }
    let last = store.last_version().map_err(TransferError::Target)?;
    Ok(summing.finish(last))
}

#[derive(Default)]
struct Summing {
    hasher: blake3::Hasher,
    count: u64,
}

impl Summing {
    fn add(&mut self, records: &[Arc<Record>]) {
        for record in records {
            for part in [record.key.as_bytes(), &record.value] {
                self.hasher.update(&byte_count(part).to_le_bytes());
                self.hasher.update(part);
            }
            self.hasher.update(&record.version.to_le_bytes());
        }
        self.count += records.len() as u64;
    }

    fn finish(&self, last: Version) -> RecordsDigest {
        RecordsDigest {
            count: self.count,
            last,
            blake3: self.hasher.finalize(),
        }
    }
}

/// The records of a store in the order of their keys, some at a time: as many as had about [`PAGE_BYTES`] when
/// the page before was read.
struct Pages<'a> {
    store: &'a dyn Store,
    after: Option<String>,
    limit: usize,
    is_done: bool,
}

impl<'a> Pages<'a> {
    fn of(store: &'a dyn Store) -> Self {
        Self {
            store,
            after: None,
            limit: FIRST_PAGE,
            is_done: false,
        }
    }

    fn next(&mut self) -> std::result::Result<Option<Vec<Arc<Record>>>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let page = self.store.scan(Scan {
            after: self.after.as_deref(),
            limit: self.limit,
            ..Scan::prefix("")
        })?;
        self.is_done = page.len() < self.limit;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        self.after = Some(last.key.clone());
        let bytes: usize = page.iter().map(|record| record.value.len() + 64).sum();
        let fitting = page.len() * PAGE_BYTES / bytes.max(1);
        // Not faster than twice: the next ones may be larger.
        self.limit = fitting.clamp(1, PAGE_MAX).min(self.limit * 2);
        Ok(Some(page))
    }
}
