//! The snapshots of a branch, read record by record, so that a damaged one hides no other.

use serde::Serialize;

use super::refs::Refs;
use super::{parts, report};
use crate::base::id::ManifestId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Error, Outcome, Result, Streams, names};
use crate::object::node::Totals;
use crate::object::record::{Operation, SnapshotRecord};

/// A snapshot.
#[derive(Serialize)]
struct Row {
    version: SnapshotVersion,
    created_at: String,
    created_by: String,
    operation: Operation,
    path: Option<String>,
    message: Option<String>,
    reached_at: String,
    reached_by: String,
    files: u64,
    bytes: u64,
    manifest: ManifestId,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "VERSION",
        "CREATED",
        "BY",
        "OPERATION",
        "FILES",
        "BYTES",
        "MANIFEST",
        "PATH",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.version.to_string(),
            self.created_at.clone(),
            self.created_by.clone(),
            self.operation.to_string(),
            self.files.to_string(),
            self.bytes.to_string(),
            self.manifest.to_string(),
            self.path.clone().unwrap_or_default(),
        ]
    }
}

impl Row {
    fn new(number: u64, record: SnapshotRecord) -> Self {
        let totals = Totals::from(record.totals);
        Self {
            version: SnapshotVersion::new(number),
            created_at: record.created_at.to_string(),
            created_by: record.created_by,
            operation: record.operation,
            path: record.path,
            message: record.message,
            reached_at: record.reached_at.to_string(),
            reached_by: record.reached_by,
            files: totals.files,
            bytes: totals.bytes,
            manifest: record.manifest,
        }
    }
}

/// `debug history`.
pub(super) fn run(
    opened: &OpenStore,
    target: &str,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let (repo_id, branch) = parts(target, "BRANCH")?;
    let branch = names::branch(branch)?;
    let store = opened.inspectable();
    let mut refs = Refs::read(store)?;
    let Some(number) = refs.branch(store, &repo_id, &branch)? else {
        let said = match report(&refs.findings, streams)? {
            Outcome::Fine => format!("there is no branch {branch} in {repo_id}"),
            _ => format!(
                "no record that can be read tells of a branch {branch} in {repo_id}; it may be among what \
                 is damaged"
            ),
        };
        return Err(Error::Failed(said));
    };
    let mut rows = Vec::new();
    for (number, record) in refs.snapshots(store, number)? {
        rows.push(Row::new(number, record));
    }
    rows.reverse();
    output::list(streams.out, json, &rows)?;
    report(&refs.findings, streams)
}
