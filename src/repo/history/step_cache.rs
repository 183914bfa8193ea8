//! What is kept in memory of the steps of branches, as far as a search for a path or for the last change of
//! a file needs them. What a snapshot tells never changes.

use std::sync::Arc;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::id::ManifestId;
use crate::base::limits::HISTORY_STEPS_BYTES;

/// Runs by the branch's number and their own.
#[derive(Debug)]
pub(in crate::repo) struct StepCache {
    pub(super) runs: ByteCache<(u64, u64), Arc<Run>>,
}

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

impl Default for StepCache {
    fn default() -> Self {
        Self {
            runs: byte_cache(HISTORY_STEPS_BYTES, 2048, |_, run| {
                let paths: usize = run.paths.iter().map(|path| 16 + path.len()).sum();
                128 + run.steps.len() * size_of::<Step>() + paths
            }),
        }
    }
}

impl StepCache {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::weighed("history_steps", &self.runs)
    }
}
