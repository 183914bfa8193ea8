//! What threads share: turns, buffers, and their runtime while one of them waits.

pub mod buffers;
mod may_block;
pub mod turns;

pub use may_block::may_block;
