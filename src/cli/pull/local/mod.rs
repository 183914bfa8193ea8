//! The folder: what it holds, what is to take its place, and the step in which that happens.

mod acl;
pub(super) mod adopt;
mod apart;
mod exchange;
pub(super) mod folder;
pub(super) mod lay;
pub(super) mod own;
mod place;
mod remove;
mod rescue;
mod side;
pub(super) mod state;
