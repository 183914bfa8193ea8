//! The permission to change a project, asked for again when a change is made.

use std::fmt;
use std::sync::Arc;

use crate::base::repo_id::RepoId;
#[cfg(doc)]
use crate::repo::Error;
use crate::repo::Result;
use crate::store::{Batch, Expect};

/// Gives what a commit expects, so that the permission still holds with it.
type Ask = dyn Fn(u64, &RepoId) -> Result<(String, Expect)> + Send + Sync;

/// Says whether who changes a project still may. A change may take minutes from its beginning to its commit: what comes is
/// awaited, checked and put in order. Who loses the right meanwhile changes nothing any more.
#[derive(Clone, Default)]
pub struct Permit(Option<Arc<Ask>>);

impl Permit {
    /// Asks this of the owner's number and the identifier that the project has when a change is made. By default nothing
    /// is asked. It gives the record by which it judged, as it was then, or refuses with [`Error::Forbidden`].
    pub fn asking(
        ask: impl Fn(u64, &RepoId) -> Result<(String, Expect)> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Gives what the commit of the change expects for it.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub(in crate::repo) fn require(
        &self,
        owner: u64,
        repo_id: &RepoId,
    ) -> Result<Option<(String, Expect)>> {
        let asked = self.0.as_ref().map(|ask| ask(owner, repo_id));
        asked.transpose()
    }

    /// Has a batch committed only while the permission holds.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub(in crate::repo) fn hold(
        &self,
        owner: u64,
        repo_id: &RepoId,
        batch: &mut Batch,
    ) -> Result<()> {
        if let Some(judged) = self.require(owner, repo_id)? {
            batch.expect(judged);
        }
        Ok(())
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
