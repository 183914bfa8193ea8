//! What every store promises, run on each engine, and what only the folder of the embedded one can
//! show: its lock, its format, its files, damage and a full disk.

/// Makes a test of each named check on each engine. A check is a function of this file that takes
/// `&dyn Store`: an empty store.
macro_rules! on_every_engine {
    ($($check:ident),+ $(,)?) => {
        on_engines_with_large_blobs!($($check),+);
        #[cfg(feature = "fleet")]
        mod on_postgres {
            $(#[test] fn $check() {
                super::$check(&crate::server::Database::new().open());
            })+
        }
    };
}

/// The same on those whose large bodies can be read while they come, and lie under their ids.
macro_rules! on_engines_with_large_blobs {
    ($($check:ident),+ $(,)?) => {
        mod on_memory {
            $(#[test] fn $check() { super::$check(&siteconf::store::memory::MemoryStore::default()); })+
        }
        mod on_record_cache {
            $(#[test] fn $check() {
                let root = tempfile::tempdir().unwrap();
                let store = siteconf::store::sqlite::SqliteStore::open_locked(root.path()).unwrap();
                super::$check(&siteconf::store::record_cache::RecordCache::new(store));
            })+
        }
        mod on_sqlite {
            $(#[test] fn $check() {
                let root = tempfile::tempdir().unwrap();
                super::$check(&siteconf::store::sqlite::SqliteStore::open_locked(root.path()).unwrap());
            })+
        }
    };
}

#[cfg(test)]
mod background_writes;
#[cfg(test)]
mod backup;
#[cfg(test)]
#[cfg(feature = "fleet")]
#[path = "../support/bucket.rs"]
#[allow(dead_code, reason = "the tests of the service use the rest")]
mod bucket;
#[cfg(test)]
mod checksums;
#[cfg(test)]
mod collection_lock;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod concurrency;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod disk_full;
#[cfg(test)]
mod external_writes;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod folder;
#[cfg(test)]
#[path = "../support/forwarded.rs"]
mod forwarded;
#[cfg(test)]
mod index;
#[cfg(test)]
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(test)]
mod objects;
#[cfg(test)]
#[cfg(feature = "fleet")]
mod postgres;
#[cfg(test)]
mod record_cache;
#[cfg(test)]
mod record_races;
#[cfg(test)]
mod records;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod retry;
#[cfg(test)]
#[cfg(feature = "fleet")]
#[path = "../support/role_service.rs"]
mod role_service;
#[cfg(test)]
#[cfg(feature = "fleet")]
#[path = "../support/rounds.rs"]
mod rounds;
#[cfg(test)]
#[cfg(feature = "fleet")]
#[path = "../support/postgres.rs"]
#[allow(dead_code, reason = "the tests of the service use the rest")]
mod server;
#[cfg(test)]
mod staging;
#[cfg(test)]
mod uploads;
