//! Where a project lives in the virtual file system that roles speak of.

use std::fmt;

use crate::base::repo_id::RepoId;

/// A folder that holds projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// `/apps/site-builder/user/<owner>`. The owner is an account's number, not its name: numbers are
    /// never given twice.
    User(u64),
    /// `/apps/site-builder/public`
    Public,
}

/// A project's path: `/apps/site-builder/user/<owner>/<repo_id>`, or
/// `/apps/site-builder/public/<repo_id>` for a name that starts with `public/` (contract section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualPath<'a> {
    /// The folder.
    pub folder: Folder,
    /// The project.
    pub repo_id: &'a RepoId,
}

impl<'a> VirtualPath<'a> {
    /// The path of this owner's project.
    pub fn new(owner: u64, repo_id: &'a RepoId) -> Self {
        let folder = if repo_id.is_public() {
            Folder::Public
        } else {
            Folder::User(owner)
        };
        Self { folder, repo_id }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(owner) => write!(f, "/apps/site-builder/user/{owner}"),
            Self::Public => f.write_str("/apps/site-builder/public"),
        }
    }
}

impl fmt::Display for VirtualPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.repo_id)
    }
}
