//! Grants, and the one decision over them.

use super::permission::Permissions;
use super::virtual_path::{Folder, VirtualPath};

/// Which paths of the virtual file system a grant is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern<'a> {
    /// `/apps/site-builder/user/<owner>/*`
    UserFolder(u64),
    /// `/apps/site-builder/user/*/<repo_id>` where the repo id equals the prefix, is
    /// `<prefix>.<type>`, or starts with `<prefix>/`.
    Prefix(&'a str),
    /// `/apps/site-builder/public/*`
    Public,
    /// `/apps/site-builder/*`
    Everything,
}

impl Pattern<'_> {
    /// True if the grant is about this path.
    pub fn matches(&self, path: &VirtualPath<'_>) -> bool {
        match self {
            Self::UserFolder(owner) => path.folder == Folder::User(*owner),
            Self::Prefix(prefix) => {
                matches!(path.folder, Folder::User(_)) && path.repo_id.matches_prefix(prefix)
            }
            Self::Public => path.folder == Folder::Public,
            Self::Everything => true,
        }
    }
}

/// Permissions on the paths of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// Where.
    pub pattern: Pattern<'a>,
    /// What.
    pub permissions: Permissions,
}

impl<'a> Grant<'a> {
    /// Joins the two.
    pub fn new(pattern: Pattern<'a>, permissions: Permissions) -> Self {
        Self {
            pattern,
            permissions,
        }
    }
}

/// Decides every question of rights: true if the grants that match the path together hold all that
/// is needed. Roles are additive: no grant takes anything away (specification section 5.4).
pub fn decide<'a>(
    grants: impl Iterator<Item = Grant<'a>>,
    path: &VirtualPath<'_>,
    needed: Permissions,
) -> bool {
    grants
        .filter(|grant| grant.pattern.matches(path))
        .fold(Permissions::NONE, |held, grant| held.and(grant.permissions))
        .include(needed)
}
