//! A branch: its head, found and listed.

use std::sync::Arc;

use super::{CountLimits, Error, Missing, Overview, Project, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::reads::Reads;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, SnapshotRecord};
use crate::store::{
    Changed, ExternalSigns, Folder, Record, Scan, StoreError, Values, Version, Versioned, Watch,
};

/// Of these the first that a project has is its default branch, else its first by name (specification
/// section 2).
const DEFAULT_NAMES: [&str; 2] = ["master", "main"];
/// Keys of snapshots that are read at once.
const SNAPSHOT_KEYS_AT_ONCE: usize = 1000;

/// A branch with its head as it was when it was read.
#[derive(Clone, Debug)]
pub struct Branch {
    pub(super) project: Project,
    pub(super) number: u64,
    pub(super) version: Version,
    pub(super) record: Arc<BranchRecord>,
}

/// Sorts first what is the default branch.
fn default_order(name: &BranchName) -> (usize, &BranchName) {
    let place = DEFAULT_NAMES.iter().position(|each| *each == name.as_str());
    (place.unwrap_or(DEFAULT_NAMES.len()), name)
}

impl Project {
    /// All branches, in the byte order of their names.
    pub fn branches(&self) -> Result<Vec<Branch>> {
        let prefix = key::branches(self.number());
        let mut branches = Vec::new();
        for record in self.projects.store().folder(&prefix)?.iter() {
            branches.push(self.branch_of(record.number(), record.decode()?));
        }
        branches.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(branches)
    }

    /// Those of all branches whose records can be read; of the others the log of the service tells.
    pub(super) fn branches_sound(&self) -> Result<Vec<Branch>> {
        let prefix = key::branches(self.number());
        let records = self.projects.store().scan(Scan {
            values: Values::Sound,
            ..Scan::prefix(&prefix)
        })?;
        let branch =
            |record: &Arc<Record>| Some(self.branch_of(record.number(), record.decode_sound()?));
        Ok(records.iter().filter_map(branch).collect())
    }

    /// The branch of this name.
    ///
    /// # Errors
    /// [`Missing::Branch`].
    pub fn branch(&self, name: &BranchName) -> Result<Branch> {
        let name_key = key::branch_name(self.number(), name.as_str());
        let number = self.projects.store().value::<u64>(&name_key)?;
        let number = number.ok_or(Error::missing(Missing::Branch))?.value;
        // One that was renamed since its name was read is there no more under this one.
        let branch = self.branch_by_number(*number)?;
        branch
            .filter(|branch| branch.name() == name)
            .ok_or(Error::missing(Missing::Branch))
    }

    /// The names of all branches. No branch is read.
    pub fn branch_names(&self) -> Result<BranchNames> {
        let prefix = key::branch_names(self.number());
        Ok(BranchNames {
            folder: self.projects.store().folder(&prefix)?,
            prefix_bytes: prefix.len(),
        })
    }

    /// Refuses one branch more than the project may have.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn check_branch_count(&self) -> Result<()> {
        let limits = self.projects.count_limits;
        if limits == CountLimits::NONE {
            return Ok(());
        }
        limits.check_branches(self.branch_names()?.len() as u64)
    }

    /// The branches of these names, by their places among `names`, in the given order; one that was
    /// deleted meanwhile is left out.
    pub fn open_branches(
        &self,
        names: &BranchNames,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Branch>> {
        let opened = places.into_iter().map(|place| {
            let number = names.folder[place].decode::<u64>()?.value;
            self.branch_by_number(*number)
        });
        opened.filter_map(Result::transpose).collect()
    }

    /// The branch that is meant where none is named (specification section 2).
    pub fn default_branch(&self) -> Result<Option<Branch>> {
        self.default_among(&self.branch_names()?)
    }

    /// The default branch of those that have these names, so that a list of them has it whatever came meanwhile.
    pub fn default_among(&self, names: &BranchNames) -> Result<Option<Branch>> {
        let preferred = DEFAULT_NAMES.iter().filter_map(|name| names.place_of(name));
        for place in preferred.chain(0..names.len()) {
            // One that was deleted since its name was read is not it.
            if let Some(branch) = self.open_branches(names, [place])?.pop() {
                return Ok(Some(branch));
            }
        }
        Ok(None)
    }

    /// The name of the default branch.
    pub fn default_branch_name(&self) -> Result<Option<String>> {
        Ok(self
            .default_branch()?
            .map(|branch| branch.name().to_string()))
    }

    /// A number that stays the same as long as no branch of the project changes, is made or deleted.
    pub fn branches_state(&self) -> Result<u64> {
        let prefix = key::branches(self.number());
        Ok(self.projects.store().folder_state(&prefix)?)
    }

    /// What it holds, all branches together.
    ///
    /// # Limits
    /// Of the projects that were asked about last it is kept until one of their branches changes: it reads the records
    /// of all branches. Whoever asks meanwhile waits for it.
    pub fn overview(&self) -> Result<Overview> {
        // First: what changes while they are read makes the next state.
        let branches = (self.number(), self.branches_state()?);
        let overviews = &self.projects.shared.overviews;
        overviews.get_or_look(branches, || self.look_over())
    }

    fn look_over(&self) -> Result<Overview> {
        let mut overview = Overview {
            default_branch: None,
            branches: 0,
            files: 0,
            bytes: 0,
            updated_at: self.created_at(),
            updated_by: None,
        };
        let mut last = None;
        let prefix = key::branches(self.number());
        for record in self.projects.store().folder(&prefix)?.iter() {
            let branch = record.decode::<BranchRecord>()?.value;
            let totals = Totals::from(branch.totals);
            overview.branches += 1;
            overview.files += totals.files;
            overview.bytes += totals.bytes;
            if last < Some(branch.updated_at) {
                last = Some(branch.updated_at);
                overview.updated_by = Some(branch.updated_by.clone());
            }
            let is_before = |other: &BranchName| default_order(&branch.name) < default_order(other);
            if overview.default_branch.as_ref().is_none_or(is_before) {
                overview.default_branch = Some(branch.name.clone());
            }
        }
        overview.updated_at = overview.updated_at.max(last.unwrap_or_default());
        Ok(overview)
    }

    /// When any of its branches last changed, or when it was made.
    pub fn updated_at(&self) -> Result<Timestamp> {
        Ok(self.overview()?.updated_at)
    }

    /// Calls `changed` after each change of a branch or of what is said of it, when it is made or
    /// deleted, and sometimes without a cause, until the watches are dropped. What is read from now on is
    /// the state of before a call or that of after it.
    pub fn watch_branch(&self, name: &BranchName, changed: &Changed) -> Result<[Watch; 2]> {
        let store = self.projects.store();
        // The names, for with another branch the default may become another.
        let of_names = vec![
            key::branch_names(self.number()),
            key::project(self.number()),
        ];
        let of_names = store.watch(of_names, changed);
        let name_key = key::branch_name(self.number(), name.as_str());
        // A branch that takes the name later comes with a change of the names.
        let of_branch = match store.value::<u64>(&name_key)? {
            Some(number) => vec![key::branch(self.number(), *number.value)],
            None => Vec::new(),
        };
        Ok([of_names, store.watch(of_branch, changed)])
    }

    /// As [`Project::watch_branch`], for all branches of the project.
    pub fn watch_branches(&self, changed: &Changed) -> Watch {
        let keys = vec![key::branches(self.number()), key::project(self.number())];
        self.projects.store().watch(keys, changed)
    }

    /// Waits, and holds no thread meanwhile, until [`Project::look_beside`] needs nothing but memory; `None` where it
    /// does now.
    pub fn catch_up(&self) -> Option<impl Future<Output = Result<()>> + Send + use<>> {
        let caught_up = self.projects.store().catch_up(Reads::Bounded)?;
        Some(async { Ok(caught_up.await?) })
    }

    /// Looks whether another process has written, and tells who watches. Who reads does so anyway; where
    /// somebody waits and nobody reads it must be done now and then, or after each of
    /// [`Project::external_signs`].
    pub fn look_beside(&self) -> Result<()> {
        self.projects.store().external_writes()?;
        Ok(())
    }

    /// Signs that somebody writes, of this project or another; see [`crate::store::Store::external_signs`].
    pub fn external_signs(&self) -> Option<ExternalSigns> {
        self.projects.store().external_signs()
    }

    pub(super) fn branch_by_number(&self, number: u64) -> Result<Option<Branch>> {
        let store = self.projects.store();
        let record = store.value(&key::branch(self.number(), number))?;
        Ok(record.map(|record| self.branch_of(number, record)))
    }

    pub(super) fn branch_of(&self, number: u64, record: Versioned<BranchRecord>) -> Branch {
        Branch {
            project: self.clone(),
            number,
            version: record.version,
            record: record.value,
        }
    }
}

/// The names of a project's branches in their byte order, as the index of names has them.
#[derive(Clone, Debug)]
pub struct BranchNames {
    folder: Folder,
    prefix_bytes: usize,
}

impl BranchNames {
    /// True if the name at this place was that of this branch, and is so now.
    pub fn is_of(&self, place: usize, branch: &Branch) -> bool {
        let number = self.folder[place].decode::<u64>();
        self.name(place) == branch.name().as_str()
            && number.is_ok_and(|number| *number.value == branch.number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.folder.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.folder.is_empty()
    }

    /// The names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.folder
            .iter()
            .map(|record| &record.key[self.prefix_bytes..])
    }

    /// The name at a place below [`BranchNames::len`].
    pub fn name(&self, place: usize) -> &str {
        &self.folder[place].key[self.prefix_bytes..]
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let found = self
            .folder
            .binary_search_by(|record| record.key[self.prefix_bytes..].cmp(name));
        found.ok()
    }
}

impl Branch {
    /// The default branch of a project that has these (specification section 2).
    pub fn default_of(branches: &[Branch]) -> Option<&Branch> {
        branches
            .iter()
            .min_by_key(|branch| default_order(branch.name()))
    }

    /// The project that it belongs to.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Its name.
    pub fn name(&self) -> &BranchName {
        &self.record.name
    }

    /// What its head holds.
    pub fn totals(&self) -> Totals {
        self.record.totals.into()
    }

    /// The number of its last snapshot, which is how many were taken of it unless an older system had lost some.
    pub fn snapshot_count(&self) -> u64 {
        self.record.snapshots
    }

    /// How many of its snapshots are there: none that was pruned, or that an older system had lost.
    pub fn kept_snapshots(&self) -> Result<u64> {
        let Some(oldest) = self.oldest_snapshot()? else {
            return Ok(0);
        };
        let (migrated, last) = (self.last_migrated(), self.snapshot_count());
        Ok(if oldest > migrated {
            last.saturating_add(1).saturating_sub(oldest)
        } else {
            self.kept_migrated(oldest)? + last.saturating_sub(migrated)
        })
    }

    /// The number of the oldest of its newest so many snapshots; of none, the number after the last.
    pub(super) fn oldest_of_newest(&self, count: u64) -> Result<u64> {
        let (migrated, last) = (self.last_migrated(), self.snapshot_count());
        let by_number = last.saturating_add(1).saturating_sub(count);
        if by_number > migrated {
            return Ok(by_number);
        }
        let above = last.saturating_sub(migrated);
        Ok(self.pass_migrated(count - above)?.1)
    }

    /// The number of the last snapshot that came from an older system, 0 if none did. Above it no number is missing.
    fn last_migrated(&self) -> u64 {
        self.record.migrated_snapshots.unwrap_or(0)
    }

    /// How many snapshots that came from an older system are there.
    fn kept_migrated(&self, oldest: u64) -> Result<u64> {
        let counts = &self.project.projects.shared.kept_migrated;
        let ends = (oldest, self.last_migrated());
        if let Some((of, count)) = counts.get(&self.number)
            && of == ends
        {
            return Ok(count);
        }
        let (count, _) = self.pass_migrated(u64::MAX)?;
        counts.insert(self.number, (ends, count));
        Ok(count)
    }

    /// Passes the snapshots that came from an older system, the newest first, so many at most. Gives how many it
    /// passed, and the number of the last one, 0 without any.
    fn pass_migrated(&self, most: u64) -> Result<(u64, u64)> {
        let beyond = key::snapshot(self.number, self.last_migrated().saturating_add(1));
        let (mut passed, mut number) = (0, 0);
        for records in self.project.projects.store().pages(Scan {
            after: Some(&beyond),
            descending: true,
            limit: SNAPSHOT_KEYS_AT_ONCE,
            values: Values::Unread,
            ..Scan::prefix(&key::snapshots(self.number))
        }) {
            for record in records? {
                passed += 1;
                number = record.number();
                if passed == most {
                    return Ok((passed, number));
                }
            }
        }
        Ok((passed, number))
    }

    /// The number of the oldest of its snapshots that is there; `None` if none is.
    pub(super) fn oldest_snapshot(&self) -> Result<Option<u64>> {
        if self.snapshot_count() == 0 {
            return Ok(None);
        }
        let projects = &self.project.projects;
        let (store, firsts) = (projects.store(), &projects.shared.first_snapshots);
        // They go from the oldest on, and memory has the record of the first as long as it stays.
        let mut first = firsts.get(&self.number).unwrap_or(1);
        let is_there = match store.record(&key::snapshot(self.number, first)) {
            Err(StoreError::DamagedRecord { .. }) => true,
            record => record?.is_some(),
        };
        if !is_there {
            let found = store.scan(Scan {
                limit: 1,
                values: Values::Unread,
                ..Scan::prefix(&key::snapshots(self.number))
            })?;
            let Some(found) = found.first() else {
                return Ok(None);
            };
            first = found.number();
            firsts.insert(self.number, first);
        }
        Ok(Some(first))
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// When it came into the state of its head.
    pub fn updated_at(&self) -> Timestamp {
        self.record.updated_at
    }

    /// Who brought it there.
    pub fn updated_by(&self) -> &str {
        &self.record.updated_by
    }

    /// The state it is in.
    pub fn head(&self) -> Revision {
        Revision::new(
            &self.project,
            self.number,
            self.record.manifest,
            self.totals(),
        )
        .at(self.record.snapshots + 1)
    }

    /// The state that a snapshot holds.
    ///
    /// # Errors
    /// [`Missing::Snapshot`], also for one that is newer than the head.
    pub fn snapshot(&self, version: SnapshotVersion) -> Result<Revision> {
        if version.number() > self.snapshot_count() {
            return Err(Error::missing(Missing::Snapshot));
        }
        let store = self.project.projects.store();
        let record =
            store.value::<SnapshotRecord>(&key::snapshot(self.number, version.number()))?;
        let record = record.ok_or(Error::missing(Missing::Snapshot))?.value;
        Ok(Revision::new(
            &self.project,
            self.number,
            record.manifest,
            record.totals.into(),
        )
        .fixed()
        .at(version.number()))
    }
}
