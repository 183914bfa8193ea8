//! What a long command does while it runs: it tells how far it is, waits for its turn, and ends when it is asked to.

pub(super) mod progress;
pub(super) mod stop;
pub(super) mod turn;
