//! What the log and probes are told of the server: how connections, commits and statements fare.

use std::time::Duration;

use tokio_postgres::error::DbError;

use crate::store::StoreError;
use crate::store::postgres::failure::{failure, said_by};
use crate::store::remote::repeated::Repeated;
use crate::store::writes::Trouble;

/// How long it is believed that no connection can be made, after somebody has waited for one in vain.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);

/// What was told, and what is to be told once a minute at most.
#[derive(Debug)]
pub(in crate::store::postgres) struct Reports {
    /// Why it could not be reached.
    unreached: Repeated,
    /// That a connection which somebody waited for was refused, or not made in time, also while others last.
    in_vain: Trouble,
    warnings: Repeated,
    refusals: Repeated,
}

impl Reports {
    /// Nothing was told yet.
    pub(super) fn new() -> Self {
        Self {
            unreached: Repeated::default(),
            in_vain: Trouble::believed_for(UNREACHABLE_FOR),
            warnings: Repeated::default(),
            refusals: Repeated::default(),
        }
    }

    /// Tells the log that an attempt to reach it has failed. All ways to it tell the same, over and over.
    pub(in crate::store::postgres) fn tell_unreached(&self, error: &StoreError) {
        if self.unreached.is_due(&error.to_string()) {
            tracing::warn!(%error, "the database cannot be reached");
        }
    }

    /// Tells the log of a warning. It may come with every statement of every connection.
    pub(in crate::store::postgres) fn tell_warning(&self, warning: &str) {
        if self.warnings.is_due(warning) {
            tracing::warn!(warning, "the database warns");
        }
    }

    /// Tells the log why a statement was refused, where whoever asked is not told: of a lock in the way, for instance,
    /// or of a right that is missing.
    pub(in crate::store::postgres) fn tell_refused(&self, error: &tokio_postgres::Error) {
        let told = match failure(error) {
            StoreError::Busy
            | StoreError::LockInTheWay
            | StoreError::Unavailable
            | StoreError::Full => {
                "the database refuses what it is asked; pg_stat_activity shows who is in its way"
            }
            StoreError::Unfit { .. } | StoreError::DatabaseReadOnly => {
                "the database refuses what it is asked"
            }
            _ => return,
        };
        let said = said_by(error);
        // It tells one table from another.
        let at = error.as_db_error().and_then(DbError::where_);
        let cause = format!("{said} {}", at.unwrap_or_default());
        if self.refusals.is_due(&cause) {
            tracing::warn!(error = said, at, "{told}");
        }
    }

    /// Says that a connection was made which can be used.
    pub(in crate::store::postgres) fn note_reached(&self) {
        self.unreached.end();
        self.in_vain.note(false);
    }

    /// Says that somebody was refused a connection, or waits no longer for one that could not be made.
    pub(in crate::store::postgres) fn note_in_vain(&self) {
        self.in_vain.note(true);
    }

    /// True if connections are not made any more: what needs a new one waits in vain, whatever goes on over those that
    /// are there.
    pub(in crate::store::postgres) fn is_unreachable(&self) -> bool {
        self.in_vain.lasts()
    }
}
