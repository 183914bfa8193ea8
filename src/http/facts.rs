//! What is told of the service that this layer does not know by itself.

use std::fmt;

use serde::Serialize;

use crate::access::Census;

/// What whoever runs the service knows of it. Neither function may count or search: they answer a request.
pub trait Facts: fmt::Debug + Send + Sync {
    /// What was last counted; `None` before the first count.
    fn census(&self) -> Option<Census>;

    /// How the store is.
    fn store(&self) -> StoreFacts;
}

/// How the store is, as clients are told it.
#[derive(Clone, Debug, Serialize)]
pub struct StoreFacts {
    /// The format of its folder, or what it lies in.
    pub format: String,
    /// Its parts, in bytes.
    pub bytes: StoreBytes,
    /// Its objects by what they are, as last counted; empty before the first count.
    pub objects: Vec<ObjectCount>,
    /// The state that the last successful backup holds is of then.
    pub last_backup: Option<String>,
    /// The last collection of what nothing needs.
    pub last_collection: Option<LastCollection>,
}

/// What the store takes on the disk, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StoreBytes {
    /// The database; `None` before the first count of one that is asked for it.
    pub database: Option<u64>,
    /// The log of the database.
    pub log: u64,
    /// Large files; `None` before the first count.
    pub files: Option<u64>,
}

/// Objects of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectCount {
    /// The kind.
    pub kind: String,
    /// How many there are.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the last collection found.
#[derive(Clone, Debug, Serialize)]
pub struct LastCollection {
    /// When it ended.
    pub at: String,
    /// Bytes that the heads of branches needed.
    pub live_bytes: u64,
    /// Bytes that only older states needed.
    pub old_bytes: u64,
}
