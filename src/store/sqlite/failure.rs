//! What SQLite and the system say, as the store's errors and back.

use std::io;

use rusqlite::ErrorCode;
use rustix::io::Errno;

use crate::store::StoreError;

const ADVICE: &str = "store.db is damaged; see what is left with \"siteconf debug check\", and restore the \
     folder from a backup";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) {
            Self::DamagedEngine {
                source: error.into(),
                advice: ADVICE,
            }
        } else {
            Self::Engine(error.into())
        }
    }
}

/// What SQLite said, if the error is its own.
pub(super) fn failure_of(error: &StoreError) -> Option<&rusqlite::Error> {
    match error {
        StoreError::Engine(source) | StoreError::DamagedEngine { source, .. } => {
            source.downcast_ref()
        }
        _ => None,
    }
}

/// True for a page of the database that holds something else than it should.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// What it tells that something could not be opened: for want of file descriptors or of memory that the store
/// is busy ([`StoreError::Busy`], once [`StoreError::io`] has it), else what the system said. Nothing was
/// written, and others give back what they have. The same error of a write or a sync is not one of these:
/// nobody knows what is lost.
pub(super) fn unopened(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
            tracing::warn!(%error, "a file cannot be opened for now");
            io::Error::other(StoreError::Busy)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_not_be_opened_heals() {
        let told = |error: io::Error| StoreError::io("writing", error);
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN] {
            assert!(matches!(told(unopened(errno.into())), StoreError::Busy));
            assert!(matches!(told(errno.into()), StoreError::Io { .. }));
        }
        for errno in [Errno::IO, Errno::NOENT] {
            assert!(matches!(
                told(unopened(errno.into())),
                StoreError::Io { .. }
            ));
        }
    }
}
