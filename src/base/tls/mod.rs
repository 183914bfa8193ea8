//! What is told of certificates and keys, as a server and as a client.

mod distrust;

pub use distrust::distrust;

/// The kinds of private keys that TLS takes, in words.
pub const KEY_KINDS: &str = "RSA of 2048 to 4096 bits, ECDSA (P-256, P-384) or Ed25519";
