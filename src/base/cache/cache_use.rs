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
            entries: cache.len() as u64,
            hits: cache.hits(),
            misses: cache.misses(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_tells_what_it_had() {
        let cache = Cache::<u8, u8>::new(10);
        cache.insert(1, 1);
        assert!(cache.get(&1).is_some() && cache.get(&2).is_none());
        let expected = CacheUse {
            name: "x",
            bytes: None,
            entries: 1,
            hits: 1,
            misses: 1,
        };
        assert_eq!(CacheUse::counted("x", &cache), expected);
    }
}
