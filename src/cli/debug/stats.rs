//! What the store holds, counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measure::{Measure, Shape, Sizes};
use super::refs::{KeptAs, Refs, Standing};
use super::report;
use crate::base::id::Kind;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::running::progress::Progress;
use crate::cli::upkeep::collect::said;
use crate::cli::{Outcome, Result, Streams};
use crate::repo::Amount;

/// The counts.
#[derive(Debug, Default, Serialize)]
struct Stats {
    projects: u64,
    branches: u64,
    snapshots: u64,
    /// What can be restored.
    deleted: Deleted,
    /// By kind.
    objects: BTreeMap<&'static str, Held>,
    /// Blobs that are files of their own.
    large_blobs: u64,
    /// Bytes of all objects as they lie there.
    stored_bytes: u64,
    /// Those of them that heads need, that only older states need, and that nothing needs; `None` where
    /// damage keeps that from being known.
    live: Option<Amount>,
    old: Option<Amount>,
    unreachable: Option<Amount>,
    /// Bytes of all files of all heads.
    head_bytes: u64,
    /// Bytes of all files of all heads and snapshots, as if each were a copy, with those that are deleted.
    logical_bytes: u64,
    /// `logical_bytes` a stored byte.
    dedup_ratio: f64,
    node_bytes: Sizes,
    tree: Shape,
}

/// Deleted projects, and branches and snapshots that are deleted, by themselves or with their project.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Deleted {
    projects: u64,
    branches: u64,
    snapshots: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Held {
    count: u64,
    bytes: u64,
}

/// `debug stats`.
pub(super) fn run(opened: &OpenStore, json: bool, streams: &mut Streams<'_>) -> Result<Outcome> {
    let (stats, findings) = count(opened, streams)?;
    if json {
        output::write_json(streams.out, &stats)?;
    } else {
        show(&stats, streams)?;
    }
    report(&findings, streams)
}

fn count(opened: &OpenStore, streams: &mut Streams<'_>) -> Result<(Stats, Vec<String>)> {
    let store = opened.inspectable();
    let mut refs = Refs::read(store)?;
    let states = refs.states(store)?;
    let mut stats = Stats {
        projects: refs.projects(Standing::Living),
        deleted: Deleted {
            projects: refs.projects(Standing::Deleted),
            ..Deleted::default()
        },
        ..Stats::default()
    };
    for state in &states {
        let bytes = state.totals.bytes;
        let counted = match (state.kept_as, state.standing) {
            (KeptAs::Head, Standing::Living) => {
                stats.head_bytes = stats.head_bytes.saturating_add(bytes);
                &mut stats.branches
            }
            (KeptAs::Snapshot, Standing::Living) => &mut stats.snapshots,
            (KeptAs::Head, Standing::Deleted) => &mut stats.deleted.branches,
            (KeptAs::Snapshot, Standing::Deleted) => &mut stats.deleted.snapshots,
            (KeptAs::Parent, _) | (_, Standing::Forgotten) => continue,
        };
        *counted += 1;
        stats.logical_bytes = stats.logical_bytes.saturating_add(bytes);
    }
    stats.objects = Kind::ALL.map(|kind| (kind.name(), Held::default())).into();
    let mut progress = Progress::new(streams);
    let mut counted: u64 = 0;
    let mut node_bytes = BTreeMap::new();
    store.survey_objects(&mut |row| {
        let row = match row {
            Ok(row) => row,
            Err(fault) => return refs.findings.push(fault),
        };
        let held = stats.objects.entry(row.kind.name()).or_default();
        held.count += 1;
        held.bytes = held.bytes.saturating_add(row.size);
        stats.stored_bytes = stats.stored_bytes.saturating_add(row.size);
        stats.large_blobs += u64::from(!row.inline);
        if row.kind == Kind::Node {
            *node_bytes.entry(row.size).or_insert(0) += 1;
        }
        counted += 1;
        progress.say(|| format!("{counted} objects counted"));
    })?;
    stats.node_bytes = Sizes::of(&node_bytes);
    let mut measure = Measure::new(opened.projects.nodes());
    for state in states
        .iter()
        .filter(|state| (state.kept_as, state.standing) == (KeptAs::Head, Standing::Living))
    {
        progress.say(|| "measuring the trees of the heads".to_owned());
        measure.head(state.manifest);
    }
    stats.tree = measure.shape;
    match opened.weigh(|step| progress.say(|| said(step))) {
        Ok(weights) => {
            stats.live = Some(weights.live);
            stats.old = Some(weights.old);
            stats.unreachable = Some(weights.unreachable);
        }
        Err(error) => measure
            .findings
            .push(format!("what is needed cannot be told: {error}")),
    }
    refs.findings.append(&mut measure.findings);
    stats.dedup_ratio = ratio(stats.logical_bytes, stats.stored_bytes);
    Ok((stats, refs.findings))
}

fn show(stats: &Stats, streams: &mut Streams<'_>) -> Result<()> {
    let out = &mut streams.out;
    writeln!(
        out,
        "{} projects, {} branches, {} snapshots",
        stats.projects, stats.branches, stats.snapshots
    )?;
    let Deleted {
        projects,
        branches,
        snapshots,
    } = stats.deleted;
    writeln!(
        out,
        "deleted   {projects} projects, {branches} branches, {snapshots} snapshots, which can be restored"
    )?;
    for (kind, held) in &stats.objects {
        writeln!(
            out,
            "{kind:<9} {:>12} objects {:>18} bytes",
            held.count, held.bytes
        )?;
    }
    writeln!(out, "{} blobs are files of their own", stats.large_blobs)?;
    writeln!(out, "stored    {:>39} bytes", stats.stored_bytes)?;
    for (name, counted) in [
        ("live", stats.live),
        ("old", stats.old),
        ("unreached", stats.unreachable),
    ] {
        if let Some(Amount { objects, bytes }) = counted {
            writeln!(out, "{name:<9} {objects:>12} objects {bytes:>18} bytes")?;
        }
    }
    writeln!(out, "heads     {:>39} bytes", stats.head_bytes)?;
    writeln!(
        out,
        "logical   {:>39} bytes, heads and snapshots",
        stats.logical_bytes
    )?;
    writeln!(
        out,
        "dedup     {:>39.2} logical bytes a stored byte",
        stats.dedup_ratio
    )?;
    let Sizes {
        smallest,
        median,
        p99,
        largest,
    } = stats.node_bytes;
    writeln!(
        out,
        "nodes     of {smallest} to {largest} bytes, median {median}, 99 of 100 up to {p99}"
    )?;
    let Shape {
        levels,
        nodes_to_a_file,
    } = stats.tree;
    writeln!(
        out,
        "trees     folders of up to {levels} levels, up to {nodes_to_a_file} nodes from a head to a file"
    )?;
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio for people, of sizes far below 2^53"
)]
fn ratio(logical: u64, stored: u64) -> f64 {
    if stored == 0 {
        return 1.0;
    }
    logical as f64 / stored as f64
}
