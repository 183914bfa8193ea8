//! What projects hold, each as one thing.

use quick_cache::sync::Cache;

use super::Result;
use crate::base::branch_name::BranchName;
use crate::base::cache::{CacheUse, get_or_make};
use crate::base::clock::Timestamp;

/// Projects whose overviews memory keeps, some hundred bytes each.
const KEPT: usize = 4096;

/// What a project holds, all its branches together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// The branch that is meant where none is named.
    pub default_branch: Option<BranchName>,
    /// How many branches there are.
    pub branches: u64,
    /// Files of all heads.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When any of its branches last changed, or when the project was made.
    pub updated_at: Timestamp,
    /// Who made that change; `None` without a branch.
    pub updated_by: Option<String>,
}

/// The overviews that were looked at last.
#[derive(Debug)]
pub(super) struct Overviews {
    /// By the number of a project and the state of its branches.
    known: Cache<(u64, u64), Overview>,
}

impl Default for Overviews {
    fn default() -> Self {
        Self {
            known: Cache::new(KEPT),
        }
    }
}

impl Overviews {
    /// What is kept in memory, and how often it was what was wanted.
    pub(super) fn cache_use(&self) -> CacheUse {
        CacheUse::counted("overviews", &self.known)
    }

    /// That of a project whose branches are in this state. `look` makes it, once for all who ask at the same time.
    ///
    /// # Errors
    /// Those of `look`.
    pub(super) fn get_or_look(
        &self,
        branches: (u64, u64),
        look: impl FnOnce() -> Result<Overview>,
    ) -> Result<Overview> {
        get_or_make(&self.known, &branches, look)
    }
}
