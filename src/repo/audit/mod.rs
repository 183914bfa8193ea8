//! The audit log: who did what, in the order of the commits.
//!
//! A record is committed together with what it tells of, so one is never there without the other. It is
//! never changed; what is older than the service keeps is removed from the log's beginning, and what is
//! not new is packed together.

mod entry;
mod log;
mod pack;
mod reach;
mod shown;

use crate::object::key;
use crate::store::Batch;

pub use crate::object::audit::{Action, AuditRecord, detail};
pub use entry::{Chunk, Entry};
pub use log::{Filter, Page};
pub use shown::Shown;

/// Has a commit tell this in the log.
pub fn add(batch: &mut Batch, record: &AuditRecord) {
    batch.append_to(key::AUDIT, record);
}
