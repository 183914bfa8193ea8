//! Looks for what is missing, left over or not as it must be, in every state down to its blobs.

mod counters;
mod orphans;
mod records;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;

use super::outcome;
use super::refs::Refs;
use super::shown::{digests_of, fault_of, fault_of_reading};
use crate::base::digest::object_id;
use crate::base::id::{BlobId, Kind, ObjectId};
use crate::cli::first_start::key_fault;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::running::progress::Progress;
use crate::cli::settings::Settings;
use crate::cli::{Outcome, Result, Streams};
use crate::manifest::check::{Checker, unreadable};
use crate::object::node::FileEntry;
use crate::store;
use crate::store::inspection::{Inspectable, LargeFile, Readable};
use crate::store::objects::each_object;
use crate::store::{Body, ObjectRow, StoreError, StoredObject};

/// Objects that are read at once: of 64 KiB at most, and large ones one by one.
const OBJECTS_AT_ONCE: usize = 64;

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
    opened: &OpenStore,
    settings: &Settings,
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
        settings,
        blobs: HashSet::new(),
        large: HashSet::new(),
        entries: HashMap::new(),
        waiting: Vec::new(),
        damaged: HashSet::new(),
        has_files: true,
    };
    let ended = check.run(&mut Progress::new(streams));
    let mut report = check.report;
    if let Err(error) = ended {
        // What was found before it counts all the same.
        let fault = format!("the check has not come to its end: {error}");
        report.findings.insert(fault);
    }
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
            "{} objects, {} states and {} files of blobs checked{read_back}; {}",
            report.objects,
            report.states,
            report.files,
            output::counted(report.findings.len() as u64, "finding", "findings")
        )?;
    }
    Ok(outcome(report.findings.is_empty()))
}

struct Check<'a> {
    opened: &'a OpenStore,
    settings: &'a Settings,
    report: Report,
    /// Blobs whose row was met and is sound.
    blobs: HashSet<BlobId>,
    /// Those of them that are files.
    large: HashSet<ObjectId>,
    /// What trees say of blobs.
    entries: HashMap<BlobId, FileEntry>,
    /// Objects that are to be read together.
    waiting: Vec<ObjectRow>,
    /// Files of which it is told already that they are not there.
    damaged: HashSet<ObjectId>,
    /// False once no file can be read, which is told.
    has_files: bool,
}

impl Check<'_> {
    /// The order matters beside a daemon: what a state names was there before the state, and a file
    /// before its row.
    fn run(&mut self, progress: &mut Progress<'_>) -> Result<()> {
        let store = self.opened.inspectable();
        // As a backup does: what a collection removes meanwhile would look lost.
        let no_collection = store.hold_off_collections();
        if let Err(error) = &no_collection {
            self.report.remarks.insert(format!(
                "beside this check a collection may run ({error}): what it removes with states that are \
                 pruned meanwhile is told as missing"
            ));
        }
        self.report.findings.extend(store.lost_commits()?);
        let deep = self.report.deep;
        let of_records = records::findings(self.opened, deep, progress)?;
        self.report.findings.extend(of_records);
        let of_key = key_fault(self.opened, self.settings);
        self.report.findings.extend(of_key);
        let files = self.files(store);
        let mut checker = Checker::new(self.opened.projects.nodes());
        self.states(store, &mut checker, progress)?;
        let Checker {
            blobs, findings, ..
        } = checker;
        self.report.findings.extend(findings);

        self.entries = blobs;
        let mut failed = Ok(());
        store.survey_objects(&mut |row| {
            let objects = self.report.objects;
            progress.say(|| format!("{objects} objects checked"));
            if failed.is_ok() {
                failed = self.row(row);
            }
        })?;
        failed?;
        self.read_waiting()?;
        for id in self.entries.keys() {
            if self.blobs.contains(id) {
                continue;
            }
            let finding = match store.object(ObjectId::from(*id)) {
                Ok(Some(_)) => continue,
                Ok(None) => StoreError::Missing { id: (*id).into() }.to_string(),
                Err(outage) if outage.is_outage() => return Err(outage.into()),
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
            progress.say(|| "the database is examined".to_owned());
            self.report.findings.extend(store.examine()?);
        }
        Ok(())
    }

    /// The blobs that have a file.
    fn files(&mut self, store: &dyn Inspectable) -> HashSet<ObjectId> {
        let mut files = HashSet::new();
        let (mut others, report) = (0, &mut self.report);
        let surveyed = store.survey_files(&mut |file| match file {
            Ok(LargeFile::Of(id)) => drop(files.insert(id)),
            Ok(LargeFile::Damaged { id, reason }) => {
                self.damaged.insert(id);
                let fault = format!("{} {id} is damaged: {reason}", Kind::Blob);
                report.findings.insert(fault);
            }
            Ok(LargeFile::Unnamed(name)) => {
                others += 1;
                report.remarks.insert(format!(
                    "no row names the file {name} in the bucket: an upload under way or given up, or saved after the \
                     backup that was restored; a daemon removes it after blobs_keep_days"
                ));
            }
            Err(fault) => drop(report.findings.insert(fault)),
        });
        if let Err(error) = surveyed {
            self.without_files(&error);
        }
        self.report.files = files.len() + others;
        files
    }

    /// Reads no more of the files, because of this.
    fn without_files(&mut self, error: &StoreError) {
        self.has_files = false;
        let fault = format!("large files cannot be looked at: {error}");
        self.report.findings.insert(fault);
    }

    /// Walks every state that a record keeps.
    fn states(
        &mut self,
        store: &dyn Inspectable,
        checker: &mut Checker<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let mut refs = Refs::read(store)?;
        let states = refs.states(store)?;
        self.report.findings.extend(refs.findings);
        self.report.states = states.len();
        for (index, state) in states.iter().enumerate() {
            progress.say(|| format!("{index} of {} states walked", states.len()));
            let totals = checker.manifest(state.manifest);
            if let Some(outage) = checker.outage.take() {
                let found = std::mem::take(&mut checker.findings);
                self.report.findings.extend(found);
                return Err(outage.into());
            }
            if let Some(totals) = totals
                && (totals.files, totals.bytes) != (state.totals.files, state.totals.bytes)
            {
                self.report.findings.insert(format!(
                    "manifest {}: a record that names it counts other files or bytes",
                    state.manifest
                ));
            }
        }
        Ok(())
    }

    /// Checks an object by its row.
    fn row(&mut self, row: Readable<ObjectRow>) -> Result<()> {
        let row = match row {
            Ok(row) => row,
            Err(fault) => {
                self.report.findings.insert(fault);
                return Ok(());
            }
        };
        self.report.objects += 1;
        if row.kind == Kind::Blob {
            self.blobs.insert(BlobId::from_bytes(*row.id.as_bytes()));
            if !row.inline {
                self.large.insert(row.id);
            }
        }
        if !row.inline {
            if self.has_files && !self.damaged.contains(&row.id) {
                let found = self.opened.store.object(row.id);
                self.object(row, found)?;
            }
        } else if self.report.deep {
            self.waiting.push(row);
            if self.waiting.len() == OBJECTS_AT_ONCE {
                self.read_waiting()?;
            }
        } else {
            let fault = fault_of_size(&row, self.entry(&row));
            self.fault(&row, fault);
        }
        Ok(())
    }

    /// Reads what waits for it.
    fn read_waiting(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let found = each_object(self.opened.store.as_ref(), &ids)?;
        for (row, found) in rows.into_iter().zip(found) {
            self.object(row, found)?;
        }
        Ok(())
    }

    /// Checks an object that was read.
    fn object(&mut self, row: ObjectRow, found: store::Result<Option<StoredObject>>) -> Result<()> {
        let fault = match found {
            // It was collected meanwhile.
            Ok(None) => None,
            Ok(Some(stored)) if self.report.deep => {
                match fault_in(&row, &stored, self.entry(&row)) {
                    Err(away) => {
                        self.without_files(&away);
                        return Ok(());
                    }
                    Ok(fault) => fault,
                }
            }
            Ok(Some(_)) => fault_of_size(&row, self.entry(&row)),
            Err(outage) if outage.is_outage() => return Err(outage.into()),
            Err(e) => {
                let finding = unreadable(row.kind, row.id, &e);
                self.report.findings.insert(finding);
                None
            }
        };
        self.fault(&row, fault);
        Ok(())
    }

    fn fault(&mut self, row: &ObjectRow, fault: Option<String>) {
        self.report
            .findings
            .extend(fault.map(|fault| format!("{} {} is damaged: {fault}", row.kind, row.id)));
    }

    /// What a tree says of a blob.
    fn entry(&self, row: &ObjectRow) -> Option<&FileEntry> {
        let blob = (row.kind == Kind::Blob).then(|| BlobId::from_bytes(*row.id.as_bytes()));
        self.entries.get(&blob?)
    }
}

fn fault_of_size(row: &ObjectRow, entry: Option<&FileEntry>) -> Option<String> {
    let same = entry.is_none_or(|entry| entry.size == row.size);
    (!same).then(|| "a tree that names it says another length".to_owned())
}

/// What is wrong with an object's bytes, if anything.
///
/// # Errors
/// [`StoreError::BucketAway`].
fn fault_in(
    row: &ObjectRow,
    stored: &StoredObject,
    entry: Option<&FileEntry>,
) -> store::Result<Option<String>> {
    Ok(match (&stored.body, row.kind) {
        (Body::Inline(bytes), Kind::Node | Kind::Manifest) => {
            let same = object_id(row.kind, bytes) == row.id;
            (!same).then(|| "its row holds other bytes".to_owned())
        }
        (Body::Large(_), Kind::Node | Kind::Manifest) => Some("it lies in a file".to_owned()),
        (_, Kind::Blob) => match digests_of(stored) {
            Err(e) => Some(fault_of_reading(e)?),
            Ok(digests) => fault_of(row.id, stored, &digests).or_else(|| {
                let same = entry.is_none_or(|entry| {
                    (entry.size, entry.md5, entry.git) == (digests.size, digests.md5, digests.git)
                });
                (!same).then(|| "a tree that names it says other digests".to_owned())
            }),
        },
    })
}
