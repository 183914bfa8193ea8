//! What an engine offers to those who look into a store, also into a damaged one: what can be read is read, and
//! one damaged place hides no other. What it means is decided above.

mod common_settings;
pub(super) mod row;

use std::fmt;

use serde::Serialize;

use super::collection::KeptByCollection;
use super::{ObjectRow, Record, Result, Store};
use crate::base::clock::Timestamp;
use crate::base::id::ObjectId;
pub use common_settings::CommonSettings;

/// A value that could be read, or a sentence that says what is wrong in its place.
pub type Readable<T> = std::result::Result<T, String>;

/// Keeps collections from beginning until it is dropped.
pub type NoCollection = Box<dyn fmt::Debug + Send>;

/// What lies where large files lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LargeFile {
    /// The file of this blob, as far as that is known without reading it.
    Of(ObjectId),
    /// The file of this blob is not there, or has another length.
    Damaged {
        /// The blob.
        id: ObjectId,
        /// What is wrong.
        reason: String,
    },
    /// A file that no row names, by its name.
    Unnamed(String),
}

/// What an engine tells of itself at a glance. Each part that cannot be read is an error of its own, and what an
/// engine has none of is `None`.
#[derive(Debug)]
pub struct Overview {
    /// The version of the format of a folder.
    pub format: Option<String>,
    /// What to do about a format that is not today's: a sentence without its end.
    pub advice: Option<String>,
    /// The numbers of the tables of a database.
    pub schema: Result<Option<SchemaSteps>>,
    /// Who serves the store.
    pub service: Result<Service>,
    /// The build of the one process that serves the store, where it tells.
    pub build: Option<String>,
    /// The room on the disk that the service which runs keeps free, in bytes, where it tells.
    pub kept_free: Option<u64>,
    /// Why changes are refused; `None` while they are not, as far as can be told.
    pub writes_refused: Result<Option<Refusal>>,
    /// Whether commits wait for a standby.
    pub standby: Result<Option<Standby>>,
    /// What the database takes, in bytes, without large files.
    pub database_bytes: Result<u64>,
    /// Bytes of it that hold nothing and are used again.
    pub unused_bytes: Result<Option<u64>>,
    /// True if the database holds its pages against checksums.
    pub page_checksums: Result<Option<bool>>,
    /// Bytes of the log that lies beside it.
    pub log_bytes: Option<u64>,
    /// When the last backup was made.
    pub last_backup: Result<Option<Timestamp>>,
    /// What the last collection kept that came to its end.
    pub last_collection: Result<Option<KeptByCollection>>,
}

/// Why changes are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What ends it: words that follow "until".
    pub until: &'static str,
    /// What was found.
    pub why: String,
}

/// The numbers of the tables of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaSteps {
    /// The last step that was taken.
    pub step: i32,
    /// The least step that a program must know to write.
    pub writer_min: i32,
}

/// Who serves a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// The one process that can; `None` where there is none now.
    Process(Option<u32>),
    /// Daemons that gave a sign of life in the last ten seconds.
    Daemons(Vec<DaemonSeen>),
}

/// A daemon that others can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSeen {
    /// The name of its machine.
    pub host: String,
    /// The version of its program.
    pub version: String,
    /// When it began to serve, by the clock of the database.
    pub began: Timestamp,
    /// What it refuses, and why: words that follow "refuses". They begin with "everything" or "changes" where changes
    /// are refused.
    pub refuses: Option<String>,
    /// What it has of the settings that must be the same at all; nothing of one that was not heard of since another
    /// began, which may have ended.
    pub settings: CommonSettings,
}

impl DaemonSeen {
    /// True if changes are refused, and not large files alone.
    pub fn refuses_changes(&self) -> bool {
        let starts = |refuses: &String| {
            ["everything", "changes"]
                .iter()
                .any(|what| refuses.starts_with(what))
        };
        self.refuses.as_ref().is_some_and(starts)
    }
}

/// Synchronous standbys, for which commits wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Standby {
    /// For how many commits wait.
    pub wanted: u64,
    /// How many follow; `None` where that may not be seen.
    pub following: Option<u64>,
}

/// A number of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectsHeld {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of them that lie apart from the rows.
    pub large_bytes: u64,
}

/// An engine into which one can look. What others write meanwhile may be missed, or met twice.
pub trait Inspectable: Store {
    /// Calls `visit` with the row of every object, in whatever order, and with a sentence for each row that is not
    /// as it must be, or cannot be read.
    ///
    /// # Errors
    /// Where none can be read any more, as of all that follows.
    fn survey_objects(&self, visit: &mut dyn FnMut(Readable<ObjectRow>)) -> Result<()>;

    /// Calls `visit` with every record, in whatever order, and with a sentence for each that cannot be read.
    fn survey_records(&self, visit: &mut dyn FnMut(Readable<Record>)) -> Result<()>;

    /// Calls `visit` with what lies where large files lie, and with a sentence for what cannot be told.
    ///
    /// # Errors
    /// Where none of it can be looked at.
    fn survey_files(&self, visit: &mut dyn FnMut(Readable<LargeFile>)) -> Result<()>;

    /// Looks whether large files can be had where they lie, as far as that is known without reading them.
    ///
    /// # Errors
    /// [`super::StoreError::UnfitBucket`], [`super::StoreError::BucketAway`].
    fn require_files(&self) -> Result<()>;

    /// What is wrong with the database itself, a sentence each, as far as a look at all of it tells.
    fn examine(&self) -> Result<Vec<String>>;

    /// What is known of commits that are lost, a sentence.
    fn lost_commits(&self) -> Result<Option<String>>;

    /// How many records there are under a prefix, damaged or not.
    fn count_records(&self, prefix: &str) -> Result<u64>;

    /// Keeps collections from beginning: what they remove would look lost.
    ///
    /// # Errors
    /// [`super::StoreError::Underway`] beside one.
    fn hold_off_collections(&self) -> Result<NoCollection>;

    /// What the engine tells of itself, none of which takes long.
    fn overview(&self) -> Overview;

    /// All objects, counted: there is no way to it but a look at the row of each, which takes minutes of a large store.
    fn objects_held(&self) -> Result<ObjectsHeld>;

    /// Who serves the store.
    fn service(&self) -> Result<Service>;
}
