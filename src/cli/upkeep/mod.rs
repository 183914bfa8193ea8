//! Commands for the upkeep of a store: room given back, old snapshots removed, earlier formats made today's.

pub(super) mod collect;
pub(super) mod migrate;
pub(super) mod prune;
pub(super) mod upgrade;
