//! Caches that are bounded by the memory that they take, and what is told of any cache.

mod byte_cache;
mod cache_use;
mod single_flight;

pub use byte_cache::{ByteCache, byte_cache, entry_bytes_max};
pub use cache_use::CacheUse;
pub use single_flight::get_or_make;
