//! Records: a line with the key, then the value. What is taken is the same when it was written and read again.

use std::fmt::Debug;

use bytes::Bytes;
use serde_json::{from_slice, to_vec};
use siteconf::access;
use siteconf::object::audit::AuditRecord;
use siteconf::object::audit_pack::{AuditPack, time_of};
use siteconf::object::record::{
    BranchRecord, ClockRecord, CommitRecord, DeletedRecord, DigestRecord, ProjectRecord,
    SkippedRecord, SnapshotRecord,
};
use siteconf::store::Record;

pub(crate) fn hold(input: &[u8]) {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (key, value) = (&input[..end], &input[end + 1..]);
    let Ok(key) = std::str::from_utf8(key) else {
        return;
    };
    match key.split('/').next().unwrap_or_default() {
        "project" => holds::<ProjectRecord>(value),
        "branch" => holds::<BranchRecord>(value),
        "deleted-project" => holds::<DeletedRecord<ProjectRecord>>(value),
        "deleted-branch" => holds::<DeletedRecord<BranchRecord>>(value),
        "snapshot" => holds::<SnapshotRecord>(value),
        "digest" => holds::<DigestRecord>(value),
        "commit" => holds::<CommitRecord>(value),
        "clock" => holds::<ClockRecord>(value),
        "clock-skipped" => holds::<SkippedRecord>(value),
        "audit" => {
            holds::<AuditRecord>(value);
            packed(value);
        }
        "audit-pack" => unpacked(value),
        _ => {
            let record = Record::new(key.to_owned(), 7, Bytes::copy_from_slice(value));
            if let Some(Err(damaged)) = access::decode_record(&record) {
                assert!(!damaged.to_string().is_empty());
            }
        }
    }
}

fn holds<T>(value: &[u8])
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug,
{
    let Ok(record) = from_slice::<T>(value) else {
        return;
    };
    let written = to_vec(&record).expect("it is JSON");
    let again: T = from_slice(&written).expect("what was written is read");
    assert_eq!(again, record);
    assert_eq!(to_vec(&again).expect("it is JSON"), written);
}

/// A value that has a time is packed with another one, and both come back to the byte.
fn packed(value: &[u8]) {
    let other: &[u8] = br#"{"at":5,"by":"eve"}"#;
    let records = [(3, value), (7, other)];
    let (pack, ids) = AuditPack::new(records.into_iter()).expect("one of them has a time");
    let lines = pack.records().expect("it was packed just now");
    let kept = records.iter().filter(|(_, value)| time_of(value).is_some());
    let kept: Vec<_> = kept.map(|(id, value)| (*id, value.to_vec())).collect();
    assert_eq!(ids, kept.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    assert_eq!(lines, kept);
}

fn unpacked(value: &[u8]) {
    let Ok(pack) = from_slice::<AuditPack>(value) else {
        return;
    };
    holds::<AuditPack>(value);
    let Ok(lines) = pack.records() else {
        return;
    };
    assert_eq!(lines.len() as u64, pack.count);
    assert_eq!(lines.last().map(|(id, _)| *id), Some(pack.last));
    assert!(lines.is_sorted_by(|(a, _), (b, _)| a < b));
}
