//! The audit log: who may read it, and what is refused told in it.

mod budgets;
mod refusals;

pub(super) use refusals::Refusals;
pub use refusals::{Refused, UNKNOWN_ACCOUNT};
