//! Counters that have lost what they gave: the next number would be one that something has already.

use std::collections::BTreeMap;

use super::orphans::{number_in, readable};
use crate::cli::Result;
use crate::store::inspection::Inspectable;
use crate::store::{Record, Store};

/// What a walk over all records tells of the numbers that were given.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// By counter the highest number that is in a key, and that key.
    highest: BTreeMap<&'static str, (u64, String)>,
}

impl Counters {
    /// Takes a record; in whatever order they come.
    pub(super) fn meet(&mut self, record: &Record) {
        for (counter, number) in numbers_in(&record.key) {
            let highest = self.highest.entry(counter).or_default();
            if number > highest.0 {
                *highest = (number, record.key.clone());
            }
        }
    }

    /// A sentence for each counter below a number that was met. It is read now, for beside a daemon it rises.
    pub(super) fn findings(self, store: &dyn Inspectable) -> Result<Vec<String>> {
        let store: &dyn Store = store;
        let mut findings = Vec::new();
        for (counter, (highest, key)) in self.highest {
            let Some(last) = readable(store.value::<u64>(counter))? else {
                continue;
            };
            let last = last.map_or(0, |last| *last.value);
            if last < highest {
                findings.push(format!(
                    "record \"{counter}\" says {last}, and record \"{key}\" has a later number: numbers would be given \
                     twice, so let nobody make anything in this store, and restore an earlier backup"
                ));
            }
        }
        Ok(findings)
    }
}

/// The numbers in a key, by the counters that gave them.
fn numbers_in(key: &str) -> impl Iterator<Item = (&'static str, u64)> {
    let mut parts = key.split('/');
    let (kind, numbers) = (
        parts.next().unwrap_or_default(),
        [parts.next(), parts.next()],
    );
    let counters = match kind {
        "project" | "deleted-project" => [Some("counter/project"), None],
        "branch" | "deleted-branch" => [Some("counter/project"), Some("counter/branch")],
        "snapshot" => [Some("counter/branch"), None],
        "account" => [Some("counter/account"), None],
        "token" => [Some("counter/account"), Some("counter/token")],
        _ => [None; 2],
    };
    counters
        .into_iter()
        .zip(numbers)
        .filter_map(|(counter, number)| Some((counter?, number.and_then(number_in)?)))
}
