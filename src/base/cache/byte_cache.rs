//! Caches that are bounded by the memory that they take.

use std::hash::Hash;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// A cache that is bounded by the bytes of memory that its entries take.
pub type ByteCache<K, V> = Cache<K, V, EntryBytes<K, V>>;

/// Says how many bytes of memory an entry takes.
#[derive(Clone, Debug)]
pub struct EntryBytes<K, V>(fn(&K, &V) -> usize);

/// A cache of at most `bytes_max` bytes, as `entry_bytes` counts those of an entry when it comes and goes.
///
/// It is laid out for about `entries` entries: it has more parts the more these are, and keeps nothing that
/// is larger than a part.
pub fn byte_cache<K: Eq + Hash + Clone, V: Clone>(
    bytes_max: u64,
    entries: u64,
    entry_bytes: fn(&K, &V) -> usize,
) -> ByteCache<K, V> {
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    Cache::with_weighter(entries, bytes_max, EntryBytes(entry_bytes))
}

impl<K, V> Weighter<K, V> for EntryBytes<K, V> {
    fn weight(&self, key: &K, value: &V) -> u64 {
        (self.0)(key, value) as u64
    }
}
