//! Reads everything back: every object against its id, every state down to its blobs.

use std::collections::BTreeSet;
use std::io;

use super::super::opened::Opened;
use super::super::output;
use super::super::progress::Progress;
use super::super::{Outcome, Result, Streams};
use super::object::digests_of;
use super::refs::Refs;
use crate::base::digest::byte_count;
use crate::base::id::{Kind, ObjectId};
use crate::manifest::check::Checker;
use crate::store::{Body, ObjectRow, Store, StoreError};

/// Rows read at once.
const PAGE_ROWS: usize = 1000;

/// `debug check`.
pub(super) fn run(opened: &Opened, json: bool, streams: &mut Streams<'_>) -> Result<Outcome> {
    let (objects, states, findings) = check(opened, streams)?;
    if json {
        output::write_json(streams.out, &findings)?;
    } else {
        for finding in &findings {
            writeln!(streams.out, "{finding}")?;
        }
        let count = findings.len();
        writeln!(
            streams.out,
            "{objects} objects and {states} states checked, {count} findings"
        )?;
    }
    Ok(if findings.is_empty() {
        Outcome::Fine
    } else {
        Outcome::Findings
    })
}

/// How many objects and states were checked, and what is wrong. One fault that is met on several
/// ways is one finding.
fn check(opened: &Opened, streams: &mut Streams<'_>) -> Result<(u64, usize, BTreeSet<String>)> {
    let store = opened.store.as_ref();
    // The states are read first: what they name was committed before, so it must be there after.
    let mut refs = Refs::read(store)?;
    let states = refs.states(store)?;
    let mut findings = refs.findings;
    let mut progress = Progress::new(streams);

    let mut objects = 0;
    each_row(store, &mut findings, |row| {
        objects += 1;
        progress.say(|| format!("{objects} objects read back"));
        fault_of(store, row)
    })?;

    let nodes = opened.repository.nodes();
    let mut checker = Checker::new(nodes);
    for (index, state) in states.iter().enumerate() {
        progress.say(|| format!("{index} of {} states walked", states.len()));
        checker.manifest(state.manifest);
        // A manifest that cannot be read is a finding of the checker's.
        if let Ok(manifest) = nodes.manifest(state.manifest)
            && (manifest.totals.files, manifest.totals.bytes)
                != (state.totals.files, state.totals.bytes)
        {
            findings.push(format!(
                "manifest {}: a head or snapshot that names it counts other files or bytes",
                state.manifest
            ));
        }
    }
    for blob in &checker.blobs {
        let id = ObjectId::from(*blob);
        if !store.contains(id)? {
            findings.push(StoreError::Missing { id }.to_string());
        }
    }
    findings.append(&mut checker.findings);
    Ok((objects, states.len(), findings.into_iter().collect()))
}

/// Calls with every object's row, in pages. What it answers, and rows that cannot be read, are
/// findings.
pub(super) fn each_row(
    store: &dyn Store,
    findings: &mut Vec<String>,
    mut visit: impl FnMut(&ObjectRow) -> Option<String>,
) -> Result<()> {
    let mut after = None;
    let mut limit = PAGE_ROWS;
    loop {
        match store.object_rows(after, limit) {
            Ok(rows) => {
                let Some(last) = rows.last() else {
                    return Ok(());
                };
                after = Some(last.id);
                limit = PAGE_ROWS;
                findings.extend(rows.iter().filter_map(&mut visit));
            }
            // A damaged row fails its whole page: the page is read row by row up to it.
            Err(StoreError::Damaged { .. }) if limit > 1 => limit = 1,
            Err(error @ StoreError::Damaged { id, .. }) => {
                findings.push(error.to_string());
                after = Some(id);
                limit = PAGE_ROWS;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What is wrong with an object's bytes, if anything.
fn fault_of(store: &dyn Store, row: &ObjectRow) -> Option<String> {
    let damaged = |reason: &str| {
        let error = StoreError::Damaged {
            kind: row.kind,
            id: row.id,
            reason: reason.to_owned(),
        };
        Some(error.to_string())
    };
    let stored = match store.object(row.id) {
        // It was collected meanwhile.
        Ok(None) => return None,
        Ok(Some(stored)) => stored,
        Err(error) => return Some(error.to_string()),
    };
    match (&stored.body, row.kind) {
        (Body::Inline(bytes), Kind::Node | Kind::Manifest) => {
            if crate::base::digest::object_id(row.kind, bytes) != row.id {
                return damaged("its row holds other bytes");
            }
            if byte_count(bytes) != row.size {
                return damaged("its row says another length");
            }
            None
        }
        (Body::Large(_), Kind::Node | Kind::Manifest) => damaged("it lies in a file"),
        (body, Kind::Blob) => {
            let place = if row.inline { "row" } else { "file" };
            let digests = match digests_of(&stored) {
                Ok(digests) => digests,
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    return damaged("its file is shorter than its row says");
                }
                Err(e) => return damaged(&format!("its {place} cannot be read: {e}")),
            };
            if ObjectId::from(digests.blob) != row.id {
                return damaged(&format!("its {place} holds other bytes"));
            }
            if matches!(body, Body::Inline(bytes) if byte_count(bytes) != row.size) {
                return damaged("its row says another length");
            }
            if stored.sha256 != Some(digests.sha256) {
                return damaged("its row's SHA-256 is not that of its bytes");
            }
            None
        }
    }
}
