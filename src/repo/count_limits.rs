//! How many projects an account may have, and how many branches a project; and how many of each that are deleted and
//! kept, before it gets no more.

use super::{Error, Result};
use crate::base::limits::{BRANCHES_PER_PROJECT_MAX, PROJECTS_PER_ACCOUNT_MAX};

/// Most of what is listed as a whole. What there is already stays where fewer are allowed. Those that are made at the
/// same moment are counted each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountLimits {
    /// Most projects of one account, so that those of one do not slow the lists of all others. With so many deleted
    /// ones that can be restored, it gets no new ones.
    pub projects_account_max: u64,
    /// Most branches of one project. The same holds of its deleted ones.
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

    /// Refuses one project more for an account with so many deleted ones.
    ///
    /// # Errors
    /// [`Error::TooManyDeleted`].
    pub(super) fn check_deleted_projects(self, count: u64) -> Result<()> {
        check_deleted(count, self.projects_account_max, "the account", "projects")
    }

    /// Refuses one branch more for a project with so many deleted ones.
    ///
    /// # Errors
    /// [`Error::TooManyDeleted`].
    pub(super) fn check_deleted_branches(self, count: u64) -> Result<()> {
        check_deleted(count, self.branches_project_max, "the project", "branches")
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

fn check_deleted(count: u64, most: u64, whose: &'static str, what: &'static str) -> Result<()> {
    if count >= most {
        return Err(Error::TooManyDeleted {
            whose,
            what,
            count,
            most,
        });
    }
    Ok(())
}
