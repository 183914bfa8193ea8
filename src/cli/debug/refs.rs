//! Every project, branch and head, read record by record, so that a damaged one hides no other.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::report;
use crate::base::branch_name::BranchName;
use crate::base::id::ManifestId;
use crate::base::repo_id::RepoId;
use crate::cli::opened::Opened;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Outcome, Result, Streams};
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, DeletedRecord, ProjectRecord, SnapshotRecord};
use crate::store;
use crate::store::inspection::Inspectable;
use crate::store::{Record, Scan, StoreError};

/// Records that are asked for at once.
const RECORDS_AT_ONCE: usize = 1000;

/// A project and one of its branches; a project without any stands alone.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reference {
    project: u64,
    repo_id: String,
    branch: Option<String>,
    #[serde(skip)]
    number: u64,
    manifest: Option<ManifestId>,
    snapshots: u64,
    #[serde(skip)]
    last_there: u64,
    files: u64,
    bytes: u64,
}

/// A state that a head or a snapshot keeps.
pub(super) struct State {
    /// Its manifest.
    pub(super) manifest: ManifestId,
    /// What its record says that is in it.
    pub(super) totals: Totals,
    /// True for a head.
    pub(super) is_head: bool,
    /// True for a state of what is deleted and can be restored.
    pub(super) is_deleted: bool,
}

/// Everything that keeps a state, and what could not be read.
#[derive(Default)]
pub(super) struct Refs {
    /// Projects and branches.
    pub(super) references: Vec<Reference>,
    /// Those that are deleted and can be restored, with the branches of a deleted project.
    pub(super) deleted: Vec<Reference>,
    /// How many projects there are.
    pub(super) projects: u64,
    /// How many deleted ones.
    pub(super) deleted_projects: u64,
    /// What is wrong, a sentence each.
    pub(super) findings: Vec<String>,
}

impl Listed for Reference {
    const HEADINGS: &'static [&'static str] = &[
        "PROJECT",
        "REPO ID",
        "BRANCH",
        "SNAPSHOTS",
        "FILES",
        "BYTES",
        "MANIFEST",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.project.to_string(),
            self.repo_id.clone(),
            self.branch.clone().unwrap_or_default(),
            self.snapshots.to_string(),
            self.files.to_string(),
            self.bytes.to_string(),
            self.manifest.map(|id| id.to_string()).unwrap_or_default(),
        ]
    }
}

/// `debug refs`.
pub(super) fn run(opened: &Opened, json: bool, streams: &mut Streams<'_>) -> Result<Outcome> {
    let refs = Refs::read(opened.inspectable())?;
    output::list(streams.out, json, &refs.references)?;
    report(&refs.findings, streams)
}

impl Refs {
    /// Reads them all.
    pub(super) fn read(store: &dyn Inspectable) -> Result<Self> {
        let mut refs = Self::default();
        for record in refs.records(store, key::PROJECTS)? {
            let project = refs.decode::<ProjectRecord>(&record);
            let (Some(project), Some(number)) = (project, refs.number_in(&record)) else {
                continue;
            };
            refs.projects += 1;
            let (branches, deleted) = refs.read_branches(store, number, &project)?;
            refs.references.extend(branches);
            refs.deleted.extend(deleted);
        }
        for record in refs.records(store, key::DELETED_PROJECTS)? {
            let kept = refs.decode::<DeletedRecord<ProjectRecord>>(&record);
            let (Some(kept), Some(number)) = (kept, refs.number_in(&record)) else {
                continue;
            };
            // Of one that is being forgotten some records are gone.
            if !kept.forgetting {
                refs.deleted_projects += 1;
                let (branches, deleted) = refs.read_branches(store, number, &kept.record)?;
                refs.deleted.extend(branches.into_iter().chain(deleted));
            }
        }
        refs.references
            .sort_by(|a, b| (&a.repo_id, &a.branch).cmp(&(&b.repo_id, &b.branch)));
        Ok(refs)
    }

    /// The branches of a project, and those of them that are deleted.
    fn read_branches(
        &mut self,
        store: &dyn Inspectable,
        project: u64,
        record: &ProjectRecord,
    ) -> Result<(Vec<Reference>, Vec<Reference>)> {
        let repo_id = record.repo_id.as_str();
        let (mut branches, mut deleted) = (Vec::new(), Vec::new());
        let records = self.records(store, &key::branches(project))?;
        for record in &records {
            let branch = self.decode::<BranchRecord>(record);
            let (Some(branch), Some(number)) = (branch, self.number_in(record)) else {
                continue;
            };
            branches.push(Reference::new(project, repo_id, number, &branch));
        }
        if records.is_empty() {
            branches.push(Reference {
                project,
                repo_id: repo_id.to_owned(),
                branch: None,
                number: 0,
                manifest: None,
                snapshots: 0,
                last_there: 0,
                files: 0,
                bytes: 0,
            });
        }
        for record in self.records(store, &key::deleted_branches(project))? {
            let kept = self.decode::<DeletedRecord<BranchRecord>>(&record);
            let (Some(kept), Some(number)) = (kept, self.number_in(&record)) else {
                continue;
            };
            if !kept.forgetting {
                deleted.push(Reference::new(project, repo_id, number, &kept.record));
            }
        }
        Ok((branches, deleted))
    }

    /// The number of a branch.
    pub(super) fn branch(&self, repo_id: &RepoId, name: &BranchName) -> Option<u64> {
        let mut named = self.references.iter().filter(|at| {
            at.repo_id == repo_id.as_str() && at.branch.as_deref() == Some(name.as_str())
        });
        named.next().map(|at| at.number)
    }

    /// The snapshots of a branch with their numbers, which rise.
    pub(super) fn snapshots(
        &mut self,
        store: &dyn Inspectable,
        branch: u64,
    ) -> Result<Vec<(u64, SnapshotRecord)>> {
        let records = self.records(store, &key::snapshots(branch))?;
        let read = records.iter().filter_map(|record| {
            let snapshot = self.decode::<SnapshotRecord>(record);
            Some((self.number_in(record)?, snapshot?))
        });
        Ok(read.collect())
    }

    /// Every state that a head or a snapshot keeps, also of what is deleted.
    pub(super) fn states(&mut self, store: &dyn Inspectable) -> Result<Vec<State>> {
        let mut states = Vec::new();
        let living = self.references.iter().map(|at| (at, false));
        let branches: Vec<_> = living
            .chain(self.deleted.iter().map(|at| (at, true)))
            .filter_map(|(at, is_deleted)| Some((at.manifest?, at.clone(), is_deleted)))
            .collect();
        for (manifest, at, is_deleted) in branches {
            states.push(State {
                manifest,
                totals: at.totals(),
                is_head: true,
                is_deleted,
            });
            let snapshots = self.snapshots(store, at.number)?;
            let all = last_of(&snapshots) == at.snapshots && at.follow(&snapshots);
            if !all && !at.is_moving(store, &snapshots)? {
                self.findings.push(format!(
                    "branch {}: its snapshots are not all up to the {} it counts",
                    at.number, at.snapshots
                ));
            }
            states.extend(snapshots.into_iter().map(|(_, snapshot)| State {
                manifest: snapshot.manifest,
                totals: snapshot.totals.into(),
                is_head: false,
                is_deleted,
            }));
        }
        Ok(states)
    }

    /// The records under a prefix. Where the way to them is damaged, those that a walk over all
    /// records meets.
    fn records(&mut self, store: &dyn Inspectable, prefix: &str) -> Result<Vec<Arc<Record>>> {
        let error = match in_order(store, prefix) {
            Err(
                error @ (StoreError::Engine(_)
                | StoreError::DamagedEngine { .. }
                | StoreError::DamagedRecord { .. }),
            ) => error,
            records => return Ok(records?),
        };
        if let StoreError::Engine(source) | StoreError::DamagedEngine { source, .. } = error {
            self.findings
                .push(format!("records \"{prefix}…\": database: {source}"));
        }
        let mut met = Vec::new();
        store.survey_records(&mut |record| match record {
            Ok(record) if record.key.starts_with(prefix) => met.push(Arc::new(record)),
            Ok(_) => {}
            // Each walk meets it again.
            Err(fault) if self.findings.contains(&fault) => {}
            Err(fault) => self.findings.push(fault),
        })?;
        met.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(met)
    }

    fn decode<T: DeserializeOwned>(&mut self, record: &Record) -> Option<T> {
        match serde_json::from_slice(&record.value) {
            Ok(value) => Some(value),
            Err(source) => {
                let key = record.key.clone();
                let error = StoreError::DamagedRecord { key, source };
                self.findings.push(error.to_string());
                None
            }
        }
    }

    fn number_in(&mut self, record: &Record) -> Option<u64> {
        let number = number_in(&record.key);
        if number.is_none() {
            self.findings.push(format!(
                "record \"{}\": its key ends in no number",
                record.key
            ));
        }
        number
    }
}

impl Reference {
    fn new(project: u64, repo_id: &str, number: u64, branch: &BranchRecord) -> Self {
        let totals = Totals::from(branch.totals);
        Self {
            project,
            repo_id: repo_id.to_owned(),
            branch: Some(branch.name.to_string()),
            number,
            manifest: Some(branch.manifest),
            snapshots: branch.snapshots,
            last_there: branch.last_there(),
            files: totals.files,
            bytes: totals.bytes,
        }
    }

    fn totals(&self) -> Totals {
        Totals {
            files: self.files,
            bytes: self.bytes,
            ..Totals::default()
        }
    }

    /// True if none is lost between these snapshots of the branch. Of those that came from an older
    /// system some may not have been there: then the one state came when the other was replaced.
    fn follow(&self, snapshots: &[(u64, SnapshotRecord)]) -> bool {
        snapshots.windows(2).all(|pair| {
            let [(number, one), (next, other)] = pair else {
                return true;
            };
            *next == number + 1
                || *next <= self.last_there
                    && (one.created_at, &one.created_by) == (other.reached_at, &other.reached_by)
        })
    }

    /// True if these snapshots of the branch are what saves have made of them since it was read, or it
    /// was deleted, restored or forgotten meanwhile.
    fn is_moving(
        &self,
        store: &dyn Inspectable,
        snapshots: &[(u64, SnapshotRecord)],
    ) -> Result<bool> {
        let deleted = store.record(&key::deleted_branch(self.project, self.number))?;
        let deleted = deleted.and_then(|record| {
            serde_json::from_slice::<DeletedRecord<BranchRecord>>(&record.value).ok()
        });
        let living = store.record(&key::branch(self.project, self.number))?;
        let now = match (living, deleted) {
            (None, None) => return Ok(true),
            (None, Some(kept)) if kept.forgetting => return Ok(true),
            (None, Some(kept)) => kept.record.snapshots,
            (Some(record), _) => {
                serde_json::from_slice::<BranchRecord>(&record.value).map_or(0, |now| now.snapshots)
            }
        };
        Ok((self.snapshots..=now).contains(&last_of(snapshots)) && self.follow(snapshots))
    }
}

/// The number of the last snapshot, 0 where there is none.
fn last_of(snapshots: &[(u64, SnapshotRecord)]) -> u64 {
    snapshots.last().map_or(0, |(number, _)| *number)
}

/// The records under a prefix in the order of their keys, some at a time.
fn in_order(store: &dyn Inspectable, prefix: &str) -> store::Result<Vec<Arc<Record>>> {
    let mut records: Vec<Arc<Record>> = Vec::new();
    loop {
        let after = records.last().cloned();
        let some = store.scan(Scan {
            after: after.as_ref().map(|last| last.key.as_str()),
            limit: RECORDS_AT_ONCE,
            ..Scan::prefix(prefix)
        })?;
        let is_last = some.len() < RECORDS_AT_ONCE;
        records.extend(some);
        if is_last {
            return Ok(records);
        }
    }
}

/// The number that ends a key.
fn number_in(key: &str) -> Option<u64> {
    let digits = key.rsplit('/').next()?;
    u64::from_str_radix(digits, 16).ok()
}
