//! Projects and branches whose own record is gone, found by the records that belong to them.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::cli::Result;
use crate::object::key;
use crate::store;
use crate::store::inspection::Inspectable;
use crate::store::{Record, Scan, Store, StoreError, Values, Version};

/// Keys that are asked for at once.
const KEYS_AT_ONCE: usize = 1000;

/// A project or a branch, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Project(u64),
    Branch(u64),
}

/// What a walk over all records tells of their owners.
///
/// # Limits
/// Memory of about 150 bytes for each project and each branch.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    /// Those that have a record, be it that of their deletion: of what is forgotten that one goes last.
    there: HashSet<Owner>,
    /// The first record by its key that belongs to each, with its version.
    belongings: HashMap<Owner, (String, Version)>,
}

impl Orphans {
    /// Takes a record; in whatever order they come.
    pub(super) fn meet(&mut self, record: &Record) {
        self.there.extend(described_by(&record.key));
        for owner in owners_of(record).into_iter().flatten() {
            if !self.there.contains(&owner) {
                let belonging = || (record.key.clone(), record.version);
                let first = self.belongings.entry(owner).or_insert_with(belonging);
                if record.key < first.0 {
                    *first = belonging();
                }
            }
        }
    }

    /// A sentence for each owner that is gone and was not when the walk began. It is looked for again: beside
    /// a daemon it may have come behind the walk, or may be gone now with all that belonged to it.
    pub(super) fn findings(mut self, store: &dyn Inspectable) -> Result<Vec<String>> {
        self.belongings
            .retain(|owner, _| !self.there.contains(owner));
        let mut findings = Vec::new();
        if self.belongings.is_empty() {
            return Ok(findings);
        }
        // A restoration between the first two of each moves a record back.
        for prefix in [
            key::PROJECTS,
            key::DELETED_PROJECTS,
            key::PROJECTS,
            key::BRANCHES,
            key::DELETED_BRANCHES,
            key::BRANCHES,
        ] {
            if !self.look_under(prefix, store)? {
                return Ok(findings);
            }
        }
        for (owner, (key, version)) in self.belongings {
            if self.there.contains(&owner) {
                continue;
            }
            let belonging = readable(store.record(&key))?.flatten();
            if belonging.is_some_and(|now| now.version == version) {
                findings.push(format!(
                    "{owner}: its record is gone, and record \"{key}\" belongs to it"
                ));
            }
        }
        Ok(findings)
    }

    /// Looks which owners have a record under a prefix, damaged or not. False if that cannot be told.
    fn look_under(&mut self, prefix: &str, store: &dyn Inspectable) -> Result<bool> {
        let store: &dyn Store = store;
        for some in store.pages(Scan {
            limit: KEYS_AT_ONCE,
            values: Values::Unread,
            ..Scan::prefix(prefix)
        }) {
            let Some(some) = readable(some)? else {
                return Ok(false);
            };
            let described = some.iter().filter_map(|record| described_by(&record.key));
            self.there.extend(described);
        }
        Ok(true)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project(number) => write!(f, "project {number}"),
            Self::Branch(number) => write!(f, "branch {number}"),
        }
    }
}

/// What was read. `None` where damage is in the way, which the walk over all records has told.
pub(super) fn readable<T>(read: store::Result<T>) -> Result<Option<T>> {
    match read {
        Err(
            StoreError::Engine(_)
            | StoreError::DamagedEngine { .. }
            | StoreError::DamagedRecord { .. },
        ) => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// The project or the branch whose own record has this key.
fn described_by(key: &str) -> Option<Owner> {
    let (kind, numbers) = key.split_once('/')?;
    let owner = match kind {
        "project" | "deleted-project" => Owner::Project,
        "branch" | "deleted-branch" => Owner::Branch,
        _ => return None,
    };
    let (_, number) = numbers.rsplit_once('/').unwrap_or(("", numbers));
    number_in(number).map(owner)
}

/// The project and the branch to which a record belongs. A commit id tells neither: one that was on its way
/// when its branch was forgotten may stay behind, and harms nothing.
fn owners_of(record: &Record) -> [Option<Owner>; 2] {
    let Some((kind, rest)) = record.key.split_once('/') else {
        return [None; 2];
    };
    let (above, _) = rest.split_once('/').unwrap_or((rest, ""));
    let above = number_in(above);
    let named = || Some(*record.decode::<u64>().ok()?.value);
    match kind {
        "branch" | "deleted-branch" => [above.map(Owner::Project), None],
        "branch-name" => [above.map(Owner::Project), named().map(Owner::Branch)],
        "project-id" => [named().map(Owner::Project), None],
        "snapshot" => [above.map(Owner::Branch), None],
        _ => [None; 2],
    }
}

/// A number in a key.
pub(super) fn number_in(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}
