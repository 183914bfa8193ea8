//! Passwords: the rule for new ones, and the only form in which they are kept.

mod hash;
mod rule;

pub(super) use hash::{HashingMemory, PasswordHash};
pub(super) use rule::check;
