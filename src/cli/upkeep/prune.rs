//! Old snapshots, removed by rules.

use clap::Args;
use serde::Serialize;

use super::collect::said;
use crate::cli::open_store::OpenStore;
use crate::cli::output::{self, Listed, counted, named};
use crate::cli::running::progress::Progress;
use crate::cli::settings::{Flags, PRUNE};
use crate::cli::{Result, Streams};
use crate::repo::{Execution, Project, Pruned, Pruning, Retention};
use crate::store::engine::Engine;

#[derive(Debug, Args)]
pub(in crate::cli) struct Prune {
    /// Only say what would be removed, and how much room the next `gc` could give back for it
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<PRUNE>,
}

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
pub(in crate::cli) fn prune(
    args: &Prune,
    usual: Retention,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let mut progress = Progress::new(streams);
    let step = |step| progress.say(|| said(step));
    let (projects, actor) = (&opened.projects, &opened.actor);
    let execution = Execution::of(args.dry_run);
    let Pruning { branches, failed } = match opened.engine() {
        Engine::Embedded(store) => projects.prune(store.as_ref(), usual, execution, actor, step),
        #[cfg(feature = "fleet")]
        Engine::Postgres(store) => projects.prune(store.as_ref(), usual, execution, actor, step),
    }?;
    drop(progress);
    let row = |pruned: Pruned| Row {
        repo_id: pruned.repo_id.to_string(),
        branch: pruned.branch.to_string(),
        snapshots: pruned.snapshots,
        frees_bytes_max: args.dry_run.then_some(pruned.frees.bytes),
    };
    let rows: Vec<_> = branches.into_iter().map(row).collect();
    let mut written = output::list(streams.out, args.json, &rows);
    if !args.json {
        written = written.and_then(|()| tell_own_rules(usual, opened, streams));
    }
    if !args.dry_run && !rows.is_empty() {
        written = output::of_change(written, streams.out, None);
    }
    // What failed is more than what could not be told.
    failed.map_or(written, |error| Err(error.into()))
}

/// Says which projects may keep more than this rule would, so that nobody waits for room that they do not give.
fn tell_own_rules(usual: Retention, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let keeps_more = |project: &Project| {
        let own = project.retention();
        own.is_some_and(|own| may_keep_more(own, usual))
    };
    let keeping = opened.projects.all_that(keeps_more)?;
    if keeping.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = keeping.iter().map(|it| it.repo_id().as_str()).collect();
    let count = counted(
        names.len() as u64,
        "project may keep more by its own rule",
        "projects may keep more by their own rules",
    );
    writeln!(
        streams.out,
        "{count}: {}; \"siteconf project show\" tells the rule of one, \"siteconf project keep\" changes it",
        named(&names)
    )?;
    Ok(())
}

/// True if a rule may keep what another lets go. One without a number keeps all.
fn may_keep_more(rule: Retention, other: Retention) -> bool {
    let keeps_all = |rule: Retention| rule == Retention::default();
    let is_longer = rule.snapshots > other.snapshots || rule.days > other.days;
    !keeps_all(other) && (keeps_all(rule) || is_longer)
}
