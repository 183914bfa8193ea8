//! What an engine offers so that objects which nothing leads to can be removed. What a state needs is decided
//! above; the engine makes the removal safe while others save.

mod pace;

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;

use super::{Batch, Record, Result, Store, StoreError};
use crate::base::clock::Timestamp;
use crate::base::id::ObjectId;
pub use pace::Pace;
pub(super) use pace::STEP;

/// What needs an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A head leads to it.
    Live,
    /// Only older states lead to it.
    Old,
}

/// A number of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    /// Counts one more.
    pub fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What was removed, and what was not.
#[derive(Debug, Default)]
pub struct Swept {
    /// What was removed.
    pub removed: Amount,
    /// How many objects were left because the index does not lead to them: it is damaged.
    pub unindexed: u64,
    /// How many marked objects were not there, as far as only the sweep finds that.
    pub lost: u64,
    /// What failed before the end: then there is more to remove.
    pub failed: Option<StoreError>,
    /// True if it was told to end before its end.
    pub stopped: bool,
}

/// What became of the free pages of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes that were given back, by the whole collection.
    pub given_back: u64,
    /// Bytes that are free and stay in the file, to be used again, as where giving back a page would hold up others for
    /// long.
    pub kept: u64,
    /// False in a database of a format before 3, which keeps them until it was compacted once.
    pub shrinks: bool,
    /// True if it was told to end before all were given back that can be.
    pub stopped: bool,
}

/// What a collection kept, by what needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptByCollection {
    /// When it ended.
    pub at: Timestamp,
    /// Bytes of the objects that heads lead to.
    pub live_bytes: u64,
    /// Bytes of those that only older states lead to.
    pub old_bytes: u64,
}

/// An engine of which objects can be removed.
pub trait Collectable: Store + Sized {
    /// Objects that were marked.
    type Marks: Default + fmt::Debug;

    /// A collection under way. Dropped before [`Collection::finish`], it leaves the store whole, and the next
    /// one does what it has not done.
    type Collection<'a>: Collection<Marks = Self::Marks>
    where
        Self: 'a;

    /// Begins a collection. Everything that is in the store by now, and is kept by no pin, may be removed
    /// by it.
    ///
    /// # Errors
    /// [`StoreError::Underway`] beside another one, or a backup.
    fn begin_collection(&self, pace: Pace) -> Result<Self::Collection<'_>>;

    /// Marks an object, those that heads lead to before all others. False if it was marked before.
    ///
    /// # Errors
    /// [`StoreError::Missing`] for an object that is not there, unless only the sweep finds that
    /// ([`Swept::lost`]).
    fn mark(&self, marks: &mut Self::Marks, id: ObjectId, need: Need) -> Result<bool>;

    /// Calls `visit` with every record under these prefixes, all of one moment.
    ///
    /// # Errors
    /// [`StoreError::DamagedRecord`] at the first that is damaged; those of `visit`.
    fn visit_at_once(
        &self,
        prefixes: &[&str],
        visit: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<()>;

    /// What bounds the objects that a collection which began now could remove.
    type Bound;

    /// That bound. It must be taken before the states are read that are kept.
    fn collectable(&self) -> Result<Self::Bound>;

    /// Calls `visit` with the bytes of every object within a bound, and with what needs it by these marks.
    fn weigh(
        &self,
        marks: &Self::Marks,
        bound: Self::Bound,
        visit: impl FnMut(u64, Option<Need>),
    ) -> Result<()>;

    /// How many bytes an object has.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    fn size_of(&self, id: ObjectId) -> Result<u64>;

    /// Of each of these objects whether it is there.
    fn are_there(&self, ids: &[ObjectId]) -> Result<Vec<bool>>;

    /// What the last collection that came to its end kept; `None` where there was none.
    fn last_collection(&self) -> Result<Option<KeptByCollection>>;

    /// Notes what a collection kept.
    fn note_collection(&self, kept: KeptByCollection) -> Result<()>;
}

/// The one collection that is under way.
pub trait Collection {
    /// Those of the engine.
    type Marks;

    /// Removes what is not marked. The marks must be of states that were read after the collection began.
    /// Calls `kept` with what needs each object that is, and its bytes, and `progress` with what was removed
    /// so far, which may end it.
    fn sweep(
        &self,
        marks: &Self::Marks,
        kept: impl FnMut(Need, u64),
        progress: impl FnMut(Amount) -> ControlFlow<()>,
    ) -> Swept {
        let mut swept = Swept::default();
        match self.sweep_rows(marks, kept, progress, &mut swept) {
            Ok(flow) => swept.stopped = flow.is_break(),
            Err(error) => swept.failed = Some(error),
        }
        swept
    }

    /// As [`Collection::sweep`], and counts in `swept` as it goes, so that it tells also what was removed before a
    /// failure. Breaks where `progress` has ended it.
    fn sweep_rows(
        &self,
        marks: &Self::Marks,
        kept: impl FnMut(Need, u64),
        progress: impl FnMut(Amount) -> ControlFlow<()>,
        swept: &mut Swept,
    ) -> Result<ControlFlow<()>>;

    /// Commits a batch as a part of the collection, at its pace, to a store over this one.
    ///
    /// # Errors
    /// Those of [`Store::commit`].
    fn commit(&self, over: &dyn Store, batch: Batch) -> Result<()>;

    /// Removes the files that no row names. Gives how many large blobs have gone.
    fn sweep_files(&self) -> Result<u64>;

    /// Gives free room back to the file system, as far as the engine does that itself. What was given back already
    /// while objects were removed is told here, too. Calls `progress` with the bytes that were given back so far, which
    /// may end it.
    fn give_back(&self, progress: impl FnMut(u64) -> ControlFlow<()>) -> Result<Space>;

    /// Ends the collection.
    fn finish(self) -> Result<()>;
}
