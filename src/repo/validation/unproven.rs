//! Why something is not proven of a file.

use super::text::Fault;
use crate::repo::Error;

/// The file is at fault, or the check could not be made.
#[derive(Debug)]
pub(super) enum Unproven {
    /// What is wrong with the file.
    Fault(Fault),
    /// Why nobody can say.
    Failed(Error),
}

impl From<Fault> for Unproven {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Unproven {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
