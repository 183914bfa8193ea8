//! Every project, branch and head, read record by record, so that a damaged one hides no other.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::opened::Opened;
use super::super::output::{self, Listed};
use super::super::{Outcome, Result, Streams};
use super::report;
use crate::base::id::ManifestId;
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{BranchRecord, ProjectRecord, SnapshotRecord};
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
    let refs = Refs::read(opened.store.as_ref())?;
    output::list(streams.out, json, &refs.references)?;
    report(&refs.findings, streams)
}

impl Refs {
    /// Reads them all.
    pub(super) fn read(store: &dyn Store) -> Result<Self> {
        let mut refs = Self::default();
        for record in store.scan(Scan::prefix(key::PROJECTS))? {
            let project = refs.decode::<ProjectRecord>(&record);
            let (Some(project), Some(number)) = (project, refs.number_in(&record)) else {
                continue;
            };
            refs.projects += 1;
            refs.read_branches(store, number, &project.repo_id)?;
        }
        refs.references
            .sort_by(|a, b| (&a.repo_id, &a.branch).cmp(&(&b.repo_id, &b.branch)));
        Ok(refs)
    }

    fn read_branches(&mut self, store: &dyn Store, project: u64, repo_id: &str) -> Result<()> {
        let records = store.scan(Scan::prefix(&key::branches(project)))?;
        for record in &records {
            let branch = self.decode::<BranchRecord>(record);
            let (Some(branch), Some(number)) = (branch, self.number_in(record)) else {
                continue;
            };
            let totals = Totals::from(branch.totals);
            self.references.push(Reference {
                project,
                repo_id: repo_id.to_owned(),
                branch: Some(branch.name),
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

    /// Every state that a head or a snapshot keeps.
    pub(super) fn states(&mut self, store: &dyn Store) -> Result<Vec<State>> {
        let mut states = Vec::new();
        let branches: Vec<_> = self
            .references
            .iter()
            .filter_map(|at| Some((at.manifest?, at.number, at.snapshots, at.totals())))
            .collect();
        for (manifest, branch, snapshots, totals) in branches {
            states.push(State {
                manifest,
                totals,
                is_head: true,
            });
            let records = store.scan(Scan::prefix(&key::snapshots(branch)))?;
            for record in &records {
                if let Some(snapshot) = self.decode::<SnapshotRecord>(record) {
                    states.push(State {
                        manifest: snapshot.manifest,
                        totals: snapshot.totals.into(),
                        is_head: false,
                    });
                }
            }
            if !numbered_from_one(&records, snapshots) {
                self.findings.push(format!(
                    "branch {branch}: its snapshots are not v0001 to the {snapshots} it counts"
                ));
            }
        }
        Ok(states)
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
                "record «{}»: its key ends in no number",
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

/// The number that ends a key.
fn number_in(key: &str) -> Option<u64> {
    let digits = key.rsplit('/').next()?;
    u64::from_str_radix(digits, 16).ok()
}

fn numbered_from_one(records: &[Record], count: u64) -> bool {
    let numbers = records.iter().filter_map(|record| number_in(&record.key));
    numbers.eq(1..=count)
}
