//! What can be done with a project, without HTTP, on each engine and with a clock of the test's own.

#[cfg(test)]
mod audit;
#[cfg(test)]
mod audit_packs;
#[cfg(test)]
mod branches;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod changing;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod deleted;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod forgotten;
#[cfg(test)]
#[path = "../support/forwarded.rs"]
mod forwarded;
#[cfg(test)]
mod history_searches;
#[cfg(test)]
mod import_links;
#[cfg(test)]
mod import_options;
#[cfg(test)]
mod import_races;
mod import_sources;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod last_changes;
#[cfg(test)]
mod many_writers;
#[cfg(test)]
mod meddling;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod order;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod parents;
#[cfg(test)]
mod renames;
#[cfg(test)]
mod revisions;
#[cfg(test)]
mod saves;
#[cfg(test)]
mod searches;
#[cfg(test)]
#[cfg(feature = "fleet")]
#[path = "../support/postgres.rs"]
#[allow(dead_code, reason = "the tests of the engine use the rest")]
mod server;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod uploads;

/// Makes a test of each named check on each engine. A check takes a `&Scene`: an empty project.
#[cfg(test)]
macro_rules! on_every_engine {
    ($($check:ident),+ $(,)?) => {
        crate::on_engines_with_large_blobs!($($check),+);
        #[cfg(feature = "fleet")]
        mod on_postgres {
            $(#[test] fn $check() {
                let database = crate::server::Database::new();
                let store = siteconf::store::record_cache::RecordCache::new(database.open());
                super::$check(&crate::fixture::Scene::on(store));
            })+
        }
    };
}
#[cfg(test)]
pub(crate) use on_every_engine;

/// The same on those that have a place for large blobs.
#[cfg(test)]
macro_rules! on_engines_with_large_blobs {
    ($($check:ident),+ $(,)?) => {
        mod on_memory {
            $(#[test] fn $check() {
                super::$check(&crate::fixture::Scene::on(siteconf::store::memory::MemoryStore::default()));
            })+
        }
        mod on_sqlite {
            $(#[test] fn $check() {
                let root = tempfile::tempdir().unwrap();
                let store = siteconf::store::sqlite::SqliteStore::open_locked(root.path()).unwrap();
                super::$check(&crate::fixture::Scene::on(siteconf::store::record_cache::RecordCache::new(store)));
            })+
        }
    };
}
#[cfg(test)]
pub(crate) use on_engines_with_large_blobs;
