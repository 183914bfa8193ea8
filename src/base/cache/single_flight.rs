//! Values that are made once for all who want them.

use std::hash::Hash;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::base::may_block;

/// The value under a key, made where none is kept: of many who ask at once one makes it, and the others wait for it.
/// Whoever makes or waits frees the other clients of its thread.
///
/// # Errors
/// Those of `make`. Nothing is kept then, and of those who wait the next one tries.
pub fn get_or_make<K, V, W, E>(
    cache: &Cache<K, V, W>,
    key: &K,
    make: impl FnOnce() -> Result<V, E>,
) -> Result<V, E>
where
    K: Eq + Hash + Clone,
    V: Clone,
    W: Weighter<K, V> + Clone,
{
    if let Some(known) = cache.get(key) {
        return Ok(known);
    }
    may_block(|| cache.get_or_insert_with(key, make))
}
