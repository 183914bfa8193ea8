//! Every record decoded by what its key says it is and held against those to which it belongs, and the digests
//! that are kept computed again.

use serde::de::{DeserializeOwned, Error as _};

use super::counters::Counters;
use super::orphans::Orphans;
use crate::access;
use crate::base::id::{COMMIT_DIGITS, ManifestId, Sha256};
use crate::cli::Result;
use crate::cli::open_store::OpenStore;
use crate::cli::running::progress::Progress;
use crate::manifest::digest::Digested;
use crate::object::audit::AuditRecord;
use crate::object::audit_pack::AuditPack;
use crate::object::record::{
    BranchRecord, ClockRecord, CommitRecord, DeletedRecord, DigestRecord, ProjectRecord,
    SkippedRecord, SnapshotRecord,
};
use crate::store::{Record, StoreError};

/// What is wrong with any record, a sentence each. `deep` computes digests again.
pub(super) fn findings(
    opened: &OpenStore,
    deep: bool,
    progress: &mut Progress<'_>,
) -> Result<Vec<String>> {
    let (mut findings, mut recorded) = (Vec::new(), Vec::new());
    let (mut orphans, mut counters) = (Orphans::default(), Counters::default());
    opened.inspectable().survey_records(&mut |record| {
        if let Ok(record) = &record {
            orphans.meet(record);
            counters.meet(record);
        }
        let decoded = match &record {
            Ok(record) => decode(record).map_err(|e| e.to_string()),
            Err(fault) => Err(fault.clone()),
        };
        match (record, decoded) {
            // Some hundred bytes for each record, which only a deep check needs.
            (Ok(record), Ok(Some(digest))) if deep => recorded.push((record.key, digest)),
            (_, Ok(_)) => {}
            (_, Err(fault)) => findings.push(fault),
        }
    })?;
    findings.extend(orphans.findings(opened.inspectable())?);
    findings.extend(counters.findings(opened.inspectable())?);
    findings.extend(faults_of_digests(opened, recorded, progress));
    Ok(findings)
}

/// What a record says of the digest of a manifest.
struct RecordedDigest {
    manifest: ManifestId,
    /// The first digits of the digest, or all.
    digits: String,
}

/// Decodes a record by its key. What it tells of a digest, if anything.
fn decode(record: &Record) -> std::result::Result<Option<RecordedDigest>, StoreError> {
    if let Some(decoded) = access::decode_record(record) {
        return decoded.map(|()| None);
    }
    let mut parts = record.key.split('/');
    let kind = parts.next().unwrap_or_default();
    match kind {
        "counter" | "project-id" | "branch-name" | "forgotten-project" | "forgotten-branch" => {
            known::<u64>(record)?;
        }
        "project" => known::<ProjectRecord>(record)?,
        "branch" => known::<BranchRecord>(record)?,
        "deleted-project" => known::<DeletedRecord<ProjectRecord>>(record)?,
        "deleted-branch" => known::<DeletedRecord<BranchRecord>>(record)?,
        "snapshot" => known::<SnapshotRecord>(record)?,
        "clock" => known::<ClockRecord>(record)?,
        "clock-skipped" => known::<SkippedRecord>(record)?,
        "audit" => known::<AuditRecord>(record)?,
        "audit-pack" => packed(record)?,
        "digest" => {
            let sha256 = record.decode::<DigestRecord>()?.value.sha256;
            let manifest = parts.next().and_then(|id| id.parse().ok());
            return Ok(manifest.map(|manifest| RecordedDigest {
                manifest,
                digits: sha256.to_string(),
            }));
        }
        "commit" => {
            let manifest = record.decode::<CommitRecord>()?.value.manifest;
            let digits = parts.nth(1).filter(|id| id.len() == COMMIT_DIGITS);
            return Ok(digits.map(|digits| RecordedDigest {
                manifest,
                digits: digits.to_owned(),
            }));
        }
        // An optional kind of a later version.
        _ => {}
    }
    Ok(None)
}

/// Unpacks a pack and decodes what is in it.
fn packed(record: &Record) -> std::result::Result<(), StoreError> {
    let pack = record.decode::<AuditPack>()?.value;
    let damaged = |reason: String| record.damaged(serde_json::Error::custom(reason));
    let lines = pack.records().map_err(|e| damaged(e.to_string()))?;
    for (id, value) in &lines {
        serde_json::from_slice::<AuditRecord>(value).map_err(|e| damaged(format!("{id}: {e}")))?;
    }
    let again = AuditPack::new(lines.iter().map(|(id, value)| (*id, value.as_slice())));
    let first = |ids: &[u64]| ids.first().copied() == Some(record.number());
    if again.is_none_or(|(again, ids)| !first(&ids) || again.times() != pack.times()) {
        return Err(damaged(
            "it holds other numbers or times than it says".to_owned(),
        ));
    }
    Ok(())
}

fn known<T>(record: &Record) -> std::result::Result<(), StoreError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    record.decode::<T>().map(drop)
}

/// What is wrong with what these records, by their keys, tell of digests, a sentence for each record. The digest of a
/// manifest is computed once for all of them. A tree that cannot be read is told where it is walked.
fn faults_of_digests(
    opened: &OpenStore,
    mut recorded: Vec<(String, RecordedDigest)>,
    progress: &mut Progress<'_>,
) -> Vec<String> {
    recorded.sort_unstable_by(|(key, one), (other_key, other)| {
        (one.manifest, key).cmp(&(other.manifest, other_key))
    });
    let same = recorded.chunk_by(|(_, one), (_, other)| one.manifest == other.manifest);
    let mut of_each: Vec<_> = same.collect();
    // In the order of keys those of a project come together: their trees have nodes in common, which memory has then.
    of_each.sort_unstable_by(|one, other| one[0].0.cmp(&other[0].0));
    let count = of_each.len();
    let mut faults = Vec::new();
    for (index, records) in of_each.into_iter().enumerate() {
        progress.say(|| format!("{index} of {count} digests computed again"));
        let manifest = records[0].1.manifest;
        let Ok(sha256) = computed(opened, manifest) else {
            continue;
        };
        let digits = sha256.to_string();
        for (key, recorded) in records {
            if !digits.starts_with(&recorded.digits) {
                faults.push(format!(
                    "record \"{key}\" is damaged: the digest of manifest {manifest} is {digits}"
                ));
            }
        }
    }
    faults
}

fn computed(opened: &OpenStore, manifest: ManifestId) -> std::result::Result<Sha256, StoreError> {
    let nodes = opened.projects.nodes();
    let root = nodes.manifest(manifest)?.root;
    Ok(Digested::new(nodes.as_ref(), root, None)?.sha256)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::base::digest::sha256;
    use crate::base::id::ManifestId;
    use crate::cli::tests::Desk;
    use crate::object::key;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{Batch, Expect, Store as _};

    #[test]
    fn each_record_that_tells_a_wrong_digest_is_named() {
        let desk = Desk::with_project();
        let refs = desk.json(&["debug", "refs", "--json"]);
        let manifest: ManifestId = refs[0]["manifest"].as_str().unwrap().parse().unwrap();
        let wrong = sha256(b"");
        let (kept, id) = (json!({ "sha256": wrong }), json!({ "manifest": manifest }));
        let records = [
            (key::digest(manifest), &kept),
            (key::commit(1, wrong, 7), &id),
            (key::commit(1, wrong, 8), &id),
        ];
        let mut batch = Batch::default();
        for (key, value) in &records {
            batch.write(key.clone(), Expect::Anything, value);
        }
        let store = SqliteStore::open_beside(&desk.path("data")).unwrap();
        store.commit(batch).unwrap();
        desk.done(&["debug", "check"]);
        let ran = desk.run(&["debug", "check", "--deep"]);
        for (key, _) in &records {
            let told =
                format!("record \"{key}\" is damaged: the digest of manifest {manifest} is ");
            assert!(ran.out.contains(&told), "{told}: {ran:?}");
        }
        assert!(ran.out.ends_with("; 3 findings\n"), "{ran:?}");
    }
}
