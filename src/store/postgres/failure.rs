//! What PostgreSQL says, as the store's error.

use std::error::Error as _;
use std::io;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::store::StoreError;

/// What the commit says when the last version is before one that was seen.
const WENT_BACK: &str = "SC001";
/// What the commit says when a collection has begun since it looked.
const RAISED: &str = "SC002";
const ADVICE: &str = "the server of the database says that a part of it is damaged; look with pg_amcheck, \
     and restore it from a backup";

/// What an error of the database means for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The connection is gone: what was asked may have been done, or not.
    Lost,
    /// Nothing was done, and the same may be done if it is asked again.
    Again,
    /// The same: a collection has begun meanwhile.
    Raised,
    /// Nothing was done.
    Refused,
}

/// What this error means.
pub(super) fn meaning_of(error: &tokio_postgres::Error) -> Meaning {
    let Some(state) = error.code() else {
        let of_io = error
            .source()
            .is_some_and(<dyn std::error::Error>::is::<io::Error>);
        return if error.is_closed() || of_io {
            Meaning::Lost
        } else {
            Meaning::Refused
        };
    };
    // The server ends the connection with it, or all of itself: at the end of a commit, too, which may be kept.
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    let is_end = matches!(severity, Some(Severity::Fatal | Severity::Panic));
    // Class 08 is about connections.
    if is_end || state.code().starts_with("08") {
        Meaning::Lost
    } else if state.code() == RAISED {
        Meaning::Raised
    } else if [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
    ]
    .contains(&state)
    {
        Meaning::Again
    } else {
        Meaning::Refused
    }
}

/// The store's error for a statement that has done nothing.
pub(super) fn failure(error: &tokio_postgres::Error) -> StoreError {
    let said = || said_by(error);
    let Some(state) = error.code() else {
        return StoreError::Engine(said().into());
    };
    match state {
        state if *state == SqlState::DISK_FULL => StoreError::Full,
        state if *state == SqlState::LOCK_NOT_AVAILABLE => StoreError::LockInTheWay,
        state if *state == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::DatabaseReadOnly,
        state
            if *state == SqlState::QUERY_CANCELED
                || *state == SqlState::TOO_MANY_CONNECTIONS
                || *state == SqlState::OUT_OF_MEMORY =>
        {
            StoreError::Unavailable
        }
        state if [&SqlState::DATA_CORRUPTED, &SqlState::INDEX_CORRUPTED].contains(&state) => {
            StoreError::DamagedEngine {
                source: said().into(),
                advice: ADVICE,
            }
        }
        state if *state == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Unfit { reason: said() },
        state if state.code() == WENT_BACK => StoreError::WentBack,
        state if state.code() == RAISED => StoreError::Busy,
        _ => StoreError::Engine(said().into()),
    }
}

/// What the server says, without the statement's parameters; other errors are about the connection.
pub(super) fn said_by(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => format!("{} ({})", said.message(), said.code().code()),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

/// The error for a database that cannot be used as it is.
pub(super) fn unfit(reason: impl Into<String>) -> StoreError {
    StoreError::Unfit {
        reason: reason.into(),
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        failure(&error)
    }
}
