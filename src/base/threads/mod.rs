//! Threads, and what they share: turns, buffers, and their runtime while one of them waits.

pub mod buffers;
pub mod joined;
mod lock;
mod may_block;
pub mod turns;

pub use lock::lock;
pub use may_block::may_block;
