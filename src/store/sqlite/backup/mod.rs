//! Backups of a running store, and stores made of them (`objects-layout.md`, "Backup").
//!
//! A backup is a set of files that never change under their names, and a manifest with the sum of each.
//! It lies in a folder, which a later backup brings up to date with what is new, or it is one tar stream
//! of the same files.

mod blob_reader;
mod create;
mod error;
mod manifest;
mod pace;
mod part;
mod place;
mod refresh;
mod restore;
mod rows;
mod server_key;
mod session;
mod source;
mod spool;
mod table;
mod verify;

pub use create::{Made, create};
pub use error::{BackupError, Result, Step, Tell};
pub use place::target::Target;
pub use restore::{Extent, Restored, restore};
pub use server_key::KnownKey;
pub use source::Source;
pub use verify::{Verified, verify};
