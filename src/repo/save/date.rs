//! Dates that changes bring along.

use super::Change;
use crate::base::clock::Timestamp;
use crate::repo::{Error, Result};

/// The date that a change brings along.
pub(super) fn date_of(change: &Change) -> Option<Timestamp> {
    match change {
        Change::Import { date, .. } => *date,
        _ => None,
    }
}

/// Refuses a date before the last change of the branch.
pub(in crate::repo) fn in_order(date: Option<Timestamp>, last: Timestamp) -> Result<()> {
    match date {
        Some(date) if date < last => Err(Error::invalid(format!(
            "the branch was last changed at {last}, and the dates of a branch do not go back: {date} is \
             too early"
        ))),
        _ => Ok(()),
    }
}
