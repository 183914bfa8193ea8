//! A walk back through the states of a branch, which finds of each step whether it touched what lies at a path.
//!
//! A snapshot says which path a save or a deletion changed right after it, so most of a history is passed without a
//! look into a tree; where it does not say, or snapshots are missing between two, what lies at the path is compared.

use super::step_cache::{Run, Step};
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::may_block;
use crate::manifest::{Nodes, lookup};
use crate::repo::{Result, Revision};

/// The state to which a walk has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetState {
    manifest: ManifestId,
    place: Option<u64>,
    entry: Entry,
}

/// What lies at the path in the state that was met last.
#[derive(Clone, Copy, Debug)]
enum Entry {
    NotLookedAt,
    Known(Option<lookup::Found>),
}

/// What was found of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// True if it touched the path.
    pub(super) touches: bool,
    /// True if what lies there was looked up for that.
    pub(super) is_compared: bool,
}

impl MetState {
    /// Begins a walk at a state.
    pub(super) fn of(state: &Revision) -> Self {
        Self {
            manifest: state.manifest(),
            place: state.place(),
            entry: Entry::NotLookedAt,
        }
    }

    /// Goes back over the next older step that is known, to the state that it replaced. `told` says whether the one
    /// path that the step changed is within, `None` if it may have changed any. It is believed where this step led to
    /// the state that was met; else what is missing in between counts as changed by the step.
    pub(super) fn pass(
        &mut self,
        step: &Step,
        told: Option<bool>,
        nodes: &Nodes,
        path: &FilePath,
    ) -> Result<Passed> {
        let is_next = self.place == Some(step.place + 1);
        let passed = match told {
            _ if step.from == self.manifest => Passed {
                touches: false,
                is_compared: false,
            },
            Some(within) if is_next => {
                if within {
                    self.entry = Entry::NotLookedAt;
                }
                Passed {
                    touches: within,
                    is_compared: false,
                }
            }
            _ => Passed {
                touches: self.differs(step.from, nodes, path)?,
                is_compared: true,
            },
        };
        (self.manifest, self.place) = (step.from, Some(step.place));
        Ok(passed)
    }

    /// True if what lies at the path in an older state is not what lies in the one that was met.
    fn differs(&mut self, older: ManifestId, nodes: &Nodes, path: &FilePath) -> Result<bool> {
        let entry = may_block(|| entry_in(older, nodes, path))?;
        let after = match self.entry {
            Entry::Known(known) => known,
            Entry::NotLookedAt => may_block(|| entry_in(self.manifest, nodes, path))?,
        };
        self.entry = Entry::Known(entry);
        Ok(entry != after)
    }
}

/// Of the paths that the steps of a run changed, by their numbers, which are this one or below it.
pub(super) fn changed_within(run: &Run, path: &FilePath) -> Vec<bool> {
    let paths = run.paths.iter();
    paths.map(|changed| path.is_or_holds(changed)).collect()
}

fn entry_in(state: ManifestId, nodes: &Nodes, path: &FilePath) -> Result<Option<lookup::Found>> {
    let root = nodes.manifest(state)?.root;
    Ok(lookup::path(nodes, root, path)?)
}
