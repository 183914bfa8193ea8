//! Counts of what happens, for whoever watches the service: relaxed atomics, and nothing else where they
//! are counted. Names and texts are given to them where they are shown.

mod count;
mod spread;

pub use count::Count;
pub use spread::{BATCHES, DURATIONS_NS, Spread};
