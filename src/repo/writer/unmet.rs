//! What a client is told of a change whose condition does not hold of its branch.

use crate::base::clock::Timestamp;
use crate::base::id::ManifestId;
use crate::repo::{Branch, Condition, Error, Result};

impl Branch {
    /// The state of the branch, if a condition holds of it; `None` if it holds of any.
    ///
    /// # Errors
    /// [`Error::Precondition`].
    pub(in crate::repo) fn require(&self, condition: &Condition) -> Result<Option<ManifestId>> {
        if condition.holds_of_any() {
            return Ok(None);
        }
        let digest = self.head().digest()?;
        if condition.holds(Some(digest.commit_id())) {
            Ok(Some(self.head().manifest()))
        } else {
            Err(self.unmet()?)
        }
    }

    /// The refusal of a condition that does not hold of the branch. It says who last changed what the branch
    /// holds, and when.
    pub(in crate::repo) fn unmet(&self) -> Result<Error> {
        let state = "the branch is not in the state that the request demands";
        let (by, at) = match &self.record.last {
            // Who saved after it what was there already has changed nothing.
            Some(last) => (last.by.as_str(), last.at),
            None => (self.updated_by(), self.updated_at()),
        };
        Ok(Error::Precondition {
            reason: changed(state, by, at),
            tag: Some(self.head().digest()?.commit_id().to_owned()),
            file: None,
        })
    }

    /// The refusal of a change of the branch. Where a file is not as it was demanded, it says who brought
    /// the file to what it is, and when, if that is known.
    pub(in crate::repo) fn refusal(&self, refused: Error) -> Error {
        let Error::Precondition {
            reason,
            tag: Some(tag),
            file: Some(path),
        } = refused
        else {
            return refused;
        };
        let last = self.head().last_changed(&path).ok().flatten();
        let reason = match last {
            Some((at, by)) => changed(&reason, &by, at),
            None => reason,
        };
        Error::Precondition {
            reason,
            tag: Some(tag),
            file: Some(path),
        }
    }
}

fn changed(what: &str, by: &str, at: Timestamp) -> String {
    format!("{what}: {by} changed it at {at}")
}
