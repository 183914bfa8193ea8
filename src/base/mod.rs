//! Values every layer shares: ids, digests, checked names, time, limits, secrets, the build.
//!
//! Nothing here does input or output, and nothing here knows another layer.

pub mod account_name;
pub mod actor;
pub mod branch_name;
pub mod build;
pub mod cache;
pub mod clock;
pub mod digest;
pub mod file_path;
pub mod hex_number;
pub mod id;
pub mod limits;
pub mod name_error;
pub mod outboard;
pub mod reads;
pub mod repo_id;
pub mod secret;
pub mod snapshot_version;
pub mod tally;
pub mod threads;
pub mod tls;

pub use threads::may_block;
