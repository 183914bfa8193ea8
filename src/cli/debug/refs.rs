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
use crate::object::record::{BranchRecord, ProjectRecord, SnapshotRecord};
use crate::store::sqlite::SqliteStore;
use crate::store::{Record, Scan, Store, StoreError};

/// A project and one of its branches; a project without any stands alone.
#[derive(Debug, Serialize)]
pub(super) struct Reference {
    project: u64,
    repo_id: String,
    branch: Option<String>,
    #[serde(skip)]
    number: u64,
    manifest: Option<ManifestId>,
    snapshots: u64,
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
}

/// Everything that keeps a state, and what could not be read.
#[derive(Default)]
pub(super) struct Refs {
    /// Projects and branches.
    pub(super) references: Vec<Reference>,
    /// How many projects there are.
    pub(super) projects: u64,
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
    let refs = Refs::read(&opened.store)?;
    output::list(streams.out, json, &refs.references)?;
    report(&refs.findings, streams)
}

impl Refs {
    /// Reads them all.
    pub(super) fn read(store: &SqliteStore) -> Result<Self> {
        let mut refs = Self::default();
        for record in refs.records(store, key::PROJECTS)? {
            let project = refs.decode::<ProjectRecord>(&record);
            let (Some(project), Some(number)) = (project, refs.number_in(&record)) else {
                continue;
            };
            refs.projects += 1;
            refs.read_branches(store, number, project.repo_id.as_str())?;
        }
        refs.references
            .sort_by(|a, b| (&a.repo_id, &a.branch).cmp(&(&b.repo_id, &b.branch)));
        Ok(refs)
    }

    fn read_branches(&mut self, store: &SqliteStore, project: u64, repo_id: &str) -> Result<()> {
        let records = self.records(store, &key::branches(project))?;
        for record in &records {
            let branch = self.decode::<BranchRecord>(record);
            let (Some(branch), Some(number)) = (branch, self.number_in(record)) else {
                continue;
            };
            let totals = Totals::from(branch.totals);
            self.references.push(Reference {
                project,
                repo_id: repo_id.to_owned(),
                branch: Some(branch.name.to_string()),
                number,
                manifest: Some(branch.manifest),
                snapshots: branch.snapshots,
                files: totals.files,
                bytes: totals.bytes,
            });
        }
        if records.is_empty() {
            self.references.push(Reference {
                project,
                repo_id: repo_id.to_owned(),
                branch: None,
                number: 0,
                manifest: None,
                snapshots: 0,
                files: 0,
                bytes: 0,
            });
        }
        Ok(())
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
        store: &SqliteStore,
        branch: u64,
    ) -> Result<Vec<(u64, SnapshotRecord)>> {
        let records = self.records(store, &key::snapshots(branch))?;
        let read = records.iter().filter_map(|record| {
            let snapshot = self.decode::<SnapshotRecord>(record);
            Some((self.number_in(record)?, snapshot?))
        });
        Ok(read.collect())
    }

    /// Every state that a head or a snapshot keeps.
    pub(super) fn states(&mut self, store: &SqliteStore) -> Result<Vec<State>> {
        let mut states = Vec::new();
        let branches: Vec<_> = self
            .references
            .iter()
            .filter_map(|at| {
                Some((
                    at.manifest?,
                    at.project,
                    at.number,
                    at.snapshots,
                    at.totals(),
                ))
            })
            .collect();
        for (manifest, project, branch, count, totals) in branches {
            states.push(State {
                manifest,
                totals,
                is_head: true,
            });
            let snapshots = self.snapshots(store, branch)?;
            let numbers: Vec<_> = snapshots.iter().map(|(number, _)| *number).collect();
            if !numbers.iter().copied().eq(1..=count)
                && !is_moving(store, &key::branch(project, branch), count, &numbers)?
            {
                self.findings.push(format!(
                    "branch {branch}: its snapshots are not v0001 to the {count} it counts"
                ));
            }
            states.extend(snapshots.into_iter().map(|(_, snapshot)| State {
                manifest: snapshot.manifest,
                totals: snapshot.totals.into(),
                is_head: false,
            }));
        }
        Ok(states)
    }

    /// The records under a prefix. Where the way to them is damaged, those that a walk over all
    /// records meets.
    fn records(&mut self, store: &SqliteStore, prefix: &str) -> Result<Vec<Arc<Record>>> {
        let error = match store.scan(Scan::prefix(prefix)) {
            Err(error @ (StoreError::Database(_) | StoreError::DamagedRecord { .. })) => error,
            records => return Ok(records?),
        };
        if let StoreError::Database(error) = error {
            self.findings
                .push(format!("records \"{prefix}…\": database: {error}"));
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
    fn totals(&self) -> Totals {
        Totals {
            files: self.files,
            bytes: self.bytes,
            ..Totals::default()
        }
    }
}

/// True if the snapshots of a branch, which counted so many when it was read, are what saves or the
/// deletion of the branch have made of them meanwhile.
fn is_moving(store: &SqliteStore, branch: &str, count: u64, numbers: &[u64]) -> Result<bool> {
    let Some(record) = store.record(branch)? else {
        return Ok(true);
    };
    let now = serde_json::from_slice::<BranchRecord>(&record.value).map_or(0, |now| now.snapshots);
    let last = numbers.last().copied().unwrap_or(0);
    Ok(numbers.iter().copied().eq(1..=last) && (count..=now).contains(&last))
}

/// The number that ends a key.
fn number_in(key: &str) -> Option<u64> {
    let digits = key.rsplit('/').next()?;
    u64::from_str_radix(digits, 16).ok()
}
