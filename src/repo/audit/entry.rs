//! An entry of the log, and several at once.

use std::sync::Arc;

use crate::object::audit::AuditRecord;
use crate::store::Version;

/// A record of the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place: the version of its write.
    pub id: Version,
    /// What it tells.
    pub record: Arc<AuditRecord>,
}

/// The next entries in one direction.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The entries; there may be none where more are to come.
    pub entries: Vec<Entry>,
    /// The place beyond which the next chunk is.
    pub place: Option<Version>,
    /// True where the log ends.
    pub is_last: bool,
}
