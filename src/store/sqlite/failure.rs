//! What SQLite says, as the store's error and back.

use rusqlite::ErrorCode;

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
