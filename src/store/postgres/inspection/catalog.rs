//! The tables, indexes and functions of a store, as the database describes them, held against those that the steps
//! of the schema make.

use std::collections::BTreeSet;

use super::PostgresStore;
use crate::store::{Result, StoreError};

/// What the steps make: what [`DESCRIBE`] gives of a new store, in order.
const MADE: &str = include_str!("made.txt");
/// A line for each column, index and function: its name, and behind a tab what it is.
const DESCRIBE: &str = include_str!("describe.sql");
const STEP: &str = "SELECT schema FROM siteconf.format";

impl PostgresStore {
    /// What of it is not there as it was made. What somebody has added does no harm, and a later step may have made
    /// something else.
    pub(super) fn altered(&self) -> Result<Vec<String>> {
        let rows = self.read(STEP, [])?;
        let step: i32 = rows.first().ok_or(StoreError::Unavailable)?.try_get(0)?;
        let mut made = MADE.lines();
        if made.next() != Some(format!("schema {step}").as_str()) {
            return Ok(Vec::new());
        }
        let mut there = BTreeSet::new();
        for row in self.read(DESCRIBE, [])? {
            there.insert(row.try_get::<_, String>(0)?);
        }
        let altered = made.filter(|line| !there.contains(*line));
        Ok(altered
            .map(|line| {
                let name = line.split('\t').next().unwrap_or(line);
                format!("{name} is missing, or is not as siteconf made it")
            })
            .collect())
    }
}
