//! What all branches of a project are at a moment, held by many who watch them.

mod changes;
mod looks;
mod states;

pub use changes::BranchChanges;
pub(super) use looks::LastLooks;
pub use states::BranchStates;
