//! Records that can be read, in the order of their keys: each that cannot is told, and hides no other.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cli::Result;
use crate::store::inspection::Inspectable;
use crate::store::{Record, Scan, Store, StoreError};

/// Records that are asked for at once.
const RECORDS_AT_ONCE: usize = 1000;

/// Calls `take` with what is left of the key behind the prefix, as the numbers that it must be, and with
/// the value of each record. Adds a sentence to the findings for each that is damaged.
pub(super) fn each_numbered<T: DeserializeOwned, const N: usize>(
    store: &dyn Inspectable,
    prefix: &str,
    findings: &mut Vec<String>,
    mut take: impl FnMut([u64; N], T),
) -> Result<()> {
    each_named(store, prefix, findings, |rest, value| {
        let numbers = numbers_in(rest).ok_or("its key does not end in numbers")?;
        take(numbers, value);
        Ok(())
    })
}

/// The same with what is left of the key as it is; `take` may say what is wrong with it.
pub(super) fn each_named<T: DeserializeOwned>(
    store: &dyn Inspectable,
    prefix: &str,
    findings: &mut Vec<String>,
    mut take: impl FnMut(&str, T) -> std::result::Result<(), &'static str>,
) -> Result<()> {
    each(store, prefix, findings, &mut |record| {
        let value = serde_json::from_slice(&record.value)
            .map_err(|source| record.damaged(source).to_string())?;
        let rest = record.key.strip_prefix(prefix).unwrap_or_default();
        take(rest, value).map_err(|fault| format!("record \"{}\": {fault}", record.key))
    })
}

/// Calls `take` with each record, which says what is wrong with it.
fn each(
    store: &dyn Inspectable,
    prefix: &str,
    findings: &mut Vec<String>,
    take: &mut dyn FnMut(&Record) -> std::result::Result<(), String>,
) -> Result<()> {
    let records: &dyn Store = store;
    let mut last: Option<Arc<Record>> = None;
    for some in records.pages(Scan {
        limit: RECORDS_AT_ONCE,
        ..Scan::prefix(prefix)
    }) {
        let some = match some {
            Ok(some) => some,
            Err(error) => {
                // A damaged record is met again below.
                if !matches!(error, StoreError::DamagedRecord { .. }) {
                    findings.push(unreadable(prefix, error)?);
                }
                let after = last.as_ref().map_or("", |last| last.key.as_str());
                for record in met(store, prefix, after, findings)? {
                    findings.extend(take(&record).err());
                }
                return Ok(());
            }
        };
        for record in &some {
            findings.extend(take(record).err());
        }
        last = some.last().cloned();
    }
    Ok(())
}

/// What is told of records under a prefix that the database cannot read.
///
/// # Errors
/// An error that says nothing of these records.
pub(super) fn unreadable(prefix: &str, error: StoreError) -> Result<String> {
    match error {
        StoreError::Engine(source) | StoreError::DamagedEngine { source, .. } => {
            Ok(format!("records \"{prefix}…\": database: {source}"))
        }
        error => Err(error.into()),
    }
}

/// The records under a prefix, behind this key, that a walk over all records meets: for where the way to
/// them is damaged.
fn met(
    store: &dyn Inspectable,
    prefix: &str,
    after: &str,
    findings: &mut Vec<String>,
) -> Result<Vec<Record>> {
    let mut met = Vec::new();
    store.survey_records(&mut |record| match record {
        Ok(record) if record.key.starts_with(prefix) && record.key.as_str() > after => {
            met.push(record);
        }
        Ok(_) => {}
        // Each walk meets it again.
        Err(fault) if findings.contains(&fault) => {}
        Err(fault) => findings.push(fault),
    })?;
    met.sort_by(|a, b| a.key.cmp(&b.key));
    met.dedup_by(|a, b| a.key == b.key);
    Ok(met)
}

/// The numbers that this part of a key is.
fn numbers_in<const N: usize>(rest: &str) -> Option<[u64; N]> {
    let numbers = rest
        .split('/')
        .map(|digits| u64::from_str_radix(digits, 16));
    let numbers: Vec<_> = numbers.collect::<std::result::Result<_, _>>().ok()?;
    numbers.try_into().ok()
}
