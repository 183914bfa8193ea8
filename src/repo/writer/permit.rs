//! The permission to change a project, asked for again when a change is made.

use std::fmt;
use std::sync::Arc;

use crate::base::repo_id::RepoId;
use crate::repo::{Error, Result};
use crate::store::StoreError;

type Ask = dyn Fn(u64, &RepoId) -> std::result::Result<bool, StoreError> + Send + Sync;

/// Says whether who changes a project still may. A change may take minutes from its beginning to its commit: what comes is
/// awaited, checked and put in order. Who loses the right meanwhile changes nothing any more.
#[derive(Clone, Default)]
pub struct Permit(Option<Arc<Ask>>);

impl Permit {
    /// Asks this of the owner's number and the identifier that the project has when a change is made. By default nothing
    /// is asked.
    pub fn asking(
        ask: impl Fn(u64, &RepoId) -> std::result::Result<bool, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// # Errors
    /// [`Error::Forbidden`].
    pub(in crate::repo) fn require(&self, owner: u64, repo_id: &RepoId) -> Result<()> {
        match &self.0 {
            Some(ask) if !ask(owner, repo_id)? => Err(Error::Forbidden),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
