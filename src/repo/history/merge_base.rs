//! Where the histories of two states part.

use std::collections::HashSet;

use super::commits::States;
use crate::base::limits::MERGE_BASE_STATES_MAX;
use crate::repo::{Result, Revision};

/// The state from which two others came: the older of them when the other came from it, else the
/// newest state of the second one's history that is in the first one's, too. Branches that were made
/// `from` a revision have one. A state without files is where every branch begins, so it counts only
/// within one branch. `None` when there is no such state.
///
/// # Limits
/// Each history is followed over at most 10,000 states.
pub fn merge_base(first: &Revision, second: &Revision) -> Result<Option<Revision>> {
    let of_second = states(second, Some(first))?;
    if of_second.last().is_some_and(|last| last.id() == first.id()) {
        return Ok(Some(first.clone()));
    }
    let of_first = states(first, Some(second))?;
    if of_first.last().is_some_and(|last| last.id() == second.id()) {
        return Ok(Some(second.clone()));
    }
    let shared: HashSet<_> = of_first.iter().map(Revision::id).collect();
    let within_one = first.branch_number() == second.branch_number();
    let mut of_second = of_second.into_iter();
    Ok(of_second
        .find(|state| shared.contains(&state.id()) && (within_one || state.totals().files > 0)))
}

/// The states of a revision's branch from it back, newest first; `until` one is met.
fn states(from: &Revision, until: Option<&Revision>) -> Result<Vec<Revision>> {
    let mut walk = States::of(&from.branch()?);
    let mut found = Vec::new();
    while let Some(state) = walk.peek() {
        if !found.is_empty() || state.id() == from.id() {
            found.push(state.clone());
        }
        let is_last = until.is_some_and(|until| until.id() == state.id()) && !found.is_empty();
        if is_last || found.len() == MERGE_BASE_STATES_MAX {
            break;
        }
        walk.step()?;
    }
    Ok(found)
}
