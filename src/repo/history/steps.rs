//! Reading the steps of a branch from one state to the next, run by run.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::step_cache::{Run, Step};
use crate::base::id::ManifestId;
use crate::base::may_block;
use crate::object::key;
use crate::repo::{Branch, Operation, Result};
use crate::store::Scan;

/// Places of a run, so few that one is read in about a millisecond. Numbers of paths within one fit two
/// bytes.
const RUN_PLACES: u64 = 256;

/// What a step takes of a snapshot's record.
#[derive(Deserialize)]
struct StepRecord<'a> {
    manifest: ManifestId,
    operation: Operation,
    #[serde(borrow, default)]
    path: Option<Cow<'a, str>>,
}

impl Run {
    /// The number of the run that a place is in.
    pub(super) fn number(place: u64) -> u64 {
        place.saturating_sub(1) / RUN_PLACES
    }

    /// The first place of a run.
    pub(super) fn first(number: u64) -> u64 {
        number * RUN_PLACES + 1
    }

    /// The numbers of the runs that have the places from one on to before another, the newest first.
    pub(super) fn numbers(first: u64, before: u64) -> impl Iterator<Item = u64> {
        (Self::number(first)..=Self::number(before - 1)).rev()
    }

    /// The run of this number of a branch, as far as the branch has snapshots. Steps whose snapshots
    /// were pruned since may still be in it.
    pub(super) fn of(branch: &Branch, number: u64) -> Result<Arc<Self>> {
        let first = Self::first(number);
        let last = branch.snapshot_count().min(first + RUN_PLACES - 1);
        let cache = &branch.project.projects.shared.steps.runs;
        let mut run = cache.get(&(branch.number, number)).unwrap_or_default();
        if run.read_to < last {
            may_block(|| Arc::make_mut(&mut run).read(branch, first, last))?;
            cache.insert((branch.number, number), Arc::clone(&run));
        }
        Ok(run)
    }

    /// Its steps from one place on to before another.
    pub(super) fn between(&self, first: u64, before: u64) -> &[Step] {
        let begin = self.steps.partition_point(|step| step.place < first);
        let end = self.steps.partition_point(|step| step.place < before);
        self.steps.get(begin..end).unwrap_or_default()
    }

    /// Reads what is new, up to the place `last`.
    fn read(&mut self, branch: &Branch, first: u64, last: u64) -> Result<()> {
        let prefix = key::snapshots(branch.number);
        let known = self.read_to.max(first - 1);
        let records = branch.project.projects.store().scan(Scan {
            after: Some(&key::snapshot(branch.number, known)),
            limit: usize::try_from(last - known).unwrap_or(usize::MAX),
            ..Scan::prefix(&prefix)
        })?;
        let paths = std::mem::take(&mut self.paths);
        let numbers = paths.into_iter().enumerate();
        let mut numbers: HashMap<Box<str>, usize> = numbers.map(|(at, path)| (path, at)).collect();
        for record in records.iter().filter(|record| record.number() <= last) {
            let told: StepRecord<'_> =
                serde_json::from_slice(&record.value).map_err(|source| record.damaged(source))?;
            let is_one = matches!(told.operation, Operation::Save | Operation::Delete);
            let path = told.path.filter(|_| is_one).map(|path| {
                let next = numbers.len();
                *numbers.entry(path.into()).or_insert(next)
            });
            self.steps.push(Step {
                place: record.number(),
                from: told.manifest,
                path: path.and_then(|number| u16::try_from(number).ok()),
            });
        }
        self.paths = vec![Box::default(); numbers.len()];
        for (path, at) in numbers {
            self.paths[at] = path;
        }
        self.read_to = last;
        Ok(())
    }
}
