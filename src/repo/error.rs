//! What can go wrong with a project, by what the caller can do about it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::file_path::FilePath;
use crate::base::id::BlobId;
use crate::base::name_error::NameError;
use crate::manifest::EditError;
use crate::store::StoreError;

/// What is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No project of this identifier.
    Project,
    /// No branch of this name.
    Branch,
    /// Nothing deleted that could be restored.
    Deleted,
    /// Nothing that the reference could name.
    Revision,
    /// No snapshot of this version.
    Snapshot,
    /// No file at this path; perhaps a folder.
    File,
    /// No folder at this path; perhaps a file.
    Folder,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "Project",
            Self::Branch => "Branch",
            Self::Deleted => "Deleted project or branch",
            Self::Revision => "Revision",
            Self::Snapshot => "Snapshot",
            Self::File => "File",
            Self::Folder => "Folder",
        })
    }
}

/// Why something cannot be done with a project. The texts of all variants but [`Error::Store`] are for
/// the client.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("{what} not found")]
    NotFound {
        /// What.
        what: Missing,
    },
    /// What was asked cannot be done as asked.
    #[error("{reason}")]
    Invalid {
        /// What is wrong and what to do.
        reason: String,
    },
    /// A mirror of a folder from which nothing was taken would leave nothing of a branch.
    #[error(
        "nothing was taken from {}, so its mirror would empty the branch, which has {files} files",
        folder.display()
    )]
    WouldEmpty {
        /// The folder.
        folder: PathBuf,
        /// How many files the branch has.
        files: u64,
    },
    /// So many are deleted and can be restored that no more are made.
    #[error(
        "{whose} has {count} deleted {what} that can still be restored, and no more are made from {most} on"
    )]
    TooManyDeleted {
        /// "the account" or "the project".
        whose: &'static str,
        /// "projects" or "branches".
        what: &'static str,
        /// How many.
        count: u64,
        /// From how many on.
        most: u64,
    },
    /// Who asked for it may do it no longer.
    #[error("the right to change the project was taken away meanwhile")]
    Forbidden {
        /// The name of who asked.
        actor: String,
    },
    /// Who asked for it is not logged in any more.
    #[error("who makes the change was logged out meanwhile")]
    LoggedOut {
        /// The name of who asked.
        actor: String,
    },
    /// The name is taken.
    #[error("a {what} of this name exists already")]
    Exists {
        /// Of what.
        what: &'static str,
    },
    /// The client's condition does not hold.
    #[error("{reason}")]
    Precondition {
        /// What is not in the state that was demanded.
        reason: String,
        /// The entity tag of what is there now, without its quotes; `None` if nothing is.
        tag: Option<String>,
        /// The file that it is about; `None` for a branch, or the rules of a project.
        file: Option<FilePath>,
    },
    /// A file has more bytes than are compared by lines.
    #[error("the file is larger than {limit_bytes} bytes, the most that are compared by lines")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// The search for what a commit id names, or for the commits of a path, or the computing of commit ids for a walk,
    /// has come to the end of its time. The next one comes farther.
    #[error("the search takes longer; it goes on when it is asked for again")]
    Unfinished,
    /// The store failed. Shared, because many callers may wait for one commit that fails.
    #[error(transparent)]
    Store(Arc<StoreError>),
}

impl Error {
    /// It is not there.
    pub const fn missing(what: Missing) -> Self {
        Self::NotFound { what }
    }

    /// The same where it came when a change had been made already, as [`StoreError::after_change`] says. What is not
    /// there then was made, and has gone since.
    #[must_use]
    pub fn after_change(self) -> Self {
        match &self {
            Self::NotFound { .. } => StoreError::Made.into(),
            Self::Store(error) => error.after_change().map_or(self, Self::from),
            _ => self,
        }
    }

    /// The record that was not as the commit expected, if that is the error.
    pub(super) fn conflict(&self) -> Option<&str> {
        match self {
            Self::Store(error) => error.conflict(),
            _ => None,
        }
    }

    /// True if a record, an object or a page is damaged, or one is missing: what has nothing to do with it may go on.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_damage())
    }

    /// True of a refusal of several changes that may be the fault of one: a deletion has room that a save has not, and
    /// a large file, or what an import has put before, is of one of them.
    pub(super) fn may_be_of_one(&self) -> bool {
        let of_one = |error: &StoreError| {
            matches!(
                error,
                StoreError::Full
                    | StoreError::LittleRoom
                    | StoreError::BucketFull
                    | StoreError::BucketDenied
                    | StoreError::Expired
                    | StoreError::Unpinned
                    | StoreError::TooLarge { .. }
            )
        };
        matches!(self, Self::Store(error) if of_one(error))
    }

    /// True if an object is missing.
    pub(super) fn lacks_object(&self) -> bool {
        matches!(self, Self::Store(error) if matches!(**error, StoreError::Missing { .. }))
    }

    /// A file has not the entity tag that was demanded, but this one or none. With its path a change is
    /// refused, which tells who made the one before.
    pub fn file_precondition(path: Option<&FilePath>, tag: Option<BlobId>) -> Self {
        Self::Precondition {
            reason: "the file is not in the state that the request demands".to_owned(),
            tag: tag.map(|id| id.to_string()),
            file: path.cloned(),
        }
    }

    /// It cannot be done as asked.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Store(error) => error.into(),
            EditError::NotDirectory { .. } | EditError::IsDirectory { .. } => {
                Self::invalid(error.to_string())
            }
        }
    }
}

/// What was found, `None` where the error is that it is not there.
///
/// # Errors
/// All others.
pub fn optional<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// A result of this layer.
pub type Result<T> = std::result::Result<T, Error>;
