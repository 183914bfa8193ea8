//! Caches that are bounded by the memory that they take.

use std::hash::Hash;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// A cache that is bounded by the bytes of memory that its entries take.
pub type ByteCache<K, V> = Cache<K, V, EntryBytes<K, V>>;

/// Most parts of a cache, each with a lock of its own. By itself `quick_cache` has four for each processor, and what a
/// machine keeps another with more of them never does.
const PARTS_MAX: usize = 32;
/// An entry takes so many hundredths of a part at most: `quick_cache` leaves the rest to what is new.
const ENTRY_PERCENT_MAX: u64 = 97;

/// Says how many bytes of memory an entry takes.
#[derive(Clone, Debug)]
pub struct EntryBytes<K, V>(fn(&K, &V) -> usize);

/// A cache of at most `bytes_max` bytes, as `entry_bytes` counts those of an entry when it comes and goes.
///
/// # Limits
/// It is divided in parts, on every machine in as many: in 32 at most, and in so few that each has room for 32 usual
/// entries, where `entries` of them take all of `bytes_max`. It keeps each entry of up to a 33rd of `bytes_max`, or of
/// thirty usual ones, whatever is more, and none of more than [`entry_bytes_max`].
pub fn byte_cache<K: Eq + Hash + Clone, V: Clone>(
    bytes_max: u64,
    entries: u64,
    entry_bytes: fn(&K, &V) -> usize,
) -> ByteCache<K, V> {
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    let options = OptionsBuilder::new()
        .shards(PARTS_MAX)
        .estimated_items_capacity(entries)
        .weight_capacity(bytes_max)
        .build()
        .expect("both capacities are set");
    Cache::with_options(
        options,
        EntryBytes(entry_bytes),
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// The largest entry that a cache keeps, in bytes.
pub fn entry_bytes_max<K: Eq + Hash + Clone, V: Clone>(cache: &ByteCache<K, V>) -> u64 {
    cache.shard_capacity().saturating_mul(ENTRY_PERCENT_MAX) / 100
}

impl<K, V> Weighter<K, V> for EntryBytes<K, V> {
    fn weight(&self, key: &K, value: &V) -> u64 {
        (self.0)(key, value) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::limits::{LISTED_ENTRIES_WHOLE_MAX, RENDERED_BYTES, RENDERED_USUAL_BYTES};

    const MIB: u64 = 1 << 20;

    fn cache(bytes_max: u64, entries: u64) -> ByteCache<u64, u64> {
        byte_cache(bytes_max, entries, |_, bytes| {
            usize::try_from(*bytes).unwrap()
        })
    }

    /// True if a cache keeps each of some entries of this size, one after another.
    fn keeps(cache: &ByteCache<u64, u64>, bytes: u64) -> bool {
        (0..100).all(|key| {
            cache.insert(key, bytes);
            cache.get(&key).is_some() && cache.weight() <= cache.capacity()
        })
    }

    #[test]
    fn what_a_cache_keeps_depends_on_no_number_of_processors() {
        for (entries, parts) in [(1, 1), (63, 2), (64, 2), (1024, 32), (1 << 16, 32)] {
            let cache = cache(8 * MIB, entries);
            assert_eq!(cache.num_shards(), parts, "{entries}");
            assert_eq!(cache.capacity(), 8 * MIB, "{entries}");
            let largest = entry_bytes_max(&cache);
            assert!(keeps(&cache, largest), "{entries}");
            assert!(!keeps(&cache, largest + 2), "{entries}");
            let of_usual = (30 * 8 * MIB / entries).min(8 * MIB * ENTRY_PERCENT_MAX / 100);
            assert!(largest >= of_usual.max(8 * MIB / 33), "{entries}");
        }
    }

    #[test]
    fn the_longest_list_that_is_made_as_a_whole_is_kept_as_rendered() {
        let cache = cache(RENDERED_BYTES, RENDERED_BYTES / RENDERED_USUAL_BYTES);
        // An entry of a tree whose path is long takes some 800 bytes.
        assert!(keeps(&cache, 800 * LISTED_ENTRIES_WHOLE_MAX));
    }
}
