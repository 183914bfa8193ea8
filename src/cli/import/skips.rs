//! What an import leaves out: the first by name, all by number.

use std::collections::BTreeMap;

use crate::cli::output::{counted, visible_path};
use crate::cli::running::progress::Progress;
use crate::repo::{ImportStep, Skip};

/// How many are named, unless all are wanted.
const NAMED: u64 = 20;

/// What was left out so far.
#[derive(Debug)]
pub(super) struct Skips {
    /// What a name is told after.
    said: &'static str,
    names_all: bool,
    counts: BTreeMap<Skip, u64>,
    excluded: u64,
}

impl Skips {
    pub(super) fn new(said: &'static str, names_all: bool) -> Self {
        Self {
            said,
            names_all,
            counts: BTreeMap::new(),
            excluded: 0,
        }
    }

    /// Counts what is left out, and names it.
    pub(super) fn meet(&mut self, step: ImportStep<'_>, progress: &mut Progress<'_>) {
        match step {
            ImportStep::Skipped { path, skip, reason } => {
                if self.names_all || self.skipped() < NAMED {
                    let (said, path) = (self.said, visible_path(path));
                    progress.tell(&format!("{said} {path}: {reason}"));
                }
                *self.counts.entry(skip).or_default() += 1;
            }
            ImportStep::Excluded { .. } => self.excluded += 1,
            ImportStep::Taken { .. } | ImportStep::Reading { .. } => {}
        }
    }

    /// How many of a kind.
    pub(super) fn count(&self, skip: Skip) -> u64 {
        self.counts.get(&skip).copied().unwrap_or_default()
    }

    /// How many were left out as the patterns say.
    pub(super) fn excluded(&self) -> u64 {
        self.excluded
    }

    fn skipped(&self) -> u64 {
        self.counts.values().sum()
    }

    /// All by kind, and whether some were not named; `None` if nothing was left out.
    pub(super) fn summary(&self) -> Option<String> {
        let mut kinds: Vec<_> = self
            .counts
            .iter()
            .map(|(skip, count)| kind(*skip, *count))
            .collect();
        if self.excluded > 0 {
            kinds.push(format!("{} excluded", self.excluded));
        }
        if kinds.is_empty() {
            return None;
        }
        let kinds = kinds.join(", ");
        Some(if self.names_all || self.skipped() <= NAMED {
            kinds
        } else {
            format!("{kinds}; the first {NAMED} are named, all with --verbose")
        })
    }
}

fn kind(skip: Skip, count: u64) -> String {
    match skip {
        Skip::Link => counted(count, "symbolic link", "symbolic links"),
        Skip::Special => counted(count, "special file", "special files"),
        Skip::Name => counted(count, "impossible name", "impossible names"),
        Skip::TooLarge => format!("{count} too large"),
        Skip::Unreadable => format!("{count} unreadable"),
    }
}
