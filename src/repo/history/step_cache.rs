//! What is kept in memory of the steps of branches, as far as a search for a path needs them. What a
//! snapshot tells never changes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::base::id::ManifestId;
use crate::base::limits::HISTORY_STEPS_BYTES;
use crate::base::tally::CacheUse;

/// Runs by the branch's number and their own.
#[derive(Debug)]
pub(in crate::repo) struct StepCache {
    pub(super) runs: Cache<(u64, u64), Arc<Run>, ByMemory>,
}

#[derive(Clone, Debug)]
pub(super) struct ByMemory;

/// The steps from neighbouring places of a branch.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The place up to which its snapshots were read.
    pub(super) read_to: u64,
    /// By place.
    pub(super) steps: Vec<Step>,
    /// The paths that its steps changed, each once.
    pub(super) paths: Vec<Box<str>>,
}

/// How a state was replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The version of the snapshot that holds the state.
    pub(super) place: u64,
    /// The state.
    pub(super) from: ManifestId,
    /// The one path that was changed, by its number among those of the run; `None` if it may be any.
    pub(super) path: Option<u16>,
}

impl Weighter<(u64, u64), Arc<Run>> for ByMemory {
    fn weight(&self, _: &(u64, u64), run: &Arc<Run>) -> u64 {
        let paths: usize = run.paths.iter().map(|path| 16 + path.len()).sum();
        (128 + run.steps.len() * size_of::<Step>() + paths) as u64
    }
}

impl Default for StepCache {
    fn default() -> Self {
        Self {
            runs: Cache::with_weighter(2048, HISTORY_STEPS_BYTES, ByMemory),
        }
    }
}

impl StepCache {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::weighed("history_paths", &self.runs)
    }
}
