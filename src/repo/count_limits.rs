//! How many projects an account may have, and how many branches a project.

use super::{Error, Result};
use crate::base::limits::{BRANCHES_PER_PROJECT_MAX, PROJECTS_PER_ACCOUNT_MAX};

/// Most of what is listed as a whole. What there is already stays where fewer are allowed. Those that are made at the
/// same moment are counted each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountLimits {
    /// Most projects of one account, so that those of one do not slow the lists of all others.
    pub projects_account_max: u64,
    /// Most branches of one project.
    pub branches_project_max: u64,
}

impl CountLimits {
    /// As many as the store has room for.
    pub const NONE: Self = Self {
        projects_account_max: u64::MAX,
        branches_project_max: u64::MAX,
    };
}

impl Default for CountLimits {
    fn default() -> Self {
        Self {
            projects_account_max: PROJECTS_PER_ACCOUNT_MAX,
            branches_project_max: BRANCHES_PER_PROJECT_MAX,
        }
    }
}

impl CountLimits {
    /// Refuses one project more for an account that has so many.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn check_projects(self, count: u64) -> Result<()> {
        check(count, self.projects_account_max, "the account", "projects")
    }

    /// Refuses one branch more for a project that has so many.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn check_branches(self, count: u64) -> Result<()> {
        check(count, self.branches_project_max, "the project", "branches")
    }
}

fn check(count: u64, most: u64, whose: &str, what: &str) -> Result<()> {
    if count >= most {
        return Err(Error::invalid(format!(
            "{whose} has {count} {what}, the most allowed: delete one first"
        )));
    }
    Ok(())
}
