//! A store copied into another, of any engine: objects, each held against its id, and records with the
//! versions that they have.
//!
//! Objects may be copied beside whoever writes, as often as one likes: those that are there are passed over,
//! so a copy that was interrupted goes on. Then, while nobody writes, come the objects that are new since, and
//! all records. What the target holds in the end is read back and compared before it is a store.

mod objects;
mod records;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::objects::Objects;
use super::{Record, Store, StoreError, Version};
pub use objects::ObjectsCopied;
pub use records::RecordsDigest;

/// A store that is filled by a copy, which no one else opens before [`Loader::finish`]. Objects come into it by
/// commits, as everywhere; records by the way of their own that each engine has for this.
pub trait Loader: Send + fmt::Debug {
    /// What it holds.
    fn store(&self) -> &dyn Store;

    /// Removes all records.
    fn begin_records(&mut self) -> super::Result<()>;

    /// Adds records with the versions that they have. Each key comes once.
    fn put_records(&mut self, records: &[Arc<Record>]) -> super::Result<()>;

    /// Says which version was the last: the next write has the one after.
    fn end_records(&mut self, last: Version) -> super::Result<()>;

    /// Makes it a store that anybody may open.
    ///
    /// # Durability
    /// When it returns, the store is whole, and on the disk.
    fn finish(self: Box<Self>) -> super::Result<()>;
}

/// The hold on a store while which no service writes into it.
pub trait Hold: Send + fmt::Debug {
    /// Looks whether it has held until now.
    fn require(&self) -> super::Result<()>;
}

/// Why a copy has not come to its end. What was copied is kept for the next attempt.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The store that is copied failed.
    #[error("{0}")]
    Source(#[source] StoreError),
    /// The store that is filled failed.
    #[error("{0}")]
    Target(#[source] StoreError),
    /// Objects cannot be copied for they are not what they were.
    #[error("{objects} objects of what is copied are damaged")]
    Damaged {
        /// How many. Each was told.
        objects: u64,
    },
    /// Somebody wrote into what is copied while nobody was to.
    #[error("what is copied was changed meanwhile, as a command beside the service does")]
    Changed,
    /// What the target gives back is not what the source holds.
    #[error("the copy is not equal: {0}")]
    Differs(String),
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A result of a copy.
pub type Result<T> = std::result::Result<T, TransferError>;

/// How far a copy is.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Objects were copied, all in all.
    Objects(ObjectsCopied),
    /// An object is damaged: a sentence.
    Damaged(&'a str),
    /// So many records were copied.
    Records(u64),
    /// So many records of the copy were read back.
    Compared(u64),
}

/// Is told how far a copy is, and says whether it is to go on.
pub type Tell<'a> = dyn FnMut(Step<'_>) -> ControlFlow<()> + 'a;

/// What a copy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// All its objects.
    pub objects: u64,
    /// Objects that it has beside those of the source: which were collected there meanwhile.
    pub more_objects: u64,
    /// Its records.
    pub records: RecordsDigest,
}

/// Copies the objects that a target lacks. Gives how many these were.
///
/// # Errors
/// [`TransferError`]; [`TransferError::Damaged`] once all others are copied.
pub fn copy_objects(
    source: &Objects,
    loader: &dyn Loader,
    tell: &mut Tell<'_>,
) -> Result<ObjectsCopied> {
    objects::copy(source, loader.store(), tell)
}

/// Copies what is left while the source is held, and compares both sides.
///
/// # Errors
/// [`TransferError`].
pub fn copy_rest(
    source: &Objects,
    hold: &dyn Hold,
    loader: &mut dyn Loader,
    tell: &mut Tell<'_>,
) -> Result<Copied> {
    let from = source.store().as_ref();
    let last = from.last_version().map_err(TransferError::Source)?;
    objects::copy(source, loader.store(), tell)?;
    let read = records::copy(from, last, loader, tell)?;
    let kept = records::digest(loader.store(), tell)?;
    let require_unchanged = || {
        hold.require().map_err(TransferError::Source)?;
        match from.last_version().map_err(TransferError::Source)? {
            now if now == last => Ok(()),
            _ => Err(TransferError::Changed),
        }
    };
    require_unchanged()?;
    if kept != read {
        return Err(TransferError::Differs(format!("{read} against {kept}")));
    }
    let (objects, more_objects) = objects::compare(from, loader.store(), tell)?;
    // Once more: to compare takes long, and a command beside the hold may have changed records alone meanwhile.
    require_unchanged()?;
    Ok(Copied {
        objects,
        more_objects,
        records: kept,
    })
}
