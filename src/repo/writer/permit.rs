//! The permission to change a project, asked for again when a change is made.

use std::fmt;
use std::sync::Arc;

use crate::base::repo_id::RepoId;
use crate::repo::{Error, Result};
use crate::store::{Batch, Expect};

/// Gives what a commit expects, so that the permission still holds with it; nothing where it goes by the record of the
/// project alone.
type Ask = dyn Fn(u64, &RepoId) -> Result<Vec<(String, Expect)>> + Send + Sync;

/// Says whether who changes a project still may. A change may take minutes from its beginning to its commit: what comes
/// is awaited, checked and put in order. Who loses the right meanwhile, or is logged out, changes nothing any more.
#[derive(Clone, Default)]
pub struct Permit(Option<Arc<Ask>>);

impl Permit {
    /// Asks this of the owner's number and the identifier that the project has when a change is made. By default
    /// nothing is asked. It gives the records by which it judged, as they were then, or refuses with
    /// [`Error::Forbidden`] or [`Error::LoggedOut`].
    pub fn asking(
        ask: impl Fn(u64, &RepoId) -> Result<Vec<(String, Expect)>> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Permits changes while the project has this owner and this identifier. It names no record: every change expects
    /// that of its project already.
    pub(super) fn as_opened(owner: u64, repo_id: RepoId) -> Self {
        Self::asking(move |owner_now, id_now| {
            if owner_now == owner && *id_now == repo_id {
                return Ok(Vec::new());
            }
            Err(Error::invalid(format!(
                "project {repo_id} was renamed or given to another owner meanwhile"
            )))
        })
    }

    /// Gives what the commit of the change expects for it.
    ///
    /// # Errors
    /// [`Error::Forbidden`]; [`Error::LoggedOut`]; [`Error::Invalid`] as of [`Permit::as_opened`].
    pub(in crate::repo) fn require(
        &self,
        owner: u64,
        repo_id: &RepoId,
    ) -> Result<Vec<(String, Expect)>> {
        let asked = self.0.as_ref().map(|ask| ask(owner, repo_id));
        Ok(asked.transpose()?.unwrap_or_default())
    }

    /// Has a batch committed only while the permission holds.
    ///
    /// # Errors
    /// As [`Permit::require`].
    pub(in crate::repo) fn hold(
        &self,
        owner: u64,
        repo_id: &RepoId,
        batch: &mut Batch,
    ) -> Result<()> {
        for judged in self.require(owner, repo_id)? {
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
