//! What one commit takes.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use serde::Serialize;

use super::{PinName, Result, Staging, StoreError, Version};
use crate::base::id::{BlobId, Kind, ObjectId, Sha256};

/// Objects and record writes that become durable and visible together, or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Objects to put; one that is there already is left as it is.
    pub objects: Vec<NewObject>,
    /// Objects that must be there already.
    pub required: Vec<ObjectId>,
    /// True for objects that a later commit names: those that are there already are kept for it, too,
    /// as long as the caller holds a pin (see [`super::Store::pin`]).
    pub ahead: bool,
    /// The pins that have kept what it names until now.
    pub pins: Vec<PinName>,
    /// Records that are not written and must be as expected.
    pub expected: Vec<(String, Expect)>,
    /// Record writes, each with what it expects.
    pub writes: Vec<RecordWrite>,
    /// Records that come to the end of a log, after the writes.
    pub appends: Vec<RecordAppend>,
    /// True for a change that frees or protects, such as a deletion or a login: on a full disk it may
    /// use the room that is kept for such.
    pub uses_reserve: bool,
    /// True for what the service notes beside requests, such as the last use of a token: it adds next to
    /// nothing.
    pub is_upkeep: bool,
}

/// An object to put. Its id was computed from its bytes by the caller.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// The id.
    pub id: ObjectId,
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// SHA-256, for blobs.
    pub sha256: Option<Sha256>,
    /// The bytes, or where they already are.
    pub body: NewBody,
}

/// Where a new object's bytes are.
#[derive(Clone, Debug)]
pub enum NewBody {
    /// Here.
    Inline(Bytes),
    /// On their way in. The commit publishes them; one that is refused before it began, or is never
    /// tried, leaves nothing of them.
    Staged(Arc<StagedBody>),
    /// Published by [`super::Staging::publish`]; with the hashes of its pieces, as
    /// [`crate::base::outboard::Outboard`] encodes them, or nothing where they are not known.
    Published(Bytes),
}

/// A large body that is all there and has no name yet.
#[derive(Debug)]
pub struct StagedBody {
    staging: Mutex<Box<dyn Staging>>,
    outboard: Bytes,
    /// As [`Staging::place`].
    #[cfg_attr(
        not(feature = "fleet"),
        expect(dead_code, reason = "no engine without the feature chooses places")
    )]
    place: Option<String>,
}

impl StagedBody {
    /// A body that was written to its end, with the hashes of its pieces as for [`NewBody::Published`].
    pub fn new(staging: Box<dyn Staging>, outboard: Bytes) -> Self {
        Self {
            place: staging.place().map(str::to_owned),
            staging: Mutex::new(staging),
            outboard,
        }
    }

    /// Its bytes. The caller has looked how many they are.
    pub fn read_back(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut staging = self.staging();
        let read = staging.reread()?.read_to_end(&mut bytes);
        read.map_err(|e| StoreError::io("reading an upload back", e))?;
        Ok(bytes)
    }

    /// As [`Staging::committed`].
    pub(super) fn committed(&self) {
        self.staging().committed();
    }

    fn staging(&self) -> MutexGuard<'_, Box<dyn Staging>> {
        self.staging.lock().expect("no panic while held")
    }
}

impl NewObject {
    /// Publishes the body if it is staged.
    pub(super) fn publish(&self) -> Result<()> {
        let NewBody::Staged(body) = &self.body else {
            return Ok(());
        };
        let id = BlobId::from_bytes(*self.id.as_bytes());
        body.staging().publish(id)
    }

    /// The bytes for the object's row; `None` when they are a file's.
    pub fn inline(&self) -> Option<&Bytes> {
        match &self.body {
            NewBody::Inline(bytes) => Some(bytes),
            NewBody::Staged(_) | NewBody::Published(_) => None,
        }
    }

    /// The place of a body that has one of its own.
    #[cfg(feature = "fleet")]
    pub(super) fn place(&self) -> Option<&str> {
        match &self.body {
            NewBody::Staged(body) => body.place.as_deref(),
            NewBody::Inline(_) | NewBody::Published(_) => None,
        }
    }

    /// The hashes of the pieces of a file, where there are any.
    pub(super) fn outboard(&self) -> Option<&Bytes> {
        let outboard = match &self.body {
            NewBody::Inline(_) => return None,
            NewBody::Staged(body) => &body.outboard,
            NewBody::Published(outboard) => outboard,
        };
        Some(outboard).filter(|outboard| !outboard.is_empty())
    }
}

/// A record to write or delete.
#[derive(Clone, Debug)]
pub struct RecordWrite {
    /// The key.
    pub key: String,
    /// What must be there now.
    pub expect: Expect,
    /// The new value, `None` to delete.
    pub value: Option<Bytes>,
}

/// A record to add to a log: a folder whose records are in the order of their commits.
#[derive(Clone, Debug)]
pub struct RecordAppend {
    /// The folder, with its slash.
    pub folder: &'static str,
    /// The value.
    pub value: Bytes,
}

impl RecordAppend {
    /// The record's key when its write has this version: the folder, and the version as 16 hexadecimal
    /// digits.
    pub fn key(&self, version: Version) -> String {
        format!("{}{version:016x}", self.folder)
    }
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is there.
    Anything,
    /// No record.
    Absent,
    /// The record of this version.
    Version(Version),
}

impl Expect {
    /// True if a record of this version, `None` for no record, is what is expected.
    pub fn holds(self, found: Option<Version>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => found.is_none(),
            Self::Version(version) => found == Some(version),
        }
    }
}

impl Batch {
    /// Adds a record's new value.
    pub fn write<T: Serialize>(&mut self, key: String, expect: Expect, value: &T) {
        self.writes.push(RecordWrite {
            key,
            expect,
            value: Some(encoded(value)),
        });
    }

    /// Adds a record to the end of a log. Its key, [`RecordAppend::key`], comes of the version that the
    /// store gives its write: nobody else has it, and it is beyond that of every record committed before.
    /// So those who append do not stand in each other's way.
    pub fn append_to<T: Serialize>(&mut self, folder: &'static str, value: &T) {
        let value = encoded(value);
        self.appends.push(RecordAppend { folder, value });
    }

    /// Adds a deletion.
    pub fn delete(&mut self, key: String, expect: Expect) {
        self.writes.push(RecordWrite {
            key,
            expect,
            value: None,
        });
    }

    /// Has it committed only while a record is as expected, as often as that is said.
    pub fn expect(&mut self, record: (String, Expect)) {
        if !self.expected.contains(&record) {
            self.expected.push(record);
        }
    }

    /// Every record that must be as expected, written or not.
    pub(super) fn expectations(&self) -> impl Iterator<Item = (&str, Expect)> {
        let written = self.writes.iter().map(|write| (&write.key, write.expect));
        let others = self.expected.iter().map(|(key, expect)| (key, *expect));
        written
            .chain(others)
            .map(|(key, expect)| (key.as_str(), expect))
    }

    /// The bodies that the commit has to publish.
    pub(super) fn staged(&self) -> Vec<Arc<StagedBody>> {
        let staged = self.objects.iter().filter_map(|new| match &new.body {
            NewBody::Staged(body) => Some(Arc::clone(body)),
            NewBody::Inline(_) | NewBody::Published(_) => None,
        });
        staged.collect()
    }

    /// An empty batch for a change that frees or protects.
    pub fn with_reserve() -> Self {
        Self {
            uses_reserve: true,
            ..Self::default()
        }
    }

    /// A batch of what the service notes beside requests.
    pub fn upkeep() -> Self {
        Self {
            is_upkeep: true,
            ..Self::default()
        }
    }

    /// Adds everything of another batch. Both must be for changes that free or protect, if the whole is
    /// to be one.
    pub fn append(&mut self, mut other: Self) {
        self.objects.append(&mut other.objects);
        self.required.append(&mut other.required);
        self.ahead |= other.ahead;
        self.pins.append(&mut other.pins);
        self.expected.append(&mut other.expected);
        self.writes.append(&mut other.writes);
        self.appends.append(&mut other.appends);
        self.uses_reserve &= other.uses_reserve;
        self.is_upkeep &= other.is_upkeep;
    }

    /// True for a change that adds content, for which room must be free.
    pub(super) fn adds(&self) -> bool {
        !self.uses_reserve && !self.is_upkeep
    }
}

fn encoded<T: Serialize>(value: &T) -> Bytes {
    let value =
        serde_json::to_vec(value).expect("records serialize: string keys, no failing types");
    // Records are kept in memory: without room to grow.
    value.into_boxed_slice().into()
}
