//! What this process commits, for the memory of records.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::cached_records::CachedRecords;
use crate::store::watchers::folders_of;
use crate::store::{Batch, Record, RecordAppend, RecordWrite, Result, StoreError, Version};

/// What a batch writes.
#[derive(Debug)]
pub(super) struct OwnWrites {
    writes: Vec<(RecordWrite, Before)>,
    appends: Vec<RecordAppend>,
}

/// Where the counts of changes of a key, and of the folders it lies in, stood before the commit.
#[derive(Debug)]
struct Before {
    key: u64,
    folders: Vec<u64>,
}

impl Before {
    fn of(key: &str, kept: &CachedRecords) -> Self {
        let count = |of: &str| kept.changes_of(of).load(Ordering::Acquire);
        Self {
            key: count(key),
            folders: folders_of(key).map(count).collect(),
        }
    }

    /// True if nothing else is kept of the record since.
    fn holds(&self, key: &str, kept: &CachedRecords) -> bool {
        kept.changes_of(key).load(Ordering::Acquire) == self.key
            && !kept.is_missed_since(key, &self.folders)
    }
}

impl OwnWrites {
    /// Those of a batch that is about to be committed.
    pub(super) fn of(batch: &Batch, kept: &CachedRecords) -> Self {
        let before = |key: &str| Before::of(key, kept);
        let writes = batch.writes.iter();
        Self {
            writes: writes.map(|it| (it.clone(), before(&it.key))).collect(),
            appends: batch.appends.clone(),
        }
    }

    /// Brings what is kept up to the outcome of the commit, and tells who watches. A record is renewed where it
    /// is known now and nothing else has changed since the commit began, else dropped. After a refusal that has
    /// changed nothing all stays: what many clients ask for must not go because the store takes no writes for a while.
    pub(super) fn observe(self, outcome: &Result<Version>, kept: &CachedRecords) {
        if outcome.as_ref().is_err_and(StoreError::changed_nothing) {
            return;
        }
        // Nobody reads a record of a log by itself, so none is kept: what was absent is dropped.
        let appended: Vec<_> = match outcome {
            Ok(last) => {
                let appends = self.appends.iter().rev().zip((0..=*last).rev());
                appends.map(|(new, at)| (new.key(at), at)).collect()
            }
            Err(_) => Vec::new(),
        };
        if self.writes.is_empty() && appended.is_empty() {
            return;
        }
        let versions = self.versions(outcome);
        let gate = kept.lock();
        let (mut renewed, mut doubtful) = (Vec::new(), Vec::new());
        for (at, (write, before)) in self.writes.iter().enumerate() {
            let version = versions.as_ref().map(|versions| versions[at]);
            let is_alone = before.holds(&write.key, kept);
            match (&write.value, version) {
                (Some(value), Some(version)) if is_alone => {
                    let record = Record::new(write.key.clone(), version, value.clone());
                    renewed.push(Arc::new(record));
                }
                // Another may have read it since, and kept it.
                (Some(_), Some(version)) => doubtful.push((write.key.as_str(), version)),
                _ => doubtful.push((write.key.as_str(), Version::MAX)),
            }
        }
        doubtful.extend(appended.iter().map(|(key, at)| (key.as_str(), *at)));
        kept.replace(&renewed, &doubtful);
        drop(gate);
        let written = self.writes.iter().map(|(write, _)| write.key.as_str());
        let appended = appended.iter().map(|(key, _)| key.as_str());
        kept.watchers.tell(written.chain(appended));
    }

    /// Of each write, where they are known. A deletion may have been none, and then it took no version: the others'
    /// are not known. After a failure nothing is.
    fn versions(&self, outcome: &Result<Version>) -> Option<Vec<Version>> {
        let last = outcome.as_ref().ok()?;
        let are_known = self.writes.iter().all(|(write, _)| write.value.is_some());
        let all = (self.writes.len() + self.appends.len()) as u64;
        let first = (last + 1).checked_sub(all)?;
        are_known.then(|| (first..).take(self.writes.len()).collect())
    }
}
