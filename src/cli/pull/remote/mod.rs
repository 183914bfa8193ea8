//! The service: its Read API, asked for a branch's head, its tree and its files.

pub(super) mod address;
mod body;
pub(super) mod client;
pub(super) mod fetch;
pub(super) mod head;
pub(super) mod token;
pub(super) mod tree;
