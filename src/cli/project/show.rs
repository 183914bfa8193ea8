//! One project, at a glance.

use serde::Serialize;

use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::visible;
use crate::cli::{Result, Streams, names};
use crate::repo::Branch;

/// A project, as JSON.
#[derive(Serialize)]
struct Shown {
    repo_id: String,
    id: u64,
    owner: Option<String>,
    default_branch: Option<String>,
    branches: usize,
    /// Of all heads.
    files: u64,
    bytes: u64,
    snapshots: u64,
    /// Which snapshots stay; `None` where the settings say.
    keeps: Option<String>,
    created_at: String,
    updated_at: String,
}

/// `project show`.
pub(super) fn show(
    repo_id: &str,
    json: bool,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let project = opened.project(&names::repo_id(repo_id)?)?;
    let owner = opened.accounts.by_number(project.owner())?;
    let branches = project.branches()?;
    let snapshots = branches.iter().map(Branch::kept_snapshots);
    let snapshots = snapshots.sum::<crate::repo::Result<u64>>()?;
    let sum = |count: fn(&Branch) -> u64| branches.iter().map(count).sum::<u64>();
    let shown = Shown {
        repo_id: project.repo_id().to_string(),
        id: project.number(),
        owner: owner.map(|account| account.name().to_owned()),
        default_branch: project.default_branch_name()?,
        branches: branches.len(),
        files: sum(|branch| branch.totals().files),
        bytes: sum(|branch| branch.totals().bytes),
        snapshots,
        keeps: project.retention().map(|keep| keep.to_string()),
        created_at: project.created_at().to_string(),
        updated_at: project.updated_at()?.to_string(),
    };
    if json {
        return output::write_json(streams.out, &shown);
    }
    let default = shown.default_branch.unwrap_or_default();
    let keeps = shown
        .keeps
        .unwrap_or_else(|| "what the settings say".to_owned());
    for (name, value) in [
        ("project", shown.repo_id),
        ("id", shown.id.to_string()),
        ("owner", shown.owner.unwrap_or_default()),
        ("default branch", default),
        ("branches", shown.branches.to_string()),
        ("files", format!("{}, {} bytes", shown.files, shown.bytes)),
        ("snapshots", shown.snapshots.to_string()),
        ("keeps", keeps),
        ("created", shown.created_at),
        ("updated", shown.updated_at),
    ] {
        writeln!(streams.out, "{name:15} {}", visible(&value))?;
    }
    Ok(())
}
