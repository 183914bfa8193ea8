//! The branches of a project.

use serde::Serialize;

use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Result, Streams, names};
use crate::repo::Branch;

/// A branch as it is listed.
#[derive(Serialize)]
struct Row {
    name: String,
    default: bool,
    short_id: String,
    commit_id: String,
    files: u64,
    bytes: u64,
    snapshots: u64,
    created_at: String,
    updated_at: String,
    updated_by: String,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "BRANCH",
        "SHORT ID",
        "FILES",
        "BYTES",
        "SNAPSHOTS",
        "UPDATED",
        "BY",
        "DEFAULT",
    ];

    fn cells(&self) -> Vec<String> {
        let default = if self.default { "default" } else { "" };
        vec![
            self.name.clone(),
            self.short_id.clone(),
            self.files.to_string(),
            self.bytes.to_string(),
            self.snapshots.to_string(),
            self.updated_at.clone(),
            self.updated_by.clone(),
            default.to_owned(),
        ]
    }
}

/// `branch list`.
pub(super) fn list(
    repo_id: &str,
    json: bool,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let project = opened.project(&names::repo_id(repo_id)?)?;
    let branches = project.branches()?;
    let default = Branch::default_of(&branches);
    let mut rows = Vec::new();
    for branch in &branches {
        let digest = branch.head().digest()?;
        let totals = branch.totals();
        rows.push(Row {
            name: branch.name().to_string(),
            default: default.is_some_and(|default| default.name() == branch.name()),
            short_id: digest.short_id().to_owned(),
            commit_id: digest.commit_id().to_owned(),
            files: totals.files,
            bytes: totals.bytes,
            snapshots: branch.kept_snapshots()?,
            created_at: branch.created_at().to_string(),
            updated_at: branch.updated_at().to_string(),
            updated_by: branch.updated_by().to_owned(),
        });
    }
    output::list(streams.out, json, &rows)
}
