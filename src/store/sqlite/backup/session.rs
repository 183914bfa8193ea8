//! A backup under way: what it has put, found and told.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{BackupError, Result, Step, Tell};
use super::manifest::{FileSum, Manifest};
use super::pace::Pace;
use super::part::Part;
use super::place::Place;
use super::spool::Spool;
use super::table::LargeBlob;
use crate::base::id::ObjectId;
use crate::store::sqlite::SqliteStore;

/// A backup under way.
pub(super) struct Session<'a, 'p, 't> {
    pub(super) store: &'a SqliteStore,
    pub(super) place: &'a mut (dyn Place + 'p),
    pub(super) tell: &'a mut Tell<'t>,
    /// Takes what is put while a transaction is open.
    pub(super) spool: Option<Spool>,
    pub(super) last: Option<Manifest>,
    /// Of everything that may be named by the new manifest.
    pub(super) sums: BTreeMap<Part, FileSum>,
    pub(super) findings: BTreeSet<String>,
    /// True once rows or files of `secrets/` cannot be read, which an earlier backup may have.
    pub(super) lacks: bool,
    /// The large blobs of all rows.
    pub(super) large: BTreeMap<ObjectId, LargeBlob>,
    pub(super) pace: Pace,
    pub(super) new_files: u64,
    pub(super) new_bytes: u64,
}

impl<'a, 'p, 't> Session<'a, 'p, 't> {
    /// Begins one.
    pub(super) fn new(
        store: &'a SqliteStore,
        place: &'a mut (dyn Place + 'p),
        tell: &'a mut Tell<'t>,
    ) -> Self {
        Self {
            store,
            last: place.last().cloned(),
            place,
            tell,
            spool: None,
            sums: BTreeMap::new(),
            findings: BTreeSet::new(),
            lacks: false,
            large: BTreeMap::new(),
            pace: Pace::begin(),
            new_files: 0,
            new_bytes: 0,
        }
    }

    /// Puts a file, unless the last backup has it.
    pub(super) fn put(&mut self, part: Part, bytes: &[u8]) -> Result<()> {
        if let Some(sum) = self.last.as_ref().and_then(|last| last.files.get(&part)) {
            self.sums.insert(part, *sum);
            return Ok(());
        }
        if let Some(spool) = &mut self.spool {
            return spool.add(part, bytes);
        }
        if self.sums.contains_key(&part) {
            return Ok(());
        }
        let sum = FileSum {
            bytes: bytes.len() as u64,
            sum: blake3::hash(bytes),
        };
        let mut body = bytes;
        self.place.put(&part, sum.bytes, &mut body)?;
        self.sums.insert(part, sum);
        self.new_files += 1;
        self.new_bytes += sum.bytes;
        self.go_on()
    }

    /// Tells damage once.
    pub(super) fn found(&mut self, finding: String) -> Result<()> {
        if self.findings.contains(&finding) {
            return Ok(());
        }
        let flow = (self.tell)(Step::Damage(&finding));
        self.findings.insert(finding);
        if flow.is_break() {
            return Err(BackupError::Interrupted);
        }
        Ok(())
    }

    /// Tells what harms nothing.
    pub(super) fn remark(&mut self, remark: &str) -> Result<()> {
        if (self.tell)(Step::Remark(remark)).is_break() {
            return Err(BackupError::Interrupted);
        }
        Ok(())
    }

    /// Tells how far it is, and lets others save.
    pub(super) fn go_on(&mut self) -> Result<()> {
        let step = Step::At {
            files: self.new_files,
            bytes: self.new_bytes,
        };
        if (self.tell)(step).is_break() {
            return Err(BackupError::Interrupted);
        }
        // What is open holds the log.
        if self.spool.is_none() {
            self.pace.rest(self.store);
        }
        Ok(())
    }
}
