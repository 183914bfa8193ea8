//! What can go wrong on the command line, by the exit code it gives.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::access;
use crate::base::name_error::NameError;
use crate::repo;
use crate::store::StoreError;
use crate::store::sqlite::backup::BackupError;

/// An error of a command. Its text is the whole message.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting, or a value on the command line that clap cannot judge, is wrong.
    #[error("{0}")]
    Usage(String),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Failed(String),
    /// It came after a change that was made.
    #[error("{source}; {made}")]
    AfterChange {
        /// What came.
        #[source]
        source: Box<Error>,
        /// That the change was made, and how it is undone.
        made: String,
    },
    /// A result could not be written.
    #[error("writing the result: {0}")]
    Output(#[from] io::Error),
    /// A file or folder of the user's failed.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// What was being done, as in "reading".
        action: &'static str,
        /// With which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A signal ended the command; the exit code that says which.
    #[error("interrupted; nothing half is left")]
    Interrupted(u8),
    /// A signal ended a command that saves all or nothing; the exit code that says which.
    #[error("interrupted; nothing was saved")]
    NothingSaved(u8),
    /// A signal ended a command that goes on when it is run again; the exit code that says which.
    #[error("interrupted; the same command goes on where it stopped")]
    Paused(u8),
    /// A backup.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The repository.
    #[error(transparent)]
    Repo(repo::Error),
    /// Accounts and tokens.
    #[error(transparent)]
    Access(access::Error),
}

impl Error {
    /// An error of the user's file or folder.
    pub(super) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// Only a store in a folder offers this.
    pub(super) fn not_offered(what: &str, instead: &str) -> Self {
        Self::Failed(format!(
            "{what} is not offered for a store in PostgreSQL yet: {instead}"
        ))
    }

    /// The failure or refusal of the store that it is, if it is one.
    pub(super) fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::AfterChange { source, .. } => source.of_store(),
            Self::Store(error)
            | Self::Backup(BackupError::Store(error))
            | Self::Access(access::Error::Store(error)) => Some(error),
            Self::Repo(repo::Error::Store(error))
            | Self::Access(access::Error::Repo(repo::Error::Store(error))) => Some(error),
            _ => None,
        }
    }

    /// 2 for what the user wrote wrongly, 128 and its number after a signal, 1 for everything else.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::AfterChange { source, .. } => source.exit_code(),
            Self::Usage(_) => ExitCode::from(2),
            Self::Interrupted(code) | Self::NothingSaved(code) | Self::Paused(code) => {
                ExitCode::from(*code)
            }
            _ => ExitCode::from(1),
        }
    }
}

impl From<access::Error> for Error {
    fn from(error: access::Error) -> Self {
        match error {
            access::Error::NoSuchAccount { name } => Self::Failed(format!(
                "there is no user \"{name}\"; \"siteconf user list\" names all"
            )),
            other => Self::Access(other),
        }
    }
}

impl From<repo::Error> for Error {
    fn from(error: repo::Error) -> Self {
        match error {
            repo::Error::WouldEmpty { .. } => {
                Self::Failed(format!("{error}; --allow-empty lets it"))
            }
            other => Self::Repo(other),
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// A result of the command line.
pub type Result<T> = std::result::Result<T, Error>;
