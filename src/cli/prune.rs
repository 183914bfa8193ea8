//! Old snapshots, removed by rules.

use serde::Serialize;

use super::args::{ProjectKeep, Prune};
use super::collect::said;
use super::opened::Opened;
use super::output::{self, Listed};
use super::progress::Progress;
use super::{Result, Streams};
use crate::base::repo_id::RepoId;
use crate::repo::{Pruned, Retention};

/// A branch that is pruned, or would be.
#[derive(Debug, Serialize)]
struct Row {
    repo_id: String,
    branch: String,
    snapshots: u64,
    /// Only where it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    frees_bytes_max: Option<u64>,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &["REPO ID", "BRANCH", "SNAPSHOTS", "BYTES AT MOST"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.repo_id.clone(),
            self.branch.clone(),
            self.snapshots.to_string(),
            self.frees_bytes_max
                .map_or(String::new(), |bytes| bytes.to_string()),
        ]
    }
}

/// `prune`.
pub(super) fn prune(
    wish: &Prune,
    usual: Retention,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let mut progress = Progress::new(streams);
    let pruned =
        opened
            .repository
            .prune(&opened.store, usual, wish.dry_run, &opened.actor, |step| {
                progress.say(|| said(step));
            })?;
    drop(progress);
    let row = |pruned: Pruned| Row {
        repo_id: pruned.repo_id.to_string(),
        branch: pruned.branch.to_string(),
        snapshots: pruned.snapshots,
        frees_bytes_max: wish.dry_run.then_some(pruned.frees.bytes),
    };
    let rows: Vec<_> = pruned.into_iter().map(row).collect();
    output::list(streams.out, wish.json, &rows)
}

/// `project keep`.
pub(super) fn set_rule(
    wish: &ProjectKeep,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = RepoId::parse(&wish.repo_id)?;
    let keep = (!wish.as_service).then_some(Retention {
        snapshots: wish.snapshots.unwrap_or(0),
        days: wish.days.unwrap_or(0),
    });
    opened
        .project(&repo_id)?
        .set_retention(keep, &opened.actor)?;
    match keep {
        Some(keep) => writeln!(streams.out, "{repo_id} keeps {keep}")?,
        None => writeln!(streams.out, "{repo_id} keeps what the settings say")?,
    }
    Ok(())
}
