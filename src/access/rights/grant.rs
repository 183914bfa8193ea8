//! Grants, and the one decision over them.

use super::permission::Permissions;
use super::virtual_path::{Folder, VirtualPath};

/// Which paths of the virtual file system a grant is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `/apps/site-builder/user/<owner>/*`
    UserFolder(u64),
    /// `/apps/site-builder/user/*/<repo_id>` where the repo id equals the prefix, is
    /// `<prefix>.<type>`, or starts with `<prefix>/`.
    Prefix(String),
    /// `/apps/site-builder/public/*`
    Public,
    /// `/apps/site-builder/*`
    Everything,
}

impl Pattern {
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where.
    pub pattern: Pattern,
    /// What.
    pub permissions: Permissions,
}

impl Grant {
    /// Joins the two.
    pub fn new(pattern: Pattern, permissions: Permissions) -> Self {
        Self {
            pattern,
            permissions,
        }
    }
}

/// Decides every question of rights: true if the grants that match the path together hold all that
/// is needed. Roles are additive: no grant takes anything away (specification section 5.4).
pub fn decide(grants: &[Grant], path: &VirtualPath<'_>, needed: Permissions) -> bool {
    grants
        .iter()
        .filter(|grant| grant.pattern.matches(path))
        .fold(Permissions::NONE, |held, grant| held.and(grant.permissions))
        .include(needed)
}
