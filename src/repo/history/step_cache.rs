//! What is kept in memory of the steps of branches, as far as a search for a path or for the last change of
//! a file needs them, and which of them touched a path. What a snapshot tells never changes.

use std::sync::Arc;

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{HISTORY_STEPS_BYTES, LAST_CHANGES_BYTES};

/// What is known of steps.
#[derive(Debug)]
pub(in crate::repo) struct StepCache {
    /// Runs by the branch's number and their own.
    pub(super) runs: ByteCache<(u64, u64), Arc<Run>>,
    /// By the branch's number and the path.
    pub(super) touched: ByteCache<(u64, FilePath), Touched>,
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

/// Which steps of a branch touched a path, of those from one place on to before another.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    /// The oldest place that was looked at.
    pub(super) from: u64,
    /// The place behind the newest.
    pub(super) to: u64,
    /// The places of those that touched it, newest first.
    pub(super) places: Vec<u64>,
}

impl Touched {
    /// Of no steps yet, before a state at this place.
    pub(super) fn before(place: u64) -> Self {
        Self {
            from: place,
            to: place,
            places: Vec::new(),
        }
    }
}

impl Default for StepCache {
    fn default() -> Self {
        Self {
            runs: byte_cache(HISTORY_STEPS_BYTES, 256, |_, run| {
                let paths: usize = run.paths.iter().map(|path| 16 + path.len()).sum();
                128 + run.steps.len() * size_of::<Step>() + paths
            }),
            touched: byte_cache(LAST_CHANGES_BYTES, 4096, |(_, path), touched| {
                160 + path.as_str().len() + touched.places.capacity() * size_of::<u64>()
            }),
        }
    }
}

impl StepCache {
    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::weighed("history_steps", &self.runs),
            CacheUse::weighed("path_changes", &self.touched),
        ]
    }
}
