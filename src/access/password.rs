//! Passwords: the rule for new ones, and the only form in which they are kept.

use std::fmt;

use argon2::password_hash::phc::PasswordHash as Phc;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use crate::base::limits::{PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN};

/// Memory of one hashing, in KiB: the least that OWASP names beside two passes.
const MEMORY_KIB: u32 = 19_456;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Lanes that could be computed at once.
const LANES: u32 = 1;
/// Most memory that a stored hash may ask for, in KiB, and most passes: a damaged record must not
/// take the machine down.
const STORED_MEMORY_KIB_MAX: u32 = 262_144;
const STORED_PASSES_MAX: u32 = 10;

/// A hash with the same cost as a real one, which no password has.
const DUMMY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2l0ZWNvbmYtbm9ib2R5IQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// An argon2id hash as a PHC string. It is written into a record and shown nowhere else.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PasswordHash(String);

impl PasswordHash {
    /// Hashes a new password under a random salt. Takes some 25 ms and 19 MiB.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the password is shorter than [`PASSWORD_BYTES_MIN`] or longer than
    /// [`PASSWORD_BYTES_MAX`]. Any characters are allowed, and none is changed.
    pub(super) fn new(password: &str) -> Result<Self> {
        if !(PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&password.len()) {
            return Err(Error::invalid(format!(
                "malformed password: it must have {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes"
            )));
        }
        let salt: [u8; 16] = rand::random();
        let hash = argon2id()
            .hash_password_with_salt(password.as_bytes(), &salt)
            .expect("password, salt and parameters are within argon2's bounds");
        Ok(Self(hash.to_string()))
    }

    /// A hash that takes as long to check as any other and matches nothing: for a name without an account.
    pub(super) fn dummy() -> Self {
        Self(DUMMY.to_owned())
    }

    /// True if this is the hash of the password, byte for byte as it was received.
    pub(super) fn matches(&self, password: &str) -> bool {
        let Ok(stored) = Phc::new(&self.0) else {
            tracing::error!("a stored password hash cannot be read");
            return false;
        };
        let bearable = Params::try_from(&stored).is_ok_and(|cost| {
            cost.m_cost() <= STORED_MEMORY_KIB_MAX && cost.t_cost() <= STORED_PASSES_MAX
        });
        bearable
            && argon2id()
                .verify_password(password.as_bytes(), &stored)
                .is_ok()
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

fn argon2id() -> Argon2<'static> {
    let cost = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("constants within bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_match() {
        let hash = PasswordHash::new("пароль 1").unwrap();
        assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(format!("{hash:?}"), "PasswordHash(..)");
        assert!(hash.matches("пароль 1"));
        for wrong in ["пароль 1 ", "Пароль 1", "пароль", ""] {
            assert!(!hash.matches(wrong), "{wrong}");
        }
        assert_ne!(
            hash.0,
            PasswordHash::new("пароль 1").unwrap().0,
            "no new salt"
        );
    }

    #[test]
    fn a_new_password_has_its_length() {
        for wrong in [
            "1234567".to_owned(),
            String::new(),
            "x".repeat(PASSWORD_BYTES_MAX + 1),
        ] {
            let refused = PasswordHash::new(&wrong).unwrap_err().to_string();
            assert_eq!(refused, "malformed password: it must have 8 to 1024 bytes");
        }
        let longest = "x".repeat(PASSWORD_BYTES_MAX);
        assert!(PasswordHash::new(&longest).unwrap().matches(&longest));
    }

    #[test]
    fn dummy_hash_costs_what_a_real_one_does() {
        let cost = |hash: &PasswordHash| {
            let phc = Phc::new(&hash.0).unwrap();
            let params = Params::try_from(&phc).unwrap();
            (
                params.m_cost(),
                params.t_cost(),
                params.p_cost(),
                phc.salt.unwrap().len(),
                phc.hash.unwrap().len(),
            )
        };
        let real = PasswordHash::new("long enough").unwrap();
        assert_eq!(cost(&PasswordHash::dummy()), cost(&real));
        assert!(!PasswordHash::dummy().matches("long enough"));
    }

    #[test]
    fn a_hash_that_asks_for_too_much_or_is_damaged_matches_nothing() {
        let rest = "c2l0ZWNvbmYtbm9ib2R5IQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for text in [
            format!("$argon2id$v=19$m=4194304,t=2,p=1${rest}"),
            format!("$argon2id$v=19$m=19456,t=4000000,p=1${rest}"),
            "password".to_owned(),
        ] {
            assert!(!PasswordHash(text).matches("password"));
        }
    }
}
