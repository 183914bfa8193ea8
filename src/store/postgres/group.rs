//! Batches that one call of the database commits, as its parameters.

use std::collections::{HashSet, VecDeque};
use std::sync::mpsc::SyncSender;

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::collection::pin;
use super::row::{id_of, signed, unsigned};
use super::server::Timeline;
use crate::base::limits::{BATCHES_PER_TRANSACTION_MAX, GROUP_BYTES_MAX, INLINE_BYTES_MAX};
use crate::store::{Batch, Expect, NewObject, Observe, Result, StoreError, Version};

/// A batch that waits, and who waits for its outcome.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) observe: Observe,
    pub(super) outcome: SyncSender<Result<Version>>,
}

impl Job {
    /// Has the outcome observed, and gives what tells it to the caller.
    pub(super) fn observed(self, outcome: Result<Version>) -> impl FnOnce() {
        (self.observe)(&outcome);
        // A caller that is gone needs no outcome.
        move || drop(self.outcome.send(outcome))
    }
}

/// Takes jobs from the front that may be committed together: none of them touches a record that another
/// writes. The others wait; one that came later may go before them.
pub(super) fn take(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let mut written = HashSet::new();
    let mut touched = HashSet::new();
    let mut taken: Vec<Job> = Vec::new();
    let mut left = VecDeque::new();
    let mut bytes = 0;
    while let Some(job) = waiting.pop_front() {
        let size = size_of_batch(&job.batch);
        let fits = taken.len() < BATCHES_PER_TRANSACTION_MAX
            && (taken.is_empty() || bytes + size <= GROUP_BYTES_MAX);
        let is_apart = {
            let mut all = job.batch.expectations().map(|(key, _)| key);
            let writes = job.batch.writes.iter().map(|write| &write.key);
            all.all(|key| !written.contains(key))
                && writes.clone().all(|key| !touched.contains(key))
        };
        if !(fits && is_apart) {
            left.push_back(job);
            continue;
        }
        bytes += size;
        for write in &job.batch.writes {
            written.insert(write.key.clone());
        }
        touched.extend(job.batch.expectations().map(|(key, _)| key.to_owned()));
        taken.push(job);
    }
    *waiting = left;
    taken
}

/// About how much of a batch goes over the network, in bytes.
fn size_of_batch(batch: &Batch) -> usize {
    let bodies = batch.objects.iter().filter_map(|new| new.inline());
    let outboards = batch.objects.iter().filter_map(|new| new.outboard());
    let writes = batch.writes.iter().filter_map(|write| write.value.as_ref());
    let appends = batch.appends.iter().map(|append| &append.value);
    let all = bodies.chain(outboards).chain(writes).chain(appends);
    all.map(Bytes::len).sum()
}

/// The parameters of the call, by column; of each row the number of its batch, from 1.
#[derive(Debug, Default)]
pub(super) struct Arrays<'a> {
    batches: i32,
    objects: Objects<'a>,
    required: Required<'a>,
    pins: Pins<'a>,
    expected: Expected<'a>,
    writes: Writes<'a>,
}

#[derive(Debug, Default)]
struct Objects<'a> {
    batches: Vec<i32>,
    ids: Vec<&'a [u8]>,
    kinds: Vec<i16>,
    sizes: Vec<i64>,
    sums: Vec<Option<&'a [u8]>>,
    bodies: Vec<Option<&'a [u8]>>,
    places: Vec<Option<&'a str>>,
    outboards: Vec<Option<&'a [u8]>>,
}

#[derive(Debug, Default)]
struct Required<'a> {
    batches: Vec<i32>,
    ids: Vec<&'a [u8]>,
}

#[derive(Debug, Default)]
struct Pins<'a> {
    batches: Vec<i32>,
    names: Vec<&'a [u8]>,
}

#[derive(Debug, Default)]
struct Expected<'a> {
    batches: Vec<i32>,
    keys: Vec<&'a [u8]>,
    versions: Vec<Option<i64>>,
}

#[derive(Debug, Default)]
struct Writes<'a> {
    batches: Vec<i32>,
    keys: Vec<&'a [u8]>,
    values: Vec<Option<&'a [u8]>>,
    appends: Vec<bool>,
}

impl<'a> Arrays<'a> {
    /// The parameters for these batches, at a server that writes this history.
    pub(super) fn new(jobs: &'a [Job], timeline: Timeline) -> Self {
        let mut arrays = Self::default();
        for job in jobs {
            arrays.batches += 1;
            arrays.add(&job.batch, timeline);
        }
        arrays
    }

    fn add(&mut self, batch: &'a Batch, timeline: Timeline) {
        let number = self.batches;
        for new in &batch.objects {
            let objects = &mut self.objects;
            objects.batches.push(number);
            objects.ids.push(new.id.as_bytes());
            objects.kinds.push(new.kind.code().into());
            objects.sizes.push(signed(new.size));
            let sum = new.sha256.as_ref().map(|sum| sum.as_bytes().as_slice());
            objects.sums.push(sum);
            objects.bodies.push(new.inline().map(AsRef::as_ref));
            objects.places.push(new.place());
            objects.outboards.push(new.outboard().map(AsRef::as_ref));
        }
        let own: HashSet<_> = batch.objects.iter().map(|new| new.id).collect();
        for id in batch.required.iter().filter(|id| !own.contains(id)) {
            self.required.batches.push(number);
            self.required.ids.push(id.as_bytes());
        }
        for name in &batch.pins {
            self.pins.batches.push(number);
            // No pin has the empty name: one of another history is gone, with what it kept.
            let is_kept = pin::is_of(name, timeline);
            self.pins.names.push(if is_kept { name } else { &[] });
        }
        for (key, expect) in batch.expectations() {
            let version = match expect {
                Expect::Anything => continue,
                Expect::Absent => None,
                Expect::Version(version) => Some(signed(version)),
            };
            self.expected.batches.push(number);
            self.expected.keys.push(key.as_bytes());
            self.expected.versions.push(version);
        }
        let writes = batch
            .writes
            .iter()
            .map(|it| (it.key.as_str(), it.value.as_ref(), false));
        let appends = batch
            .appends
            .iter()
            .map(|it| (it.folder, Some(&it.value), true));
        for (key, value, appends) in writes.chain(appends) {
            self.writes.batches.push(number);
            self.writes.keys.push(key.as_bytes());
            self.writes.values.push(value.map(AsRef::as_ref));
            self.writes.appends.push(appends);
        }
    }

    /// The parameters beyond those that name the call.
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 20] {
        let (objects, required) = (&self.objects, &self.required);
        let (expected, writes) = (&self.expected, &self.writes);
        [
            &self.batches,
            &objects.batches,
            &objects.ids,
            &objects.kinds,
            &objects.sizes,
            &objects.sums,
            &objects.bodies,
            &objects.places,
            &objects.outboards,
            &required.batches,
            &required.ids,
            &self.pins.batches,
            &self.pins.names,
            &expected.batches,
            &expected.keys,
            &expected.versions,
            &writes.batches,
            &writes.keys,
            &writes.values,
            &writes.appends,
        ]
    }
}

/// Refuses what the engine has no place for.
///
/// # Errors
/// [`StoreError::TooLarge`].
pub(super) fn require_places(batch: &Batch) -> Result<()> {
    let has_place = |new: &NewObject| new.inline().is_some() || new.place().is_some();
    if batch.objects.iter().all(has_place) {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        bytes_max: INLINE_BYTES_MAX,
    })
}

/// What the call has answered.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// The last version before the group; none for the outcome of an earlier call.
    pub(super) before: Option<Version>,
    /// Of each batch.
    pub(super) of_batches: Vec<Result<Version>>,
}

impl Outcomes {
    /// The last version of the batches that were committed.
    pub(super) fn last(&self) -> Option<Version> {
        self.of_batches.iter().flatten().max().copied()
    }

    /// How many versions the group has given.
    pub(super) fn written(&self) -> u64 {
        let own = self.before.zip(self.last());
        own.map_or(0, |(before, last)| last.saturating_sub(before))
    }

    /// Reads the row of the answer.
    pub(super) fn of(row: &Row) -> Result<Self> {
        let before: Option<i64> = row.try_get(0)?;
        let kinds: Vec<i16> = row.try_get(1)?;
        let versions: Vec<i64> = row.try_get(2)?;
        let details: Vec<Vec<u8>> = row.try_get(3)?;
        let all = kinds.into_iter().zip(versions).zip(details);
        Ok(Self {
            before: before.map(unsigned),
            of_batches: all
                .map(|((kind, version), detail)| outcome(kind, version, &detail))
                .collect(),
        })
    }
}

fn outcome(kind: i16, version: i64, detail: &[u8]) -> Result<Version> {
    match kind {
        0 => Ok(unsigned(version)),
        1 => Err(StoreError::Conflict {
            key: String::from_utf8_lossy(detail).into_owned(),
        }),
        2 => Err(StoreError::Missing { id: id_of(detail)? }),
        3 => Err(StoreError::Expired),
        _ => Err(StoreError::Unpinned),
    }
}
