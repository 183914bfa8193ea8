//! Holding files against rules: what a change has to prove is proven here, outside of the queue of the
//! branch.

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::demand::{Broken, Demand, Proof};
use super::effort::Effort;
use super::rules::{Rules, of_record};
use super::schema::Schema;
use super::text::{Fault, decoded, decoded_xml};
use super::unproven::Unproven;
use super::{json, xml, yaml};
use crate::base::cache::{ByteCache, CacheUse, byte_cache};
use crate::base::id::BlobId;
use crate::base::limits::{
    BROKEN_TOLD_MAX, CHECK_STEPS, CHECKED_BYTES_MAX, RULES_CACHE_ENTRIES, SCHEMA_CACHE_BYTES,
    SCHEMA_CHECKED_BYTES_MAX,
};
use crate::object::record::ProjectRecord;
use crate::repo::{Error, Result};
use crate::store::{StoreError, Version, Versioned};

/// Schemas that are kept, where they are large.
const SCHEMAS_USUAL: u64 = 8;

/// What memory keeps for checks.
#[derive(Debug)]
pub(in crate::repo) struct Validation {
    /// The rules of projects by their numbers, each with the version of the record that has them.
    rules: Cache<u64, (Version, Arc<Rules>)>,
    /// Schemas by their blobs.
    schemas: ByteCache<BlobId, Arc<Schema>>,
}

impl Default for Validation {
    fn default() -> Self {
        Self {
            rules: Cache::new(RULES_CACHE_ENTRIES),
            schemas: byte_cache(SCHEMA_CACHE_BYTES, SCHEMAS_USUAL, |_, schema| {
                schema.bytes()
            }),
        }
    }
}

impl Validation {
    /// What it holds, and how often that was what was wanted.
    pub(in crate::repo) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::counted("rules", &self.rules),
            CacheUse::weighed("schemas", &self.schemas),
        ]
    }

    /// The rules of a project as its record has them; `None` where it has none.
    pub(in crate::repo) fn rules(
        &self,
        project: u64,
        record: &Versioned<ProjectRecord>,
    ) -> Result<Option<Arc<Rules>>> {
        if record.value.rules.is_empty() {
            return Ok(None);
        }
        if let Some((version, rules)) = self.rules.get(&project)
            && version == record.version
        {
            return Ok(Some(rules));
        }
        let rules = of_record(&record.value.rules)?;
        self.rules
            .insert(project, (record.version, Arc::clone(&rules)));
        Ok(Some(rules))
    }

    /// Says whether a blob is a schema; `content` reads blobs.
    ///
    /// # Errors
    /// Those of `content` and of [`Effort::spend`].
    pub(in crate::repo) fn check_schema(
        &self,
        blob: BlobId,
        content: &dyn Fn(BlobId) -> Result<Bytes>,
        effort: &Effort,
    ) -> Result<std::result::Result<(), String>> {
        match self.schema(blob, content, effort) {
            Ok(_) => Ok(Ok(())),
            Err(Unproven::Fault(Fault { place, reason })) => Ok(Err(match place {
                Some(place) => format!("line {}, column {}: {reason}", place.line, place.column),
                None => reason,
            })),
            Err(Unproven::Failed(error)) => Err(error),
        }
    }

    fn schema(
        &self,
        blob: BlobId,
        content: &dyn Fn(BlobId) -> Result<Bytes>,
        effort: &Effort,
    ) -> std::result::Result<Arc<Schema>, Unproven> {
        if let Some(schema) = self.schemas.get(&blob) {
            return Ok(schema);
        }
        let bytes = content(blob)?;
        let schema = Arc::new(effort.timed(|| Schema::read(&bytes, effort))?);
        self.schemas.insert(blob, Arc::clone(&schema));
        Ok(schema)
    }

    /// Proves something of a file, or says what is wrong with it.
    fn prove(
        &self,
        proof: Proof,
        size: u64,
        content: &dyn Fn(BlobId) -> Result<Bytes>,
        effort: &Effort,
    ) -> std::result::Result<(), Unproven> {
        let limit_bytes = match proof {
            // A schema that is too large is refused when it is read.
            Proof::Json(_) | Proof::Xml(_) | Proof::Yaml(_) | Proof::IsSchema(_) => {
                CHECKED_BYTES_MAX
            }
            Proof::Allowed { .. } => SCHEMA_CHECKED_BYTES_MAX,
        };
        if size > limit_bytes {
            let reason = format!(
                "the file has {size} bytes, and files of at most {limit_bytes} can be checked"
            );
            return Err(Fault::of_all(reason).into());
        }
        let has_format = |blob, check: fn(&[u8]) -> std::result::Result<(), Fault>| {
            effort.spend_on_format(bytes(size))?;
            let content = content(blob)?;
            let checked = effort.timed(|| check(&content));
            if checked.is_err() {
                effort.count_broken(bytes(size));
            }
            checked.map_err(Unproven::from)
        };
        match proof {
            Proof::Json(blob) => has_format(blob, |bytes| json::check(&decoded(bytes)?))?,
            Proof::Xml(blob) => has_format(blob, |bytes| xml::check(&decoded_xml(bytes)?))?,
            Proof::Yaml(blob) => has_format(blob, |bytes| yaml::check(&decoded(bytes)?))?,
            Proof::IsSchema(blob) => {
                effort.spend(CHECK_STEPS + bytes(size))?;
                self.schema(blob, content, effort)?;
            }
            Proof::Allowed {
                blob,
                schema,
                is_yaml,
            } => {
                effort.spend(CHECK_STEPS + bytes(size))?;
                let schema = self.schema(schema, content, effort);
                let schema = schema.map_err(|unproven| match unproven {
                    Unproven::Fault(Fault { reason, .. }) => {
                        Fault::of_all(format!("the schema in the branch cannot be read: {reason}"))
                            .into()
                    }
                    failed @ Unproven::Failed(_) => failed,
                })?;
                let content = content(blob)?;
                effort.timed(|| schema.check(&decoded(&content)?, is_yaml, effort))?;
            }
        }
        Ok(())
    }

    /// Tries what a file must pass; what is broken, if anything is.
    pub(super) fn broken(
        &self,
        rules: &Rules,
        demand: Demand,
        proofs: &Proofs,
        content: &dyn Fn(BlobId) -> Result<Bytes>,
    ) -> Result<Option<Broken>> {
        let (path, rule, size, proof) = match demand {
            Demand::Broken(broken) => return Ok(Some(broken)),
            Demand::Check {
                path,
                rule,
                size,
                proof,
            } => (path, rule, size, proof),
        };
        if proofs.have(proof) {
            return Ok(None);
        }
        match self.prove(proof, size, content, &proofs.effort) {
            Ok(()) => {
                proofs.add(proof);
                Ok(None)
            }
            Err(Unproven::Fault(Fault { place, reason })) => {
                Ok(Some(rules.broken(&path, rule, place, reason)))
            }
            Err(Unproven::Failed(error)) => Err(error),
        }
    }
}

fn bytes(size: u64) -> f64 {
    f64::from(u32::try_from(size).unwrap_or(u32::MAX))
}

/// What a change has proven, and what it may still spend on it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Proofs {
    proven: Arc<Mutex<HashSet<Proof>>>,
    effort: Effort,
}

impl Proofs {
    /// Nothing yet.
    pub(in crate::repo) fn within(effort: Effort) -> Self {
        Self {
            proven: Arc::default(),
            effort,
        }
    }

    /// True if this is proven.
    pub(in crate::repo) fn have(&self, proof: Proof) -> bool {
        self.proofs().contains(&proof)
    }

    fn add(&self, proof: Proof) {
        self.proofs().insert(proof);
    }

    fn proofs(&self) -> MutexGuard<'_, HashSet<Proof>> {
        self.proven.lock().expect("no panic while held")
    }
}

/// The files that a change would break rules with.
#[derive(Debug, Default)]
pub(in crate::repo) struct Report {
    told: Vec<Broken>,
    last: Option<String>,
    files: usize,
    /// True if not all files were looked at.
    is_cut: bool,
}

impl Report {
    /// Takes what is wrong with a file, if it is the first thing that is.
    fn add(&mut self, broken: Broken) {
        if self.last.as_ref() == Some(&broken.path) {
            return;
        }
        self.last = Some(broken.path.clone());
        self.files += 1;
        if self.told.len() < BROKEN_TOLD_MAX {
            self.told.push(broken);
        }
    }

    /// Refuses the change if there is any.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the files.
    pub(in crate::repo) fn refuse(&self) -> Result<()> {
        if self.files == 0 {
            return Ok(());
        }
        Err(Error::invalid(self.to_string()))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            1 => f.write_str("a file breaks a rule of the project, so nothing was changed:")?,
            files => write!(
                f,
                "{files} files break rules of the project, so nothing was changed:"
            )?,
        }
        for broken in &self.told {
            write!(f, "\n{broken}")?;
        }
        match self.files - self.told.len() {
            0 => {}
            rest => write!(f, "\nand {rest} more")?,
        }
        if self.is_cut {
            f.write_str("\nand perhaps others: it takes too long to look at all files")?;
        }
        Ok(())
    }
}

/// Tries what must hold of a change, one after the other.
pub(in crate::repo) struct Trial<'a> {
    validation: &'a Validation,
    rules: &'a Rules,
    proofs: &'a Proofs,
    content: &'a dyn Fn(BlobId) -> Result<Bytes>,
    report: Report,
    failed: Option<Error>,
}

impl<'a> Trial<'a> {
    /// Begins; `content` reads the bytes of a blob.
    pub(in crate::repo) fn new(
        validation: &'a Validation,
        rules: &'a Rules,
        proofs: &'a Proofs,
        content: &'a dyn Fn(BlobId) -> Result<Bytes>,
    ) -> Self {
        Self {
            validation,
            rules,
            proofs,
            content,
            report: Report::default(),
            failed: None,
        }
    }

    /// Tries the next; it ends when a file cannot be read, or it takes too long.
    pub(in crate::repo) fn take(&mut self, demand: Demand) -> ControlFlow<()> {
        let Self {
            validation,
            rules,
            proofs,
            content,
            ..
        } = self;
        match validation.broken(rules, demand, proofs, content) {
            Ok(broken) => {
                if let Some(broken) = broken {
                    self.report.add(broken);
                }
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The outcome of all.
    ///
    /// # Errors
    /// [`Error::Invalid`] where rules are broken; else why not all could be tried, as [`Effort::spend`] says.
    pub(in crate::repo) fn end(mut self) -> Result<()> {
        match self.failed {
            Some(Error::Invalid { .. }) if self.report.files > 0 => self.report.is_cut = true,
            Some(Error::Store(error))
                if self.report.files > 0 && matches!(*error, StoreError::Busy) =>
            {
                self.report.is_cut = true;
            }
            Some(error) => return Err(error),
            None => {}
        }
        self.report.refuse()
    }
}
