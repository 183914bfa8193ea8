//! Where bytes live: objects under their ids, and records under ordered keys.
//!
//! This layer moves bytes. It does not know what a node or a record means, and it must not import
//! `object`: an engine cannot come to depend on a format, nor a format on an engine.

pub mod background_writes;
pub mod batch;
#[cfg(feature = "fleet")]
pub mod bucket;
pub mod bucket_access;
pub mod bucket_url;
pub mod buffer;
pub mod collection;
pub mod database_url;
pub mod engine;
pub mod error;
pub mod inspection;
pub mod memory;
pub mod objects;
#[cfg(feature = "fleet")]
pub mod postgres;
pub mod record_cache;
pub mod records;
#[cfg(feature = "fleet")]
mod remote;
pub mod retry;
pub mod small_file;
pub mod sqlite;
pub mod transfer;
pub mod watchers;
pub mod writes;

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;

use crate::base::cache::CacheUse;
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, Kind, ObjectId, Sha256};
use crate::base::limits::READ_CHUNK_BYTES;
use crate::base::reads::Reads;

pub use batch::{Batch, Expect, NewBody, NewObject, RecordAppend, RecordWrite, StagedBody};
pub use error::{Result, StoreError};
pub use records::{Folder, Record, Versioned};
pub use watchers::{Changed, Watch};
pub use writes::{LargeBodies, Writes};

/// A record's version: the number of the write that made it, rising through the whole store.
pub type Version = u64;

/// See [`Store::catch_up`].
pub type CatchUp = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// See [`Store::commit_observed`].
pub type Observe = Box<dyn FnOnce(&Result<Version>) + Send + Sync>;

/// See [`Store::external_signs`].
pub type ExternalSigns = std::pin::Pin<Box<dyn Stream<Item = ()> + Send>>;

/// Which records a scan wants.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// Only keys that start with this.
    pub prefix: &'a str,
    /// Only keys beyond this one in the scan's direction.
    pub after: Option<&'a str>,
    /// From the last key to the first.
    pub descending: bool,
    /// At most so many.
    pub limit: usize,
    /// What it reads of their values.
    pub values: Values,
}

/// What a scan reads of the values of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Each. A record that is damaged is the error of the whole scan.
    All,
    /// Each that is sound. The scan goes on without damaged records, and tells of them in the log of the service.
    Sound,
    /// None: they are empty, and damage in them hides no record.
    Unread,
}

impl<'a> Scan<'a> {
    /// All records under a prefix, in order.
    pub fn prefix(prefix: &'a str) -> Self {
        Self {
            prefix,
            after: None,
            descending: false,
            limit: usize::MAX,
            values: Values::All,
        }
    }

    /// The bytes that its keys are not before, and those that they are all before. Keys compare by their bytes.
    fn bounds(&self) -> (Vec<u8>, Vec<u8>) {
        let from = self.prefix.as_bytes().to_vec();
        let to = prefix_end(self.prefix);
        match self.after.map(str::as_bytes) {
            Some(after) if self.descending => (from, to.min(after.to_vec())),
            // The first text beyond `after` ends in a zero.
            Some(after) => (from.max([after, &[0]].concat()), to),
            None => (from, to),
        }
    }
}

/// What comes behind every text that starts with this: no text holds the byte 0xff.
fn prefix_end(prefix: &str) -> Vec<u8> {
    [prefix.as_bytes(), &[0xff]].concat()
}

/// An object as it lies in the store.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// SHA-256, for blobs.
    pub sha256: Option<Sha256>,
    /// The bytes.
    pub body: Body,
}

/// An object's bytes.
#[derive(Clone, Debug)]
pub enum Body {
    /// Small enough to be in memory.
    Inline(Bytes),
    /// Read in pieces.
    Large(Arc<dyn LargeBody>),
}

impl Body {
    /// Calls `take` with all bytes of a body of this size, in order, some at a time; what cannot be read becomes
    /// the error that `unreadable` gives.
    pub fn each_piece<E>(
        &self,
        size: u64,
        unreadable: impl FnOnce(io::Error) -> E,
        mut take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let large = match self {
            Self::Inline(bytes) => return take(bytes),
            Self::Large(large) => large,
        };
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        let mut offset = 0;
        while offset < size {
            let left = usize::try_from(size - offset).unwrap_or(usize::MAX);
            let piece = &mut chunk[..left.min(READ_CHUNK_BYTES)];
            if let Err(error) = large.read_exact_at(piece, offset) {
                return Err(unreadable(error));
            }
            take(piece)?;
            offset += byte_count(piece);
        }
        Ok(())
    }
}

/// A body too large for memory.
pub trait LargeBody: Send + Sync + fmt::Debug {
    /// Fills the buffer from this offset on, to its end.
    ///
    /// # Errors
    /// `UnexpectedEof` when the body is shorter.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// So many bytes from this offset on, in memory that others may share.
    ///
    /// # Errors
    /// As [`LargeBody::read_exact_at`].
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.into())
    }

    /// How often bytes are worth being read that are found to be others than they should: more than once
    /// where they come over a network.
    fn reads_max(&self) -> usize {
        1
    }
}

/// A large body on its way in. Dropped without [`Staging::publish`], it leaves nothing.
pub trait Staging: Send + fmt::Debug {
    /// Says that so many bytes will come and no more, before the first of them: no more memory is taken for them.
    fn announce(&mut self, _bytes: u64) {}

    /// Takes the next bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Reads back what was written, from its start. Where the body goes over a network that ends it: nothing may
    /// be written any more.
    fn reread(&mut self) -> Result<Box<dyn io::Read + '_>>;

    /// Brings the bytes to the disk, so that [`Staging::publish`] has little left to do.
    fn sync(&mut self) -> Result<()>;

    /// Gives the body its name. A body that has it already keeps it.
    ///
    /// # Durability
    /// When it returns, the bytes are on the disk under their name; a commit may name them.
    fn publish(&mut self, id: BlobId) -> Result<()>;

    /// Says that a commit names the body. Of one of which that was never said, the next start removes
    /// what no commit names.
    fn committed(&mut self);

    /// The place that was chosen for the body, which the commit has to name, where it does not follow from
    /// the id.
    fn place(&self) -> Option<&str> {
        None
    }
}

/// Keeps objects that are put ahead of the commit that names them, until it is dropped or its process
/// ends.
pub trait Pin: Send + Sync + fmt::Debug {
    /// The name by which the commit that names the objects must name the pin ([`Batch::pins`]), where a pin can
    /// be lost while it is held.
    fn name(&self) -> Option<PinName> {
        None
    }
}

/// The name of a pin.
pub type PinName = [u8; 16];

/// Of a store that removes nothing.
impl Pin for () {}

/// The lane in which one daemon after the other changes something, until it is dropped.
pub type Lane = Box<dyn fmt::Debug + Send>;

/// An object's row, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// The id.
    pub id: ObjectId,
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// True when the bytes are a row's, false when they are a file's.
    pub inline: bool,
}

/// What is where a store was to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// One with the schema of this program: new, or there before, perhaps without its first account.
    Store,
    /// One that was there, with the schema of another version.
    OtherSchema,
}

/// What has become of the schema of a database.
#[derive(Debug)]
pub struct Migrated {
    /// The step that it had.
    pub from: i32,
    /// The step that it had before earlier migrations that stopped, if there were any: the audit log cannot be told of
    /// these, since nobody opens a store that lacks steps.
    pub from_first: i32,
    /// The step that this program needs.
    pub current: i32,
    /// The steps that were taken, each with what it brought, for a person.
    pub steps: Vec<(i32, &'static str)>,
    /// False where a copy into the database has not come to its end.
    pub is_ready: bool,
    /// Why the next step was not taken. Those before it stay.
    pub stopped: Option<StoreError>,
}

/// A place for objects and records.
///
/// # Invariants
/// Objects never change. What [`Store::commit`] acknowledged is durable and visible to every later
/// read; what it refused changed nothing. A read never returns what is not durable. Nobody reads a record, by
/// itself or in a folder, and later as it was before. Where the store lies on this machine, nobody who has seen a write
/// of records, by a scan, too, later reads a record or a folder as it was before that.
pub trait Store: Send + Sync + fmt::Debug {
    /// The object with this id, `None` if there is none. The bytes are as they lie there: the caller
    /// holds them against the id (see [`objects::Objects`]).
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>>;

    /// Each of these objects, as [`Store::object`] gives it. Over a network it is one request.
    fn objects(&self, ids: &[ObjectId]) -> Result<Vec<Option<StoredObject>>> {
        ids.iter().map(|id| self.object(*id)).collect()
    }

    /// True where each request takes a way over a network, however much it asks for: then it is worth
    /// asking for what may not be needed.
    fn is_remote(&self) -> bool {
        false
    }

    /// The hashes of a large blob's pieces as they were put with it ([`NewBody::Published`]), `None`
    /// where there are none. The caller holds them against the id.
    fn outboard(&self, _id: BlobId) -> Result<Option<Bytes>> {
        Ok(None)
    }

    /// Ids that start with these bytes (at most 32), at most `limit`.
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>>;

    /// The record under this key, `None` if there is none.
    fn record(&self, key: &str) -> Result<Option<Arc<Record>>>;

    /// Records in the order of their keys. Fewer than the limit are the last ones.
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>>;

    /// All records under a prefix that ends in a slash, in the order of their keys.
    fn folder(&self, prefix: &str) -> Result<Folder> {
        Ok(Arc::new(self.scan(Scan::prefix(prefix))?))
    }

    /// A number for what lies under a prefix that ends in a slash: as long as it stays the same, nothing
    /// there has changed. It changes before a commit of this process is answered, and within the bound
    /// of [`Store::external_writes`] of another's; it may change without a cause.
    fn folder_state(&self, _prefix: &str) -> Result<u64> {
        self.last_version()
    }

    /// The version of the last write.
    fn last_version(&self) -> Result<Version>;

    /// The last version at which another process was found to have written records, 0 if none was. It
    /// only rises: as long as it stays the same, nobody else has written, up to a bound of 20 ms. A process
    /// beside the daemon ends only after it.
    fn external_writes(&self) -> Result<Version>;

    /// The same without the bound, for who has just read from the store: whatever that read may have seen is found.
    /// Where this process has committed and not called `observe` yet ([`Store::commit_observed`]), it `waits` for that;
    /// who holds a lock that `observe` takes must not, and has the commit found as external. 0 over a network, where a
    /// look costs as much as a read: who needs the order calls [`Store::catch_up`] before it reads.
    fn external_writes_seen(&self, _waits: bool) -> Result<Version> {
        Ok(0)
    }

    /// Waits, and holds no thread meanwhile, until what is read then is as new as this. `None` if it is now, as
    /// always where all daemons are one process.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] as soon as it is known that the store does not answer, [`StoreError::Unfit`].
    fn catch_up(&self, _reads: Reads) -> Option<CatchUp> {
        None
    }

    /// The keys of all records that other processes have written or deleted after this version, as far as
    /// [`Store::external_writes`] has found it, and sometimes of others; `None` when they are more than
    /// `most`, or not known.
    fn external_keys(&self, _after: Version, _most: usize) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// Signs that somebody writes, this process or another, from now on. A sign comes up to some seconds
    /// before what is written can be seen, and one may stand for many. `None` if there are none to be had.
    /// It is to be called, and the signs are to be read, on a runtime.
    fn external_signs(&self) -> Option<ExternalSigns> {
        None
    }

    /// Calls `changed` after each change of one of these records, or of anything in one of these folders,
    /// whose names end in a slash, when every reader sees it, and sometimes without a cause, until the
    /// watch is dropped. What other processes write is told within the bound of [`Store::external_writes`]
    /// when somebody reads. An engine tells nobody: the [`record_cache::RecordCache`] over it does.
    fn watch(&self, _keys: Vec<String>, _changed: &Changed) -> Watch {
        Watch::default()
    }

    /// Makes the whole batch durable and visible, or none of it. Batches of many callers share a
    /// sync; one that is refused does not touch the others. Its writes get versions one after another,
    /// in their order, then its appends; it gives the last, or the store's when it writes nothing.
    /// Deleting what is not there is no write.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a record has not the version expected, [`StoreError::Missing`]
    /// when a required object is not there, [`StoreError::Full`], [`StoreError::LittleRoom`], [`StoreError::Busy`],
    /// [`StoreError::Unavailable`], [`StoreError::Expired`], [`StoreError::Unpinned`], [`StoreError::Stopped`],
    /// [`StoreError::ReadOnly`], [`StoreError::DatabaseReadOnly`]. After [`StoreError::InDoubt`] it may have been made.
    fn commit(&self, batch: Batch) -> Result<Version>;

    /// As [`Store::commit`], and calls `observe` with the outcome before it counts as known to this process, unless the
    /// batch was refused before anything was tried.
    /// Where other processes may see the writes before that, they count as theirs until then: whoever looks for
    /// external writes meanwhile finds them.
    fn commit_observed(&self, batch: Batch, observe: Observe) -> Result<Version> {
        let outcome = self.commit(batch);
        observe(&outcome);
        outcome
    }

    /// Waits until no other process answers from its memory as before the last commit of this one. Whoever
    /// takes rights away calls it before the answer.
    fn settle(&self) {}

    /// Waits for a turn at what is under this key, for which the caller has lost races against other daemons. It only
    /// puts them in order. `None` where there are none, or no turn comes within 2 s.
    fn lane(&self, _key: &str) -> Option<Lane> {
        None
    }

    /// The same, but `None` at once unless another daemon has written what is under this key a moment ago.
    fn lane_if_shared(&self, _key: &str) -> Option<Lane> {
        None
    }

    /// Keeps what is put from now on with [`Batch::ahead`]: no collection removes it while the pin is
    /// held, or else the commit that names the pin is refused.
    fn pin(&self) -> Result<Box<dyn Pin>> {
        Ok(Box::new(()))
    }

    /// Begins a body that is too large for a row.
    fn stage(&self) -> Result<Box<dyn Staging>>;

    /// Bytes of such a body that are in memory, beside what its caller holds, while more of it is waited for.
    fn staged_bytes_held(&self) -> u64 {
        0
    }

    /// Whether it takes changes.
    fn writes(&self) -> Writes;

    /// Room on the file system that it lies on, in bytes; `None` where there is none or it cannot be
    /// told.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// False once what writes has died, which only a restart mends. A store that refuses to write lives.
    fn has_writer(&self) -> bool {
        true
    }

    /// Whether it takes large bodies and has them.
    fn large_bodies(&self) -> LargeBodies {
        LargeBodies::Well
    }

    /// Largest body that it has a place for, in bytes: where large ones have none, what is kept inline.
    fn body_bytes_max(&self) -> u64 {
        u64::MAX
    }

    /// How many milliseconds the clock of this machine is ahead of the one that all who serve the store have in
    /// common; below 0 it is behind. `None` before they were compared, and 0 where there is no such clock.
    fn clock_ahead_ms(&self) -> Option<i64> {
        Some(0)
    }

    /// What memory keeps of it.
    fn cache_uses(&self) -> Vec<CacheUse> {
        Vec::new()
    }
}
