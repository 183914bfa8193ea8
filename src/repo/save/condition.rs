//! What a client demands of a branch or a file before it is changed.

use crate::base::file_path::FilePath;
use crate::object::node::FileEntry;
use crate::repo::{Error, Result};

/// What must hold of a file, a branch or the rules of a project for a change to be made (`If-Match`,
/// `If-None-Match`). The entity tag of a file is its blob's id, that of a branch is the commit id of its
/// head, that of rules is what [`crate::repo::Rule::tag_of`] gives.
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
    /// True if it holds of whatever is there.
    pub(in crate::repo) fn holds_of_any(&self) -> bool {
        match self {
            Self::None => true,
            Self::IfMatch(tags) => tags.iter().any(|tag| tag == "*"),
            Self::IfAbsent => false,
        }
    }

    /// True if it holds of what has this entity tag, `None` for what is not there.
    pub(in crate::repo) fn holds(&self, tag: Option<&str>) -> bool {
        match (self, tag) {
            (Self::None, _) | (Self::IfAbsent, None) => true,
            (Self::IfAbsent, Some(_)) | (Self::IfMatch(_), None) => false,
            (Self::IfMatch(tags), Some(own)) => {
                self.holds_of_any() || tags.iter().any(|tag| tag == own)
            }
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
