//! How far searches through a project's history go, counted by what they ask of the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use siteconf::base::digest::BodyDigests;
use siteconf::object::key;
use siteconf::object::record::{BranchRecord, SnapshotRecord};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Record, Result, Scan, Staging, Store, Version};

use crate::fixture::Scene;
use crate::forwarded::forward_all_but_records;

/// A store that counts.
#[derive(Debug)]
struct Counted<S> {
    store: S,
    /// Scans of snapshots.
    scans: AtomicU64,
}

impl<S> Counted<S> {
    fn over(store: S) -> Self {
        Self {
            store,
            scans: AtomicU64::new(0),
        }
    }
}

impl<S: Store> Store for Counted<S> {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        if scan.prefix.starts_with(key::SNAPSHOTS) {
            self.scans.fetch_add(1, Ordering::Relaxed);
        }
        self.store.scan(scan)
    }
    fn external_writes(&self) -> Result<u64> {
        self.store.external_writes()
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_search_for_a_blob_ends_after_so_many_snapshots_and_is_not_made_twice_in_vain() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let store = Arc::new(Counted::over(store));
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    scene.save("a", "old");
    scene.delete("a").unwrap();
    let old = BodyDigests::of(b"old").git;
    // From the third on the branch holds no file.
    let lay = |snapshots: std::ops::RangeInclusive<u64>| {
        let of = |key: &str| store.record(key).unwrap().unwrap();
        let first = of(&key::snapshot(1, 1)).decode::<SnapshotRecord>().unwrap();
        let branch_key = key::branch(1, 1);
        let main = of(&branch_key).decode::<BranchRecord>().unwrap();
        let mut batch = Batch::default();
        let record = BranchRecord {
            snapshots: *snapshots.end(),
            ..BranchRecord::clone(&main.value)
        };
        for number in snapshots {
            batch.write(key::snapshot(1, number), Expect::Absent, &*first.value);
        }
        batch.write(branch_key, Expect::Anything, &record);
        store.commit(batch).unwrap();
    };
    assert!(scene.project.find_blob(old).unwrap().is_some());
    lay(3..=100_002);
    assert!(scene.project.find_blob(old).unwrap().is_none());
    store.scans.store(0, Ordering::Relaxed);
    assert!(scene.project.find_blob(old).unwrap().is_none());
    assert_eq!(store.scans.load(Ordering::Relaxed), 0);
    scene.save("a", "old");
    assert!(scene.project.find_blob(old).unwrap().is_some());
}
