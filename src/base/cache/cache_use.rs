//! What a cache holds, and how often it had what was wanted.

use std::hash::Hash;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::ByteCache;

/// What a cache holds, and how often it had what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheUse {
    /// What it keeps, in few words that make a name.
    pub name: &'static str,
    /// Bytes, as far as the cache accounts for them; `None` where it counts entries alone.
    pub bytes: Option<u64>,
    /// Most bytes that it may hold; `None` where it counts entries alone.
    pub bytes_max: Option<u64>,
    /// Entries.
    pub entries: u64,
    /// How often it had what was wanted.
    pub hits: u64,
    /// How often not.
    pub misses: u64,
}

impl CacheUse {
    /// Of a cache that is bounded by bytes.
    pub fn weighed<K, V>(name: &'static str, cache: &ByteCache<K, V>) -> Self
    where
        K: Eq + Hash + Clone,
        V: Clone,
    {
        Self {
            bytes: Some(cache.weight()),
            bytes_max: Some(cache.capacity()),
            ..Self::counted(name, cache)
        }
    }

    /// Of a cache that is bounded by entries.
    pub fn counted<K, V, W>(name: &'static str, cache: &Cache<K, V, W>) -> Self
    where
        K: Eq + Hash,
        V: Clone,
        W: Weighter<K, V> + Clone,
    {
        Self {
            name,
            bytes: None,
            bytes_max: None,
            entries: cache.len() as u64,
            hits: cache.hits(),
            misses: cache.misses(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cache::byte_cache;

    #[test]
    fn a_cache_tells_what_it_had() {
        let cache = Cache::<u8, u8>::new(10);
        cache.insert(1, 1);
        assert!(cache.get(&1).is_some() && cache.get(&2).is_none());
        let expected = CacheUse {
            name: "x",
            bytes: None,
            bytes_max: None,
            entries: 1,
            hits: 1,
            misses: 1,
        };
        assert_eq!(CacheUse::counted("x", &cache), expected);
        let cache = byte_cache(1000, 1, |_: &u8, bytes: &usize| *bytes);
        cache.insert(1, 300);
        let expected = CacheUse {
            name: "y",
            bytes: Some(300),
            bytes_max: Some(1000),
            entries: 1,
            hits: 0,
            misses: 0,
        };
        assert_eq!(CacheUse::weighed("y", &cache), expected);
    }
}
