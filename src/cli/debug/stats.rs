//! What the store holds, counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::opened::Opened;
use super::super::output;
use super::super::progress::Progress;
use super::super::{Outcome, Result, Streams};
use super::check::each_row;
use super::refs::Refs;
use super::report;
use crate::base::id::Kind;

/// The counts.
#[derive(Debug, Default, Serialize)]
struct Stats {
    projects: u64,
    branches: u64,
    snapshots: u64,
    /// By kind.
    objects: BTreeMap<&'static str, Held>,
    /// Blobs that are files of their own.
    large_blobs: u64,
    /// Bytes of all objects as they lie there.
    stored_bytes: u64,
    /// Bytes of all files of all heads.
    head_bytes: u64,
    /// Bytes of all files of all heads and snapshots, as if each were a copy.
    logical_bytes: u64,
    /// `logical_bytes` a stored byte.
    dedup_ratio: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Held {
    count: u64,
    bytes: u64,
}

/// `debug stats`.
pub(super) fn run(opened: &Opened, json: bool, streams: &mut Streams<'_>) -> Result<Outcome> {
    let (stats, findings) = count(opened, streams)?;
    if json {
        output::write_json(streams.out, &stats)?;
    } else {
        show(&stats, streams)?;
    }
    report(&findings, streams)
}

fn count(opened: &Opened, streams: &mut Streams<'_>) -> Result<(Stats, Vec<String>)> {
    let store = opened.store.as_ref();
    let mut refs = Refs::read(store)?;
    let states = refs.states(store)?;
    let mut stats = Stats {
        projects: refs.projects,
        ..Stats::default()
    };
    for state in &states {
        stats.logical_bytes = stats.logical_bytes.saturating_add(state.totals.bytes);
        if state.is_head {
            stats.branches += 1;
            stats.head_bytes = stats.head_bytes.saturating_add(state.totals.bytes);
        } else {
            stats.snapshots += 1;
        }
    }
    stats.objects = Kind::ALL.map(|kind| (kind.name(), Held::default())).into();
    let mut progress = Progress::new(streams);
    let mut counted: u64 = 0;
    each_row(store, &mut refs.findings, |row| {
        let held = stats.objects.entry(row.kind.name()).or_default();
        held.count += 1;
        held.bytes += row.size;
        stats.stored_bytes += row.size;
        stats.large_blobs += u64::from(!row.inline);
        counted += 1;
        progress.say(|| format!("{counted} objects counted"));
        None
    })?;
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
    for (kind, held) in &stats.objects {
        writeln!(
            out,
            "{kind:<9} {:>12} objects {:>18} bytes",
            held.count, held.bytes
        )?;
    }
    writeln!(out, "{} blobs are files of their own", stats.large_blobs)?;
    writeln!(out, "stored    {:>39} bytes", stats.stored_bytes)?;
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
