//! Dates of changes: those that they bring along, and those by which they age.

use super::Change;
use crate::base::clock::{CLOCK_DOUBT_S, Timestamp};
use crate::repo::steady_clock::SteadyClock;
use crate::repo::{Error, Result};

/// The date that a change brings along.
pub(super) fn date_of(change: &Change) -> Option<Timestamp> {
    match change {
        Change::Import { date, .. } => *date,
        _ => None,
    }
}

/// When a state is replaced now, where the date that its snapshot shows does not tell: one was given, or the
/// machine's clock is not set yet. By that, rules would take it for old at once.
pub(super) fn replaced_at(date: Option<Timestamp>, clock: &SteadyClock) -> Option<Timestamp> {
    let is_told = date.is_none() && clock.ahead_s() <= CLOCK_DOUBT_S;
    (!is_told).then(|| clock.now())
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
