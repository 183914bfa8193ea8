//! Looking whether a backup is as it was made.

use std::collections::BTreeSet;
use std::io::Read;

use super::error::{BackupError, Fault, Result, Step, Tell};
use super::part::Part;
use super::rows::{Encoded, ObjectEntry, RecordEntry, read_rows};
use super::source::Source;
use super::table::Tabled as _;
use crate::base::clock::Timestamp;
use crate::base::id::ObjectId;
use crate::store::Version;

/// A backup that was looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The time of the state that it holds.
    pub at: Timestamp,
    /// The last write that it holds.
    pub version: Version,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many things are wrong with it; each was told.
    pub faults: u64,
}

/// Reads every byte of a backup and holds it against its manifest.
///
/// # Errors
/// [`BackupError`] for what is no whole backup. What is changed, missing or surplus in it is told.
pub fn verify(source: Source<'_>, tell: &mut Tell<'_>) -> Result<Verified> {
    let (mut faults, mut broken) = (Vec::new(), Vec::new());
    let mut named = BTreeSet::new();
    let mut take = |part: &Part, bytes: u64, body: &mut dyn Read| {
        match part {
            Part::Objects(_) => {
                let rows: Vec<ObjectEntry> = rows_of(part, bytes, body, &mut broken);
                named.extend(
                    rows.iter()
                        .filter_map(ObjectEntry::large)
                        .map(|blob| blob.id),
                );
            }
            Part::Records(_) => drop(rows_of::<RecordEntry>(part, bytes, body, &mut broken)),
            Part::Format | Part::Blob(_) | Part::Secret { .. } => {}
        }
        Ok(())
    };
    let mut wrong = |fault| {
        faults.push(fault);
        Ok(())
    };
    let manifest = source.read_all(tell, &mut take, &mut wrong)?;
    Fault::add_broken(&mut faults, broken);
    let mut faults: Vec<_> = faults.iter().map(Fault::to_string).collect();
    if manifest.damaged == 0 {
        let is_lost = |id: &&ObjectId| !manifest.files.contains_key(&Part::Blob(**id));
        let lost = named.iter().filter(is_lost);
        faults.extend(lost.map(|id| format!("blob {id} has a row and no file")));
    }
    for fault in &faults {
        if tell(Step::Damage(fault)).is_break() {
            return Err(BackupError::Interrupted);
        }
    }
    Ok(Verified {
        at: manifest.at,
        version: manifest.version,
        files: manifest.files.len() as u64,
        bytes: manifest.bytes(),
        faults: faults.len() as u64,
    })
}

fn rows_of<R: Encoded>(
    part: &Part,
    bytes: u64,
    body: &mut dyn Read,
    broken: &mut Vec<Part>,
) -> Vec<R> {
    read_rows(bytes, body).unwrap_or_else(|rows| {
        broken.push(part.clone());
        rows
    })
}
