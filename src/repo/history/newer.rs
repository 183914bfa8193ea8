//! The states that a walk from the newest state back has come past.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::base::id::{ManifestId, Sha256};
use crate::repo::{Error, Project, Result, Revision};

/// States of a project, of each what tells its commit id: some hundred bytes.
///
/// Files that differ only in their modes have one commit id in two manifests, of equal totals.
#[derive(Debug, Default)]
pub(super) struct Newer {
    by_totals: HashMap<(u64, u64), SameTotals>,
    /// Until when digests are computed, by the time since the start; `None` where that may take as long as it takes.
    pub(super) until_ms: Option<i64>,
}

/// States with equal totals.
#[derive(Debug)]
enum SameTotals {
    One(ManifestId),
    Several(Box<Several>),
}

/// Their digests are computed when another such state is met.
#[derive(Debug, Default)]
struct Several {
    manifests: HashSet<ManifestId>,
    digests: HashSet<Sha256>,
    waiting: Vec<ManifestId>,
}

impl Newer {
    /// None yet, of a walk whose digests are to be computed by then.
    pub(super) fn until(until_ms: i64) -> Self {
        Self {
            until_ms: Some(until_ms),
            ..Self::default()
        }
    }

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_totals.is_empty()
    }

    pub(super) fn insert(&mut self, state: &Revision) {
        match self.by_totals.entry(totals(state)) {
            Entry::Vacant(none) => drop(none.insert(SameTotals::One(state.manifest()))),
            Entry::Occupied(mut same) => same.get_mut().insert(state.manifest()),
        }
    }

    /// True if one of them has the commit id of this state.
    ///
    /// # Errors
    /// [`Error::Unfinished`] when the time is over.
    pub(super) fn has(&mut self, state: &Revision) -> Result<bool> {
        let manifest = state.manifest();
        let until_ms = self.until_ms;
        match self.by_totals.get_mut(&totals(state)) {
            None => Ok(false),
            Some(SameTotals::One(one)) if *one == manifest => Ok(true),
            Some(SameTotals::One(one)) => {
                let of_one = digest_in_time(state, *one, until_ms)?;
                Ok(of_one == digest_in_time(state, manifest, until_ms)?)
            }
            Some(SameTotals::Several(several)) => {
                if several.manifests.contains(&manifest) {
                    return Ok(true);
                }
                while let Some(&next) = several.waiting.last() {
                    let digest = digest_in_time(state, next, until_ms)?;
                    several.digests.insert(digest);
                    several.waiting.pop();
                }
                let digest = digest_in_time(state, manifest, until_ms)?;
                Ok(several.digests.contains(&digest))
            }
        }
    }

    /// True if these two have one commit id, as [`Revision::has_commit_id_of`].
    ///
    /// # Errors
    /// [`Error::Unfinished`] when the time is over.
    pub(super) fn have_one_id(&self, one: &Revision, other: &Revision) -> Result<bool> {
        if one.manifest() != other.manifest() && totals(one) == totals(other) {
            for state in [one, other] {
                digest_in_time(state, state.manifest(), self.until_ms)?;
            }
        }
        one.has_commit_id_of(other)
    }
}

impl SameTotals {
    fn insert(&mut self, manifest: ManifestId) {
        match self {
            Self::One(one) if *one == manifest => {}
            Self::One(one) => {
                let both = [*one, manifest];
                *self = Self::Several(Box::new(Several {
                    manifests: both.into(),
                    digests: HashSet::new(),
                    waiting: both.into(),
                }));
            }
            Self::Several(several) => {
                if several.manifests.insert(manifest) {
                    several.waiting.push(manifest);
                }
            }
        }
    }
}

impl Revision {
    /// True if this state has the commit id of another: if they differ in nothing but the modes of files. The
    /// digests are computed only of two that may.
    pub fn has_commit_id_of(&self, other: &Self) -> Result<bool> {
        Ok(self.manifest() == other.manifest()
            || totals(self) == totals(other) && self.sha256()? == other.sha256()?)
    }
}

/// # Errors
/// [`Error::Unfinished`] when the time is over in which digests of states of this project are computed, or its history
/// is searched.
pub(super) fn require_time(project: &Project, until_ms: Option<i64>) -> Result<()> {
    let is_over = |until_ms| project.projects.clock().uptime_ms() >= until_ms;
    if until_ms.is_some_and(is_over) {
        return Err(Error::Unfinished);
    }
    Ok(())
}

/// What tells apart most states without their digests.
fn totals(state: &Revision) -> (u64, u64) {
    let totals = state.totals();
    (totals.files, totals.bytes)
}

/// The digest of this or another state of the same project. What memory has takes no time.
fn digest_in_time(state: &Revision, manifest: ManifestId, until_ms: Option<i64>) -> Result<Sha256> {
    let digests = &state.project.projects.shared.digests;
    if let Some(known) = digests.known(manifest) {
        return Ok(known);
    }
    require_time(&state.project, until_ms)?;
    digests.compute(state.branch, manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_takes_little_memory() {
        assert!(size_of::<((u64, u64), SameTotals)>() <= 56);
    }
}
