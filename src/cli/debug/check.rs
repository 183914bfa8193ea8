//! Looks for what is missing, left over or not as it must be, in every state down to its blobs.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::refs::Refs;
use super::shown::{digests_of, fault_of};
use super::{embedded, outcome, records};
use crate::base::digest::object_id;
use crate::base::id::{BlobId, Kind, ObjectId};
use crate::cli::engine::key_file_in;
use crate::cli::first_start::KeyState;
use crate::cli::opened::Opened;
use crate::cli::output;
use crate::cli::progress::Progress;
use crate::cli::{Outcome, Result, Streams};
use crate::manifest::check::{Checker, unreadable};
use crate::object::node::FileEntry;
use crate::store::sqlite::{Readable, SqliteStore};
use crate::store::{Body, ObjectRow, Store, StoreError, StoredObject};

/// What was looked at, and what is wrong with it.
#[derive(Default, Serialize)]
struct Report {
    deep: bool,
    objects: u64,
    states: usize,
    files: usize,
    /// A sentence each; a fault that is met on several ways is one finding.
    findings: BTreeSet<String>,
    /// What takes room and harms nothing.
    remarks: BTreeSet<String>,
}

/// `debug check`.
pub(super) fn run(
    opened: &Opened,
    deep: bool,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let mut check = Check {
        opened,
        report: Report {
            deep,
            ..Report::default()
        },
        blobs: HashSet::new(),
        large: HashSet::new(),
    };
    check.run(&mut Progress::new(streams))?;
    let report = check.report;
    if json {
        output::write_json(streams.out, &report)?;
    } else {
        for finding in &report.findings {
            writeln!(streams.out, "{finding}")?;
        }
        for remark in &report.remarks {
            writeln!(streams.out, "remark: {remark}")?;
        }
        let read_back = if deep { ", read back whole" } else { "" };
        writeln!(
            streams.out,
            "{} objects, {} states and {} files of blobs checked{read_back}; {} findings",
            report.objects,
            report.states,
            report.files,
            report.findings.len()
        )?;
    }
    Ok(outcome(report.findings.is_empty()))
}

struct Check<'a> {
    opened: &'a Opened,
    report: Report,
    /// Blobs whose row was met and is sound.
    blobs: HashSet<BlobId>,
    /// Those of them that are files.
    large: HashSet<ObjectId>,
}

impl Check<'_> {
    /// The order matters beside a daemon: what a state names was there before the state, and a file
    /// before its row.
    fn run(&mut self, progress: &mut Progress<'_>) -> Result<()> {
        let store = embedded(self.opened)?;
        // As a backup does: what a collection removes meanwhile would look lost. Beside one that runs
        // already, states that are pruned during the check may.
        let _no_collection = store.data_folder().lock_for_backup();
        self.report.findings.extend(store.lost_commits()?);
        let deep = self.report.deep;
        let of_records = records::findings(self.opened, deep, progress)?;
        self.report.findings.extend(of_records);
        let key_file = key_file_in(store.data_folder());
        let key = KeyState::read(key_file, store, &self.opened.accounts);
        let fault = key.map_or_else(|e| Some(e.to_string()), |key| key.fault());
        self.report.findings.extend(fault);
        let files = self.files(store);
        let mut checker = Checker::new(self.opened.repository.nodes());
        self.states(store, &mut checker, progress)?;
        let Checker {
            blobs, findings, ..
        } = checker;
        self.report.findings.extend(findings);

        store.survey_objects(&mut |row| {
            let objects = self.report.objects;
            progress.say(|| format!("{objects} objects checked"));
            self.row(row, |id| blobs.get(&id));
        })?;
        for id in blobs.keys().filter(|id| !self.blobs.contains(id)) {
            let finding = match store.object(ObjectId::from(*id)) {
                Ok(Some(_)) => continue,
                Ok(None) => StoreError::Missing { id: (*id).into() }.to_string(),
                Err(e) => unreadable(Kind::Blob, (*id).into(), &e),
            };
            self.report.findings.insert(finding);
        }
        for id in files.difference(&self.large) {
            // A row may have come meanwhile.
            let named = store.object(*id);
            if !matches!(named, Ok(Some(stored)) if matches!(stored.body, Body::Large(_))) {
                // A kill may come between a file and its row; nothing that was acknowledged is lost.
                self.report.remarks.insert(format!(
                    "blob {id} has a file that no row names: an upload under way, or left by one \
                     that a crash cut off"
                ));
            }
        }
        if self.report.deep {
            progress.say(|| "SQLite examines the database".to_owned());
            self.report.findings.extend(store.examine()?);
        }
        Ok(())
    }

    /// The blobs that have a file.
    fn files(&mut self, store: &SqliteStore) -> HashSet<ObjectId> {
        let mut files = HashSet::new();
        store.survey_files(&mut |file| match file {
            Ok(id) => drop(files.insert(id)),
            Err(fault) => drop(self.report.findings.insert(fault)),
        });
        self.report.files = files.len();
        files
    }

    /// Walks every state that a head or a snapshot keeps.
    fn states(
        &mut self,
        store: &SqliteStore,
        checker: &mut Checker<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let mut refs = Refs::read(store)?;
        let states = refs.states(store)?;
        self.report.findings.extend(refs.findings);
        self.report.states = states.len();
        for (index, state) in states.iter().enumerate() {
            progress.say(|| format!("{index} of {} states walked", states.len()));
            if let Some(totals) = checker.manifest(state.manifest)
                && (totals.files, totals.bytes) != (state.totals.files, state.totals.bytes)
            {
                self.report.findings.insert(format!(
                    "manifest {}: a head or snapshot that names it counts other files or bytes",
                    state.manifest
                ));
            }
        }
        Ok(())
    }

    /// Checks an object by its row; `entry` says what a tree says of a blob.
    fn row<'e>(
        &mut self,
        row: Readable<ObjectRow>,
        entry: impl Fn(BlobId) -> Option<&'e FileEntry>,
    ) {
        let row = match row {
            Ok(row) => row,
            Err(fault) => {
                self.report.findings.insert(fault);
                return;
            }
        };
        self.report.objects += 1;
        let blob = BlobId::from_bytes(*row.id.as_bytes());
        if row.kind == Kind::Blob {
            self.blobs.insert(blob);
            if !row.inline {
                self.large.insert(row.id);
            }
        }
        let entry = (row.kind == Kind::Blob).then(|| entry(blob)).flatten();
        let fault = if self.report.deep || !row.inline {
            match self.opened.store.object(row.id) {
                // It was collected meanwhile.
                Ok(None) => None,
                Ok(Some(stored)) if self.report.deep => fault_in(&row, &stored, entry),
                Ok(Some(_)) => fault_of_size(&row, entry),
                Err(e) => {
                    self.report
                        .findings
                        .insert(unreadable(row.kind, row.id, &e));
                    return;
                }
            }
        } else {
            fault_of_size(&row, entry)
        };
        self.report
            .findings
            .extend(fault.map(|fault| format!("{} {} is damaged: {fault}", row.kind, row.id)));
    }
}

fn fault_of_size(row: &ObjectRow, entry: Option<&FileEntry>) -> Option<String> {
    let same = entry.is_none_or(|entry| entry.size == row.size);
    (!same).then(|| "a tree that names it says another length".to_owned())
}

/// What is wrong with an object's bytes, if anything.
fn fault_in(row: &ObjectRow, stored: &StoredObject, entry: Option<&FileEntry>) -> Option<String> {
    match (&stored.body, row.kind) {
        (Body::Inline(bytes), Kind::Node | Kind::Manifest) => {
            let same = object_id(row.kind, bytes) == row.id;
            (!same).then(|| "its row holds other bytes".to_owned())
        }
        (Body::Large(_), Kind::Node | Kind::Manifest) => Some("it lies in a file".to_owned()),
        (_, Kind::Blob) => match digests_of(stored) {
            Err(e) => Some(format!("its bytes cannot be read: {e}")),
            Ok(digests) => fault_of(row.id, stored, &digests).or_else(|| {
                let same = entry.is_none_or(|entry| {
                    (entry.size, entry.md5, entry.git) == (digests.size, digests.md5, digests.git)
                });
                (!same).then(|| "a tree that names it says other digests".to_owned())
            }),
        },
    }
}
