//! What is kept in memory of the steps of branches, as far as a search for a path or for the last change of
//! a file needs them, and which of them touched a path. What a snapshot tells never changes.

use std::cmp::Reverse;
use std::iter;
use std::sync::{Arc, Mutex};

use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::limits::{HISTORY_STEPS_BYTES, LAST_CHANGES_BYTES, PATH_PLACES_KEPT_MAX};
use crate::base::threads::lock;

/// Ranges of steps that are kept of one path.
const RANGES_KEPT_MAX: usize = 4;
/// Places that are kept of one of them, the newest.
pub(super) const RANGE_PLACES_MAX: usize = PATH_PLACES_KEPT_MAX / 2;

/// What is known of steps.
#[derive(Debug)]
pub(in crate::repo) struct StepCache {
    /// Runs by the branch's number and their own.
    pub(super) runs: ByteCache<(u64, u64), Arc<Run>>,
    /// By the branch's number and the path: ranges that do not meet, the oldest first.
    touched: ByteCache<(u64, FilePath), Vec<Touched>>,
    /// Held while one is added, so that none is lost.
    adding: Mutex<()>,
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

    fn meets(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    /// One range of two that meet.
    fn joined(self, other: Self) -> Self {
        let (mut newer, older) = if self.to >= other.to {
            (self, other)
        } else {
            (other, self)
        };
        if older.from < newer.from {
            let are_known = |place: &u64| *place >= newer.from;
            let begin = older.places.partition_point(are_known);
            newer.places.extend_from_slice(&older.places[begin..]);
            newer.from = older.from;
        }
        newer
    }

    /// Forgets what is older than so many places.
    fn cut(&mut self, places: usize) {
        if let Some(&newest) = self.places.get(places) {
            self.from = newest + 1;
            self.places.truncate(places);
        }
        self.places.shrink_to_fit();
    }

    /// What is kept of this range and those that were before, which do not meet. The narrowest give way, but not this
    /// one: who searches again is to come farther.
    fn among(self, others: Vec<Self>, oldest: u64) -> Vec<Self> {
        let (met, mut others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|range| range.meets(&self));
        let joined = met.into_iter().fold(self, Self::joined);
        others.retain(|range| range.to > oldest);
        others.sort_by_key(|range| Reverse(range.to - range.from));
        let ranges = iter::once(joined).chain(others);
        let mut ranges: Vec<_> = ranges.take(RANGES_KEPT_MAX).collect();
        let mut room = PATH_PLACES_KEPT_MAX;
        for range in &mut ranges {
            range.cut(room.min(RANGE_PLACES_MAX));
            room -= range.places.len();
        }
        ranges.retain(|range| range.from < range.to);
        ranges.sort_by_key(|range| range.from);
        ranges
    }
}

impl Default for StepCache {
    fn default() -> Self {
        Self {
            runs: byte_cache(HISTORY_STEPS_BYTES, 256, |_, run| {
                let paths: usize = run.paths.iter().map(|path| 16 + path.len()).sum();
                128 + run.steps.len() * size_of::<Step>() + paths
            }),
            touched: byte_cache(LAST_CHANGES_BYTES, 4096, |(_, path), ranges| {
                let places: usize = ranges.iter().map(|range| range.places.capacity()).sum();
                let ranges = ranges.capacity() * size_of::<Touched>();
                160 + path.as_str().len() + ranges + places * size_of::<u64>()
            }),
            adding: Mutex::default(),
        }
    }
}

impl StepCache {
    /// What is known of which steps of a branch touched a path: ranges that do not meet, the oldest first.
    pub(super) fn touched(&self, branch: u64, path: &FilePath) -> Vec<Touched> {
        let known = self.touched.get(&(branch, path.clone()));
        known.unwrap_or_default()
    }

    /// Adds what a search found to what is known by now, but for ranges before the `oldest` place.
    ///
    /// # Limits
    /// Four ranges, and of all together [`PATH_PLACES_KEPT_MAX`] places.
    pub(super) fn add(&self, branch: u64, path: &FilePath, found: Touched, oldest: u64) {
        let key = (branch, path.clone());
        let _adding = lock(&self.adding);
        let known = self.touched.peek(&key).unwrap_or_default();
        self.touched.insert(key, found.among(known, oldest));
    }

    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::weighed("history_steps", &self.runs),
            CacheUse::weighed("path_changes", &self.touched),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).unwrap()
    }

    /// A range in which every step touched the path.
    fn dense(from: u64, to: u64) -> Touched {
        Touched {
            from,
            to,
            places: (from..to).rev().collect(),
        }
    }

    fn known(steps: &StepCache, path: &FilePath) -> Vec<[u64; 2]> {
        let ranges = steps.touched(1, path);
        for range in &ranges {
            assert_eq!(range.places, dense(range.from, range.to).places);
        }
        ranges.iter().map(|range| [range.from, range.to]).collect()
    }

    #[test]
    fn ranges_that_meet_are_joined_and_the_widest_are_kept_beside_the_last() {
        let (steps, a) = (StepCache::default(), path("a"));
        for (from, to, expected) in [
            (10, 100, vec![[10, 100]]),
            (102, 104, vec![[10, 100], [102, 104]]),
            // It fills the gap.
            (100, 102, vec![[10, 104]]),
            // What is within another, and what reaches beyond one.
            (20, 30, vec![[10, 104]]),
            (90, 110, vec![[10, 110]]),
            (5, 20, vec![[5, 110]]),
            (1, 200, vec![[1, 200]]),
            (300, 330, vec![[1, 200], [300, 330]]),
            (400, 420, vec![[1, 200], [300, 330], [400, 420]]),
            (500, 510, vec![[1, 200], [300, 330], [400, 420], [500, 510]]),
            (600, 601, vec![[1, 200], [300, 330], [400, 420], [600, 601]]),
            (700, 705, vec![[1, 200], [300, 330], [400, 420], [700, 705]]),
            (200, 400, vec![[1, 420], [700, 705]]),
        ] {
            steps.add(1, &a, dense(from, to), 1);
            assert_eq!(known(&steps, &a), expected, "{from} to {to}");
        }
        // Of what was pruned nothing is kept.
        steps.add(1, &a, dense(900, 901), 420);
        assert_eq!(known(&steps, &a), [[700, 705], [900, 901]]);
    }

    #[test]
    fn the_most_that_is_kept_of_a_path_has_room() {
        let steps = StepCache::default();
        let segment = "s".repeat(255);
        let longest = path(&vec![segment; 16].join("/"));
        let most = RANGE_PLACES_MAX as u64;
        for first in [1, 100_000, 200_000] {
            steps.add(1, &longest, dense(first, first + most + 10), 1);
        }
        let expected = [11, 200_010].map(|from| [from, from + most]);
        assert_eq!(known(&steps, &longest), expected);
    }
}
