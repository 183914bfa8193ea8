//! The only form in which passwords are kept, and the memory in which they are hashed.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash as Phc, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use serde::{Deserialize, Serialize};

use crate::base::threads::lock;

/// Memory of one hashing, in KiB: the least that OWASP names beside two passes. No stored hash may ask
/// for more: a damaged record must not take the machine down.
const MEMORY_KIB: u32 = 19_456;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Most passes that a stored hash may ask for.
const STORED_PASSES_MAX: u32 = 10;
/// Lanes that could be computed at once.
const FAIR_SHARDS: u32 = 1;
/// Length of a hash, in bytes.
const HASH_BYTES: usize = 32;

/// A hash with the same cost as a real one, which no password has.
const DUMMY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2l0ZWNvbmYtbm9ib2R5IQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The memory in which passwords are hashed: a piece of 19 MiB for each hashing that ever ran at the
/// same time as others, made once and used again. Allocated for each hashing and freed, it would stay
/// with the allocator once for every thread that ever hashed.
#[derive(Clone, Default)]
pub(in crate::access) struct HashingMemory(Arc<Mutex<Vec<Vec<Block>>>>);

impl HashingMemory {
    /// The hash, of this many bytes. `None` for a salt or a length that argon2 does not take.
    fn hash(&self, cost: Params, password: &str, salt: &Salt, bytes: usize) -> Option<Output> {
        let mut memory = self.free().pop().unwrap_or_default();
        memory.resize(cost.block_count(), Block::new());
        let argon2id = Argon2::new(Algorithm::Argon2id, Version::V0x13, cost);
        let mut hash = [0; Output::MAX_LENGTH];
        let hash = &mut hash[..bytes];
        let outcome = argon2id.hash_password_into_with_memory(
            password.as_bytes(),
            salt,
            hash,
            &mut memory[..],
        );
        self.free().push(memory);
        outcome.ok().and_then(|()| Output::new(hash).ok())
    }

    fn free(&self) -> MutexGuard<'_, Vec<Vec<Block>>> {
        lock(&self.0)
    }
}

impl fmt::Debug for HashingMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashingMemory(..)")
    }
}

/// An argon2id hash as a PHC string. It is written into a record and shown nowhere else.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::access) struct PasswordHash(String);

impl PasswordHash {
    /// Hashes a new password under a random salt. Takes some 25 ms.
    pub(in crate::access) fn new(memory: &HashingMemory, password: &str) -> Self {
        let cost =
            Params::new(MEMORY_KIB, PASSES, FAIR_SHARDS, None).expect("constants within bounds");
        let params = ParamsString::try_from(&cost).expect("numbers have a text");
        let salt = Salt::new(&rand::random::<[u8; 16]>()).expect("16 bytes are within its bounds");
        let hash = memory
            .hash(cost, password, &salt, HASH_BYTES)
            .expect("password, salt and parameters are within argon2's bounds");
        let phc = Phc {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params,
            salt: Some(salt),
            hash: Some(hash),
        };
        Self(phc.to_string())
    }

    /// A hash that takes as long to check as any other and matches nothing: for a name without an account.
    pub(in crate::access) fn dummy() -> Self {
        Self(DUMMY.to_owned())
    }

    /// True if this is the hash of the password, byte for byte as it was received.
    pub(in crate::access) fn matches(&self, memory: &HashingMemory, password: &str) -> bool {
        let Some((cost, salt, stored)) = self.read() else {
            tracing::error!("a stored password hash cannot be read");
            return false;
        };
        // The comparison of two outputs takes the same time wherever they differ.
        memory.hash(cost, password, &salt, stored.len()) == Some(stored)
    }

    /// Cost, salt and hash, if they are of an argon2id hash that this service may have made.
    fn read(&self) -> Option<(Params, Salt, Output)> {
        let phc = Phc::new(&self.0).ok()?;
        let cost = Params::try_from(&phc).ok()?;
        let is_ours = phc.algorithm == Algorithm::Argon2id.ident()
            && phc.version == Some(Version::V0x13.into())
            && cost.m_cost() <= MEMORY_KIB
            && cost.t_cost() <= STORED_PASSES_MAX;
        is_ours.then_some((cost, phc.salt?, phc.hash?))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> HashingMemory {
        HashingMemory::default()
    }

    #[test]
    fn only_the_same_bytes_match() {
        let hash = PasswordHash::new(&memory(), "пароль 1");
        assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(format!("{hash:?}"), "PasswordHash(..)");
        assert!(hash.matches(&memory(), "пароль 1"));
        for wrong in ["пароль 1 ", "Пароль 1", "пароль", ""] {
            assert!(!hash.matches(&memory(), wrong), "{wrong}");
        }
        assert_ne!(
            hash.0,
            PasswordHash::new(&memory(), "пароль 1").0,
            "no new salt"
        );
    }

    #[test]
    fn memory_is_used_again() {
        let memory = memory();
        let hash = PasswordHash::new(&memory, "long enough");
        let place = memory.free()[0].as_ptr();
        assert!(hash.matches(&memory, "long enough") && !hash.matches(&memory, "something else"));
        let free = memory.free();
        assert_eq!((free.len(), free[0].as_ptr()), (1, place));
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
        let real = PasswordHash::new(&memory(), "long enough");
        assert_eq!(cost(&PasswordHash::dummy()), cost(&real));
        assert!(!PasswordHash::dummy().matches(&memory(), "long enough"));
    }

    #[test]
    fn a_hash_that_asks_for_too_much_or_is_damaged_matches_nothing() {
        let rest = "c2l0ZWNvbmYtbm9ib2R5IQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for text in [
            format!("$argon2id$v=19$m=19457,t=2,p=1${rest}"),
            format!("$argon2id$v=19$m=19456,t=4000000,p=1${rest}"),
            "password".to_owned(),
        ] {
            assert!(!PasswordHash(text).matches(&memory(), "password"));
        }
    }
}
