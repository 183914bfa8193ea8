//! What a client demands of a branch or a file before it is changed, and what it is told where that does
//! not hold.

use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::object::node::FileEntry;
use crate::repo::{Branch, Error, Result};

/// What must hold of a file or a branch for a change to be made (`If-Match`, `If-None-Match`). The
/// entity tag of a file is its blob's id, that of a branch is the commit id of its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// It is there, and its entity tag is one of these (`*` for any).
    IfMatch(Vec<String>),
    /// It is not there.
    IfAbsent,
}

impl Condition {
    /// True if it holds of what has this entity tag, `None` for what is not there.
    pub(in crate::repo) fn holds(&self, tag: Option<&str>) -> bool {
        match (self, tag) {
            (Self::None, _) | (Self::IfAbsent, None) => true,
            (Self::IfAbsent, Some(_)) | (Self::IfMatch(_), None) => false,
            (Self::IfMatch(tags), Some(own)) => tags.iter().any(|tag| tag == own || tag == "*"),
        }
    }

    /// Refuses a change of a file, `None` where there is none, of which it does not hold.
    ///
    /// # Errors
    /// [`Error::Precondition`].
    pub(super) fn require(&self, path: &FilePath, file: Option<&FileEntry>) -> Result<()> {
        if *self == Self::None {
            return Ok(());
        }
        let own = file.map(|file| file.blob);
        if self.holds(own.map(|own| own.to_string()).as_deref()) {
            Ok(())
        } else {
            Err(Error::file_precondition(Some(path), own))
        }
    }
}

impl Branch {
    /// The state of the branch, if a condition holds of it; `None` if there is no condition.
    ///
    /// # Errors
    /// [`Error::Precondition`].
    pub(in crate::repo) fn require(&self, condition: &Condition) -> Result<Option<ManifestId>> {
        if *condition == Condition::None {
            return Ok(None);
        }
        let digest = self.head().digest()?;
        if condition.holds(Some(digest.commit_id())) {
            Ok(Some(self.head().manifest()))
        } else {
            Err(self.unmet()?)
        }
    }

    /// The refusal of a condition that does not hold of the branch.
    pub(in crate::repo) fn unmet(&self) -> Result<Error> {
        let state = "the branch is not in the state that the request demands";
        Ok(Error::Precondition {
            reason: changed(state, self.updated_by(), self.updated_at()),
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
