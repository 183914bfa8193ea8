//! Objects and records as bytes and back, by `objects-layout.md`.
//!
//! Everything here is pure: no input or output, and no knowledge of where bytes live.

pub mod audit;
pub mod audit_pack;
pub mod key;
pub mod manifest;
pub mod node;
pub mod record;

mod codec;

pub use codec::DecodeError;
