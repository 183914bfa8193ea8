//! The states that are kept, by the records that keep them.

use serde::Deserialize;

use crate::base::id::ManifestId;
use crate::object::key;
use crate::object::record::ParentRecord;
use crate::store::collection::Collectable;
use crate::store::{Record, Result};

/// What every record under [`key::STATES`] has.
#[derive(Deserialize)]
struct Keeper {
    manifest: ManifestId,
    last: Option<LastChange>,
}

/// What last changed a branch: its history needs the state before.
#[derive(Deserialize)]
struct LastChange {
    parent: Option<ParentRecord>,
}

/// States, by what keeps them, in the order of the records: those of a branch follow each other, and share nearly
/// all with their neighbours. Each is named once at least.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// Those of heads, also of deleted branches.
    pub(super) heads: Vec<ManifestId>,
    /// Those before the last change of a branch, and those of snapshots.
    pub(super) old: Vec<ManifestId>,
}

impl Roots {
    /// Reads all of one moment.
    ///
    /// # Errors
    /// [`crate::store::StoreError::DamagedRecord`]: what that kept is not known.
    ///
    /// # Limits
    /// Memory of 32 bytes for each head and snapshot.
    pub(super) fn read(store: &impl Collectable) -> Result<Self> {
        let mut roots = Self::default();
        store.visit_at_once(&key::STATES, &mut |record| roots.add(record))?;
        Ok(roots)
    }

    /// How many they are, where one that is named again counts again.
    pub(super) fn count(&self) -> usize {
        self.heads.len() + self.old.len()
    }

    fn add(&mut self, record: &Record) -> Result<()> {
        let keeper: Keeper =
            serde_json::from_slice(&record.value).map_err(|source| record.damaged(source))?;
        if record.key.starts_with(key::SNAPSHOTS) {
            self.add_old(keeper.manifest);
        } else {
            self.heads.push(keeper.manifest);
        }
        if let Some(parent) = keeper.last.and_then(|last| last.parent) {
            self.add_old(parent.manifest);
        }
        Ok(())
    }

    fn add_old(&mut self, state: ManifestId) {
        if self.old.last() != Some(&state) {
            self.old.push(state);
        }
    }
}
