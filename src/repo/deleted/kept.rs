//! How much of what is deleted is kept: an account with as many deleted projects as it may have others, or a project
//! with so many deleted branches, gets no more. So a deletion is never refused, and nothing is forgotten early.

use crate::object::key;
use crate::object::record::ProjectRecord;
use crate::repo::{CountLimits, Error, Project, Projects, Result};
use crate::store::{Scan, Values};

impl Projects {
    /// Refuses one project more for an account with too many that are deleted and can be restored.
    ///
    /// # Errors
    /// [`Error::TooManyDeleted`].
    ///
    /// # Limits
    /// Reads the records of all deleted projects, some at a time. They are seldom asked for: memory is for others.
    pub(in crate::repo) fn check_deleted_projects(&self, owner: u64) -> Result<()> {
        if self.count_limits == CountLimits::NONE {
            return Ok(());
        }
        let mut count = 0;
        self.each_deleted::<ProjectRecord, Error>(key::DELETED_PROJECTS, |_, kept| {
            count += u64::from(kept.record.owner == owner);
            Ok(())
        })?;
        self.count_limits.check_deleted_projects(count)
    }
}

impl Project {
    /// Refuses one branch more for a project with too many that are deleted and not forgotten yet. Only keys are read.
    ///
    /// # Errors
    /// [`Error::TooManyDeleted`].
    pub(in crate::repo) fn check_deleted_branches(&self) -> Result<()> {
        let limits = self.projects.count_limits;
        if limits == CountLimits::NONE {
            return Ok(());
        }
        let kept = self.projects.store().scan(Scan {
            values: Values::Unread,
            ..Scan::prefix(&key::deleted_branches(self.number()))
        })?;
        limits.check_deleted_branches(kept.len() as u64)
    }
}
