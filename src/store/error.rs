//! What can go wrong where bytes live, by what the caller can do about it.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::id::{Kind, ObjectId};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A record was written by somebody else since it was read: read again and repeat.
    #[error("record \"{key}\" has changed meanwhile")]
    Conflict {
        /// The record's key.
        key: String,
    },
    /// A commit relies on an object that is not there.
    #[error("object {id} is missing")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// Stored bytes are not what their id says.
    #[error("{kind} {id} is damaged: {reason}")]
    Damaged {
        /// What it should be.
        kind: Kind,
        /// Its id.
        id: ObjectId,
        /// What was found.
        reason: String,
    },
    /// A record cannot be read.
    #[error("record \"{key}\" is damaged: {source}")]
    DamagedRecord {
        /// The record's key.
        key: String,
        /// What the decoder said.
        #[source]
        source: serde_json::Error,
    },
    /// The disk is full, or a file became longer than this process may make one. Nothing was changed; it heals when
    /// there is room.
    #[error("no space left on the disk")]
    Full,
    /// The disk has less room than is to stay free. Nothing was changed; it heals when there is more.
    #[error(
        "the disk has less free room than disk_free_min, so nothing is added: make room, or set \
         disk_free_min lower"
    )]
    LittleRoom,
    /// Too much is waiting to be written, another process holds the store, or the system has no file descriptor or
    /// memory left to open what is needed: come back in a moment. Nothing was changed.
    #[error(
        "nothing is written just now: too many changes are waiting, another process holds the store, or the \
         system is short of file descriptors or memory"
    )]
    Busy,
    /// A lock that somebody holds in the database was in the way for too long. Nothing was changed; it heals when that
    /// ends.
    #[error("a lock in the database is in the way; pg_stat_activity shows who holds it")]
    LockInTheWay,
    /// The database does not answer. Nothing was changed; it heals when it does.
    #[error("the database does not answer")]
    Unavailable,
    /// The database was lost, or found no room, at the end of a change, which was made wholly or not at
    /// all. A restart may bring what nobody has read before it.
    #[error("the database failed at the end of this change, which may have been made")]
    InDoubt,
    /// The change was made, and what came of it cannot be read now.
    #[error(
        "the change was made, but what came of it cannot be read now; look before you repeat it"
    )]
    Made,
    /// The database no longer has what this process knows that it had. It is not used any more until a restart.
    #[error(
        "the database cannot be used: it no longer has changes that it had: it was restored, or a standby \
         without the last changes took its place; see that it is the right one, and restart the service"
    )]
    WentBack,
    /// The database cannot be used as it is.
    #[error("the database cannot be used: {reason}")]
    Unfit {
        /// Why, and what to do.
        reason: String,
    },
    /// The bucket of large files does not answer, or refuses. Nothing was changed; it heals when it does.
    #[error("the bucket of large files does not answer")]
    BucketAway,
    /// The bucket of large files has no room, or its quota is used up. Nothing was changed; it heals when there is
    /// room.
    #[error("the bucket of large files takes no more: it is full, or its quota is used up")]
    BucketFull,
    /// The bucket of large files refuses writes to the keys that it is asked with. Nothing was changed; it heals when
    /// they are given the right.
    #[error("the bucket of large files refuses writes to these keys: they need s3:PutObject there")]
    BucketDenied,
    /// The bucket of large files cannot be used as it is.
    #[error("the bucket of large files cannot be used: {reason}")]
    UnfitBucket {
        /// Why, and what to do.
        reason: String,
    },
    /// Between the beginning of an upload and its commit went more than a day.
    #[error("the upload took longer than a day, and what it brought is gone; send it again")]
    Expired,
    /// What was put ahead of a commit was kept no longer: a collection has begun when its pin was over, or another
    /// server has taken the place of the one that had it. Nothing was changed.
    #[error(
        "the database could not be reached for so long that what was read in was no longer kept, or another server has \
         taken its place; begin again"
    )]
    Unpinned,
    /// The store has no place for a file of this size.
    #[error("this store has no place for files of more than {bytes_max} bytes")]
    TooLarge {
        /// The largest that it has a place for.
        bytes_max: usize,
    },
    /// An earlier write failed, so nothing more is written until a restart.
    #[error("the store has stopped writing after a failed write; restart the service")]
    Stopped,
    /// The folder of the store was moved, removed or replaced. Nothing was changed; it heals when it is back.
    #[error(
        "the data folder is not at its place any more: it was moved, removed or replaced; put it back, or restart the \
         service with the new one"
    )]
    Moved,
    /// The database is set to take no changes, as a service does that runs it when its disk is nearly full. Nothing was
    /// changed; it heals when that ends.
    #[error("the database takes no changes: its setting default_transaction_read_only is on")]
    DatabaseReadOnly,
    /// The store was opened for reading only.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// The folder cannot be opened.
    #[error("{}: {reason}", path.display())]
    Folder {
        /// The folder or the file in it.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Another daemon holds the folder.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who holds it.
        holder: String,
    },
    /// A backup, a collection or an upgrade runs, beside which this must not.
    #[error("{what} is running; try again when it has ended")]
    Underway {
        /// Which.
        what: &'static str,
    },
    /// Input or output failed.
    #[error("{action}: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The engine's database refused, for a reason of its own.
    #[error("database: {_0}")]
    Engine(#[source] Box<dyn Error + Send + Sync>),
    /// A part of the engine's database is damaged.
    #[error("database: {source}: {advice}")]
    DamagedEngine {
        /// What the database said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
        /// What to do about it.
        advice: &'static str,
    },
}

impl StoreError {
    /// True if a record or an object is damaged or missing, or a page of the database.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::DamagedRecord { .. }
                | Self::Damaged { .. }
                | Self::Missing { .. }
                | Self::DamagedEngine { .. }
        )
    }

    /// The record that was not as the commit expected, if that is the error.
    pub fn conflict(&self) -> Option<&str> {
        match self {
            Self::Conflict { key } => Some(key),
            _ => None,
        }
    }

    /// True if nothing can be read where this was asked, for now or as it is: it says nothing of the thing that
    /// was asked for.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Unavailable
                | Self::WentBack
                | Self::Unfit { .. }
                | Self::BucketAway
                | Self::UnfitBucket { .. }
                | Self::Busy
                | Self::LockInTheWay
                | Self::Moved
                | Self::Stopped
        )
    }

    /// True if it is the bucket of large files that has failed or refused.
    pub fn is_of_bucket(&self) -> bool {
        matches!(
            self,
            Self::BucketAway | Self::BucketFull | Self::BucketDenied | Self::UnfitBucket { .. }
        )
    }

    /// What is told where this came when a change had been made already: else it would be taken for the change's own
    /// outcome, and most of these say that nothing was done.
    #[must_use]
    pub fn after_change(&self) -> Option<Self> {
        let says_undone = matches!(
            self,
            Self::Unavailable | Self::Unfit { .. } | Self::Busy | Self::LockInTheWay
        );
        says_undone.then_some(Self::Made)
    }

    /// True of a change that was refused and is not there, nor will be: what was known of the records that it was to
    /// write still holds.
    pub(super) fn changed_nothing(&self) -> bool {
        matches!(
            self,
            Self::Full
                | Self::LittleRoom
                | Self::Busy
                | Self::LockInTheWay
                | Self::Moved
                | Self::Unavailable
                | Self::DatabaseReadOnly
                | Self::BucketAway
                | Self::BucketFull
                | Self::BucketDenied
        )
    }

    /// A folder, or a file in it, that cannot be used as it is.
    pub(super) fn folder(path: &Path, reason: impl Into<String>) -> Self {
        Self::Folder {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Turns an error of input or output into the store's, a full disk apart. One that the store has given
    /// to a reader is itself again.
    pub fn io(action: &'static str, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(own) => return own,
            Err(source) => source,
        };
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io { action, source },
        }
    }
}

/// Says what was found in place of an object.
pub(super) fn damaged(kind: Kind, id: ObjectId, reason: &str) -> StoreError {
    StoreError::Damaged {
        kind,
        id,
        reason: reason.to_owned(),
    }
}

/// A result of the store.
pub type Result<T> = std::result::Result<T, StoreError>;
