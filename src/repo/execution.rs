//! Whether something is done, or only looked at.

/// How far a work goes that can be looked at before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Nothing is changed; it is said what would come of it.
    Preview,
    /// It is done.
    Apply,
}

impl Execution {
    /// A preview for a dry run.
    pub fn of(dry_run: bool) -> Self {
        if dry_run { Self::Preview } else { Self::Apply }
    }
}
