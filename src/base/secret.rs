//! Secrets: random 256-bit values that leave the service once and are kept only as digests.

use std::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::digest::sha256;
use super::id::{Sha256, is_lower_hex};

/// How many hexadecimal digits a secret has (specification section 8).
pub const SECRET_DIGITS: usize = 64;

/// What a key is hashed under to be known again (`objects-layout.md`, "Records").
const KEY_PROOF_CONTEXT: &str = "siteconf 2026-11 server key proof v1";

/// Makes up 32 hexadecimal digits of 128 random bits: nobody guesses them, and they come only once.
pub fn random_hex() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}

/// A secret in the clear: a token, or the value of a session cookie. It has no `Display` and no
/// `Serialize`; who wants the text says [`Secret::reveal`].
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Makes one from the system's random source.
    pub fn generate() -> Self {
        Self(hex::encode(rand::random::<[u8; SECRET_DIGITS / 2]>()))
    }

    /// Takes a client's text, if it has the form of a secret: 64 lower-case hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let fine = text.len() == SECRET_DIGITS && is_lower_hex(text);
        fine.then(|| Self(String::from_utf8_lossy(text).into_owned()))
    }

    /// The text, to give it to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it. A plain SHA-256 is enough: there are 256 bits to guess.
    pub fn digest(&self) -> Sha256 {
        sha256(self.0.as_bytes())
    }

    /// The last six digits, by which its owner knows it again.
    pub fn suffix(&self) -> &str {
        &self.0[SECRET_DIGITS - 6..]
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The service's key: what instance fingerprints are digested under, so that a copy of the records
/// does not let anybody guess them.
#[derive(Clone)]
pub struct ServerKey([u8; 32]);

impl ServerKey {
    /// Makes one from the system's random source.
    pub fn generate() -> Self {
        Self(rand::random())
    }

    /// Reads the 64 hexadecimal digits of the key's file.
    pub fn parse(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(text.trim_end(), &mut key).ok()?;
        Some(Self(key))
    }

    /// The text for the key's file.
    pub fn reveal(&self) -> String {
        hex::encode(self.0)
    }

    /// What a store keeps to know its key again: 32 hexadecimal digits, from which the key cannot be
    /// had.
    pub fn proof(&self) -> String {
        hex::encode(self.seal(KEY_PROOF_CONTEXT, b"").as_bytes())
    }

    /// Digests an instance id for one token: equal ids of two tokens have unequal fingerprints.
    pub fn fingerprint(&self, token: u64, instance: &[u8]) -> Fingerprint {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&token.to_le_bytes());
        hasher.update(instance);
        Fingerprint(*hasher.finalize().as_bytes())
    }

    /// Seals bytes that a client keeps for the service and hands back: who does not have the key cannot
    /// make or alter them unnoticed. Seals of different purposes have nothing in common.
    pub fn seal(&self, purpose: &str, bytes: &[u8]) -> Seal {
        let key = blake3::derive_key(purpose, &self.0);
        let hash = blake3::keyed_hash(&key, bytes);
        let mut seal = [0; Seal::BYTES];
        seal.copy_from_slice(&hash.as_bytes()[..Seal::BYTES]);
        Seal(seal)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

/// Proof that some bytes were made by this service. It can be compared only in constant time.
#[derive(Clone, Copy)]
pub struct Seal([u8; Self::BYTES]);

impl Seal {
    /// How many bytes a seal has.
    pub const BYTES: usize = 16;

    /// The bytes, to send them along.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// True if these are the seal's bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        self.0.ct_eq(bytes).into()
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

/// A keyed digest of an instance id; hexadecimal digits in a record. It can be compared only in
/// constant time.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

impl TryFrom<String> for Fingerprint {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        hex::encode(fingerprint.0)
    }
}

impl Fingerprint {
    /// Compares without telling by its time where they differ (specification section 5.2).
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sixty_four_lower_case_digits_are_a_secret() {
        let secret = Secret::generate();
        let text = secret.reveal().to_owned();
        assert_eq!(
            Secret::parse(text.as_bytes()).map(|s| s.digest()),
            Some(secret.digest())
        );
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        let upper = "A".repeat(64);
        for wrong in ["", &text[1..], &format!("{text}0"), &upper, &"g".repeat(64)] {
            assert!(Secret::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_fingerprint_is_bound_to_key_token_and_instance() {
        let (key, other) = (ServerKey::generate(), ServerKey::generate());
        let print = key.fingerprint(1, b"erp-1");
        assert!(print.matches(&key.fingerprint(1, b"erp-1")));
        assert!(!print.matches(&key.fingerprint(2, b"erp-1")));
        assert!(!print.matches(&key.fingerprint(1, b"erp-2")));
        assert!(!print.matches(&other.fingerprint(1, b"erp-1")));
    }

    #[test]
    fn a_seal_is_bound_to_key_purpose_and_bytes() {
        let (key, other) = (ServerKey::generate(), ServerKey::generate());
        let seal = key.seal("a", b"bytes");
        assert!(seal.is(key.seal("a", b"bytes").as_bytes()));
        for different in [
            key.seal("b", b"bytes"),
            key.seal("a", b"byte"),
            other.seal("a", b"bytes"),
        ] {
            assert!(!seal.is(different.as_bytes()));
        }
        assert!(!seal.is(&seal.as_bytes()[1..]));
    }
}
