//! What can go wrong with a backup, and what is told while one is made or read.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::part::Part;
use crate::store::StoreError;

/// An error of a backup or a restore. Its text is for whoever runs it.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It cannot be done with this source or target; a sentence that says why.
    #[error("{0}")]
    Refused(String),
    /// The caller asked for an end (see [`Tell`]); what was begun was removed.
    #[error("interrupted; nothing was left behind")]
    Interrupted,
    /// A file or folder of the backup failed.
    #[error("{action} {}: {}", path.display(), plain(source))]
    File {
        /// What was being done, as in "reading".
        action: &'static str,
        /// With which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The store.
    #[error(transparent)]
    Store(StoreError),
}

impl BackupError {
    /// An error of a file of the backup.
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
}

impl From<StoreError> for BackupError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full,
            _ => error.into(),
        })
    }
}

fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "no space left on the disk".to_owned()
        }
        io::ErrorKind::BrokenPipe => "whoever reads it has gone".to_owned(),
        _ => error.to_string(),
    }
}

/// What is wrong with a file of a backup; its text is a sentence for whoever reads the backup.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) part: Part,
    pub(super) what: What,
}

/// In which way it is not as the manifest says.
#[derive(Debug)]
pub(super) enum What {
    /// It is not there.
    Missing,
    /// Its bytes are others, or not all of them are there.
    Changed,
    /// It is there, and the manifest does not name it.
    Surplus,
    /// With what the system said, and where it lies.
    Unreadable(PathBuf, io::Error),
    /// It was written so.
    NoRows,
}

impl Fault {
    /// Adds files of rows that are none to what was found, unless that is why.
    pub(super) fn add_broken(faults: &mut Vec<Self>, broken: Vec<Part>) {
        for part in broken {
            if faults.iter().all(|fault| fault.part != part) {
                let what = What::NoRows;
                faults.push(Self { part, what });
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = &self.part;
        match &self.what {
            What::Missing => write!(f, "{part} is missing"),
            What::Changed => write!(f, "{part} was changed since it was written"),
            What::Surplus => write!(f, "{part} is there, and the manifest does not name it"),
            What::NoRows => write!(f, "{part} holds other things than rows that are sound"),
            What::Unreadable(_, source) => write!(f, "{part} cannot be read: {}", plain(source)),
        }
    }
}

/// A result of a backup.
pub type Result<T> = std::result::Result<T, BackupError>;

/// What is told on the way.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// How far it is: files and bytes that were written, or read where nothing is written.
    At {
        /// Files.
        files: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Something is damaged and left out, a sentence.
    Damage(&'a str),
    /// Something that harms nothing, a sentence.
    Remark(&'a str),
}

/// Is told every step, at least once a MiB, and says whether the work goes on.
pub type Tell<'a> = dyn FnMut(Step<'_>) -> ControlFlow<()> + 'a;
