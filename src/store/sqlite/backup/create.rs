//! Making a backup of a store that is written meanwhile.
//!
//! Objects and files of blobs never change, so most are copied by and by. Then one transaction reads the
//! records and the objects that came meanwhile: what they were in one commit. A transaction that lasts
//! keeps the log from starting again, so nothing is put while it is open.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::blob_reader::BlobReader;
use super::error::{BackupError, Result, Step, Tell};
use super::manifest::{FORMAT, FileSum, Manifest, line_bytes};
use super::part::{Part, SERVER_KEY, Span, is_plain_name};
use super::place::target::Target;
use super::refresh::{Extent, Pinned, Reads as _, Sliced};
use super::rows::{ObjectEntry, RecordEntry};
use super::server_key::KnownKey;
use super::session::Session;
use super::spool::Spool;
use super::table::{LargeBlob, Tabled as _, known_version};
use crate::base::clock::{Clock, Timestamp};
use crate::base::id::Kind;
use crate::store::Version;
use crate::store::inspection::Inspectable as _;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::blob_files::{not_opened, open_blob};

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The time of the state that it holds: everything that was acknowledged before is in it.
    pub at: Timestamp,
    /// The last write that it holds.
    pub version: Version,
    /// Files that were written now.
    pub new_files: u64,
    /// Their bytes.
    pub new_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// How many things were damaged and left out; each was told.
    pub damaged: u64,
}

/// Backs a store up. Whoever calls it holds [`CollectionLock`](crate::store::sqlite::CollectionLock).
///
/// # Errors
/// [`BackupError`]; then the target is as it was. Damage is no error: it is told, and left out.
///
/// # Durability
/// When it returns, the backup is whole, and on the disk.
pub fn create(
    store: &SqliteStore,
    target: &mut Target<'_>,
    key: &KnownKey,
    clock: &dyn Clock,
    tell: &mut Tell<'_>,
) -> Result<Made> {
    let mut backup = Session::new(store, &mut *target.0, tell);
    backup.put(Part::Format, FORMAT.as_bytes())?;
    backup.refuse_other_key(key)?;
    backup.refuse_older()?;
    backup.refuse_other_course()?;
    if let Some(fault) = store.lost_commits()? {
        backup.found(fault)?;
    }
    let mut secrets = backup.secrets()?;
    secrets.extend(backup.put_key(key)?);

    let mut objects = backup.spans::<ObjectEntry>();
    backup.refresh::<ObjectEntry>(&Sliced(store), &mut objects, Extent::All)?;
    backup.copy_blobs()?;
    // What came meanwhile, so that little is left for the transaction.
    backup.refresh::<ObjectEntry>(&Sliced(store), &mut objects, Extent::New)?;
    let mut records = backup.spans::<RecordEntry>();
    if backup.last.is_some() || backup.place.takes_back() {
        backup.refresh::<RecordEntry>(&Sliced(store), &mut records, Extent::All)?;
    }

    let (at, version) = backup.in_one_commit(clock, &mut objects, &mut records)?;
    backup.copy_blobs()?;
    backup.finish(at, version, &objects, &records, secrets)
}

impl Session<'_, '_, '_> {
    /// Refuses to replace a backup by an older state.
    fn refuse_older(&self) -> Result<()> {
        let Some(last) = self.place.replaces() else {
            return Ok(());
        };
        let version = Sliced(self.store).read(known_version)?;
        // Where damage hides it, the rows that only the backup there has are kept.
        if let Some(version) = version
            && last.version > version
        {
            return Err(BackupError::Refused(format!(
                "the backup there holds write {}, and the store ends at write {version}: it has lost some, \
                 or was restored from an older backup; name another place for this state",
                last.version
            )));
        }
        Ok(())
    }

    /// Refuses to replace a backup by a state that does not go on with what it holds: the store was restored from
    /// another one, and has written what it has since.
    fn refuse_other_course(&self) -> Result<()> {
        let Some(last) = self.place.replaces() else {
            return Ok(());
        };
        let restores = self.store.data_folder().restores()?;
        let later = restores.strip_prefix(last.restores.as_slice());
        if later.is_some_and(|later| {
            later
                .first()
                .is_none_or(|next| last.version <= next.version)
        }) {
            return Ok(());
        }
        Err(BackupError::Refused(
            "the backup there is not of this store: this one was restored from an older backup, or from what was sound \
             of one, or is a copy of another store, and what the backup holds may be nowhere else; name another place \
             for this state"
                .to_owned(),
        ))
    }

    /// Copies the large blobs that the backup lacks.
    fn copy_blobs(&mut self) -> Result<()> {
        // Before hours are spent on them.
        let blobs = self.large.values();
        let lines = blobs.map(|blob| line_bytes(&Part::Blob(blob.id), blob.size));
        self.place.refuse_long_manifest(lines.sum())?;
        let missing: Vec<_> = self
            .large
            .values()
            .filter(|blob| !self.sums.contains_key(&Part::Blob(blob.id)))
            .copied()
            .collect();
        for blob in missing {
            let part = Part::Blob(blob.id);
            if let Some(sum) = self.last.as_ref().and_then(|last| last.files.get(&part)) {
                self.sums.insert(part, *sum);
                continue;
            }
            self.copy_blob(&blob, part)?;
        }
        Ok(())
    }

    fn copy_blob(&mut self, blob: &LargeBlob, part: Part) -> Result<()> {
        let fault = |reason: &str| format!("blob {} is damaged: {reason}", blob.id);
        let file = match open_blob(self.store.data_folder(), blob.id, blob.size) {
            Ok(file) => file,
            Err(e) => {
                let error = not_opened(Kind::Blob, blob.id, e);
                if !error.is_damage() {
                    return Err(error.into());
                }
                return self.found(error.to_string());
            }
        };
        let written = (self.new_files, self.new_bytes);
        let (tell, pace, store) = (&mut *self.tell, &mut self.pace, self.store);
        let mut tell = |step: Step<'_>| {
            pace.rest(store);
            tell(step)
        };
        // A stream does not give back what it took: there the file is read twice.
        if !self.place.takes_back() {
            let mut body = BlobReader::new(&file, blob, written, &mut tell);
            let read = io::copy(&mut body, &mut io::sink()).map(drop);
            let read = read.map_err(BackupError::file("reading", part.to_string()));
            if let Some(wrong) = body.verdict(read)? {
                return self.found(fault(&wrong));
            }
        }
        let mut body = BlobReader::new(&file, blob, written, &mut tell);
        let put = self.place.put(&part, blob.size, &mut body);
        if let Some(wrong) = body.verdict(put)? {
            if !self.place.takes_back() {
                return Err(BackupError::Refused(fault(&wrong)));
            }
            self.place.take_back(&part)?;
            return self.found(fault(&wrong));
        }
        self.new_files += 1;
        self.new_bytes += blob.size;
        let (bytes, sum) = (blob.size, blake3::Hash::from_bytes(*blob.id.as_bytes()));
        self.sums.insert(part, FileSum { bytes, sum });
        self.go_on()
    }

    /// The files of `secrets/`, put, but for the server key.
    fn secrets(&mut self) -> Result<Vec<Part>> {
        let dir = self.store.data_folder().secrets();
        let mut parts = Vec::new();
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) => {
                self.lacks = true;
                self.found(format!("{} cannot be read: {e}", dir.display()))?;
                return Ok(parts);
            }
        };
        for entry in entries {
            let entry = entry.map_err(BackupError::file("reading", &dir))?;
            let name = entry.file_name();
            // One that is being written.
            let is_new = Path::new(&name).extension().is_some_and(|end| end == "new");
            if is_new || name == SERVER_KEY {
                continue;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                self.remark(&format!(
                    "secrets: \"{}\" is not in the backup: its name begins with a dot, or has a \
                     character that cannot be printed",
                    name.display()
                ))?;
                continue;
            };
            match fs::read(entry.path()) {
                Ok(bytes) => {
                    let part = Part::secret(name, &bytes);
                    self.put(part.clone(), &bytes)?;
                    parts.push(part);
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => {
                    let path = entry.path();
                    self.lacks = true;
                    self.found(format!("{} cannot be read: {e}", path.display()))?;
                }
            }
        }
        Ok(parts)
    }

    /// Reads the records, and the objects that came, as they are in one commit. What it gives is when
    /// that was, and the last write of it.
    fn in_one_commit(
        &mut self,
        clock: &dyn Clock,
        objects: &mut Vec<Span>,
        records: &mut Vec<Span>,
    ) -> Result<(Timestamp, Version)> {
        self.spool = Some(Spool::in_folder(self.place.scratch())?);
        let state = Sliced(self.store).read(|db| {
            let at = clock.now();
            let tx = db.unchecked_transaction()?;
            let version = known_version(&tx)?;
            let pinned = Pinned(&tx);
            self.refresh::<RecordEntry>(&pinned, records, Extent::Changed)?;
            self.refresh::<ObjectEntry>(&pinned, objects, Extent::New)?;
            // Where damage hides it, the last row that is in the backup stands for it.
            let last = records.last().and_then(|span| span.last.try_into().ok());
            Ok((at, version.or(last).unwrap_or(0)))
        })?;
        if let Some(spool) = self.spool.take() {
            for (part, place, length) in &spool.parts {
                let bytes = spool.read(*place, *length)?;
                self.put(part.clone(), &bytes)?;
            }
        }
        Ok(state)
    }

    /// Refuses to replace a backup that may be the last to have what is missing in this one, where nothing of it is
    /// kept. Large blobs are told apart by their names; of rows it is not known which of them it has.
    fn refuse_to_lose(&self) -> Result<()> {
        let Some(there) = self.place.replaces().filter(|_| self.last.is_none()) else {
            return Ok(());
        };
        let mut blobs = self.large.keys().map(|id| Part::Blob(*id));
        let is_lost = |blob| !self.sums.contains_key(&blob) && there.files.contains_key(&blob);
        if !self.lacks && !blobs.any(is_lost) {
            return Ok(());
        }
        Err(BackupError::Refused(
            "the store is damaged, and the backup there may have what is missing: it stays as it is; name another \
             file for what is sound, and see \"siteconf debug check --deep\""
                .to_owned(),
        ))
    }

    fn finish(
        mut self,
        at: Timestamp,
        version: Version,
        objects: &[Span],
        records: &[Span],
        secrets: Vec<Part>,
    ) -> Result<Made> {
        let objects = objects.iter().map(|span| ObjectEntry::part(*span));
        let records = records.iter().map(|span| RecordEntry::part(*span));
        let blobs = self.large.keys().map(|id| Part::Blob(*id));
        let named: BTreeSet<Part> = objects
            .chain(records)
            .chain(blobs)
            .chain(secrets)
            .chain([Part::Format])
            .collect();
        self.sums.retain(|part, _| named.contains(part));
        self.refuse_to_lose()?;
        let manifest = Manifest {
            store: self.store.data_folder().format(),
            at,
            version,
            damaged: self.findings.len() as u64,
            restores: self.store.data_folder().restores()?,
            files: std::mem::take(&mut self.sums),
        };
        self.go_on()?;
        self.place.finish(&manifest)?;
        Ok(Made {
            at,
            version,
            new_files: self.new_files,
            new_bytes: self.new_bytes,
            bytes: manifest.bytes(),
            damaged: manifest.damaged,
        })
    }
}
