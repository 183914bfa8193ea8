//! Passwords: the rule for new ones, and the only form in which they are kept.

mod hash;
mod rule;

use crate::base::secret::random_hex;
pub(super) use hash::{HashingMemory, PasswordHash};
pub(super) use rule::check;

/// Makes up a password that nobody can guess: 128 random bits as 32 hexadecimal digits.
pub fn random_password() -> String {
    random_hex()
}
