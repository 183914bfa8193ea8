//! Commits that are prepared from what is there.

use crate::store::{Batch, Store, StoreError};

/// Commits what `prepare` makes, and prepares anew as long as somebody else was faster.
pub(super) fn commit_prepared<T, E: From<StoreError>>(
    store: &dyn Store,
    mut prepare: impl FnMut(&mut Batch) -> Result<T, E>,
) -> Result<T, E> {
    loop {
        let mut batch = Batch::default();
        let outcome = prepare(&mut batch)?;
        match store.commit(batch) {
            Ok(_) => return Ok(outcome),
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
}
