//! Commits that are prepared from what is there.

use crate::base::limits::COMMIT_ATTEMPTS_MAX;
use crate::store::{Batch, Store, StoreError};

/// Commits what `prepare` makes. When a record has changed since it was read, `prepare` is called again.
///
/// # Errors
/// [`StoreError::Busy`] after [`COMMIT_ATTEMPTS_MAX`] such conflicts.
pub(super) fn commit_prepared<T, E: From<StoreError>>(
    store: &dyn Store,
    mut prepare: impl FnMut(&mut Batch) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 0..COMMIT_ATTEMPTS_MAX {
        let mut batch = Batch::default();
        let outcome = prepare(&mut batch)?;
        match store.commit(batch) {
            Ok(_) => return Ok(outcome),
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Err(StoreError::Busy.into())
}
