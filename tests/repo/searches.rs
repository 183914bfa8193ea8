//! How far searches through a project's history go, counted by what they ask of the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use siteconf::base::clock::{Clock, ManualClock, Timestamp};
use siteconf::base::digest::{BodyDigests, sha256};
use siteconf::base::repo_id::RepoId;
use siteconf::object::key;
use siteconf::object::record::{BranchRecord, SnapshotRecord};
use siteconf::repo::{Error, Missing, Project, Projects};
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Record, Result, Scan, Staging, Store, StoreError, Version};

use crate::fixture::{Scene, branch, files_of};
use crate::forwarded::forward_all_but_records;

/// A store that counts, and in which it takes a second to find that a digest is not kept and must be computed, and as
/// long as a test says to look at an entry of the index.
#[derive(Debug)]
struct Counted<S = MemoryStore> {
    store: S,
    clock: Arc<ManualClock>,
    /// Entries of the index of commit ids that were looked at one by one.
    entries: AtomicU64,
    /// How many seconds it takes to look at one.
    entry_s: AtomicU64,
    /// Scans of snapshots.
    scans: AtomicU64,
    /// So many commits from now on find that another has made a branch meanwhile.
    conflicts: AtomicU64,
}

impl Counted {
    fn new() -> Self {
        Self::over(MemoryStore::default())
    }

    /// The project of a scene in this store, opened by somebody who has nothing in memory.
    fn open(self: &Arc<Self>) -> Project {
        let store = Arc::clone(self) as Arc<dyn Store>;
        let projects = Projects::new(store, Arc::clone(&self.clock) as Arc<_>);
        let id = RepoId::parse("acme/shop.erp").unwrap();
        projects.project(&id).unwrap()
    }
}

impl<S> Counted<S> {
    fn over(store: S) -> Self {
        Self {
            store,
            clock: Arc::new(ManualClock::new(Timestamp::parse("2026-11-21").unwrap())),
            entries: AtomicU64::new(0),
            entry_s: AtomicU64::new(0),
            scans: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        }
    }
}

impl<S: Store> Store for Counted<S> {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        let found = self.store.record(key)?;
        if key.starts_with(key::COMMITS) {
            self.entries.fetch_add(1, Ordering::Relaxed);
            self.clock.advance_s(self.entry_s.load(Ordering::Relaxed));
        }
        if key.starts_with(key::DIGESTS) && found.is_none() {
            self.clock.advance_s(1);
        }
        Ok(found)
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
        let fewer = |conflicts: u64| conflicts.checked_sub(1);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.conflicts.fetch_update(set, get, fewer).is_ok() {
            let key = key::BRANCH_COUNTER.to_owned();
            return Err(StoreError::Conflict { key });
        }
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// The commit id of the state with the one file "a" that holds this number.
fn id_of(number: u64) -> String {
    let text = number.to_string();
    let md5 = BodyDigests::of(text.as_bytes()).md5;
    let line = format!("a|{}|{md5}\n", text.len());
    sha256(line.as_bytes()).to_string()[..40].to_owned()
}

fn is_missing<T>(outcome: &std::result::Result<T, Error>) -> bool {
    let missing = Missing::Revision;
    matches!(outcome, Err(Error::NotFound { what }) if *what == missing)
}

#[test]
fn a_search_for_a_commit_id_ends_with_its_time_and_the_next_goes_on() {
    let store = Arc::new(Counted::new());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    // With the empty one 26 states.
    for number in 1..=25 {
        scene.save("a", &number.to_string());
    }
    drop(scene);
    let project = store.open();
    let outcomes = [(); 3].map(|()| project.resolve(Some(&id_of(1))));
    let [first, second, third] = outcomes;
    for ended in [first, second] {
        assert!(matches!(ended, Err(Error::Unfinished)), "{ended:?}");
    }
    assert_eq!(files_of(&third.unwrap()), ["a=1"]);
}

#[test]
fn a_search_for_a_commit_id_that_found_something_ends_with_its_time() {
    let store = Arc::new(Counted::new());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    for number in 1..=25 {
        scene.save("a", &number.to_string());
    }
    let other = branch("other");
    scene.project.create_branch(&other, None).unwrap();
    for number in 26..=50 {
        let saved = scene.try_save("other", "a", &number.to_string());
        saved.unwrap();
    }
    drop(scene);
    let project = store.open();
    let began_ms = store.clock.uptime_ms();
    // The newest but the head.
    assert_eq!(
        files_of(&project.resolve(Some(&id_of(24))).unwrap()),
        ["a=24"]
    );
    assert_eq!(store.clock.uptime_ms() - began_ms, 10_000);
}

#[test]
fn a_search_for_a_commit_id_that_has_nothing_to_enter_goes_to_its_end() {
    let store = Arc::new(Counted::new());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    for number in 1..=25 {
        scene.save("a", &number.to_string());
    }
    let absent = "00000000";
    while let Err(Error::Unfinished) = scene.project.resolve(Some(absent)) {}
    assert!(is_missing(&scene.project.resolve(Some(absent))));
    drop(scene);
    store.entry_s.store(1, Ordering::Relaxed);
    let outcome = store.open().resolve(Some(absent));
    assert!(is_missing(&outcome), "{outcome:?}");
}

#[test]
fn a_search_for_a_commit_id_passes_over_what_one_before_has_entered() {
    let store = Arc::new(Counted::new());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    for number in 0..5 {
        scene.save("a", &number.to_string());
    }
    let project = &scene.project;
    let looked_at = |text: &str| {
        store.entries.store(0, Ordering::Relaxed);
        assert!(is_missing(&project.resolve(Some(text))));
        store.entries.load(Ordering::Relaxed)
    };
    // The head, and five snapshots.
    assert_eq!(looked_at("00000000"), 6);
    assert_eq!(looked_at("00000001"), 1);
    for turn in 0..3 {
        scene.save("b", &turn.to_string());
    }
    assert_eq!(looked_at("00000000"), 4);
    project
        .create_branch(&branch("other"), Some("main"))
        .unwrap();
    assert_eq!(looked_at("00000000"), 2);
    // A pruning has removed the oldest, and may have removed the ids of others.
    let mut batch = Batch::default();
    batch.delete(key::snapshot(1, 1), Expect::Anything);
    store.commit(batch).unwrap();
    assert_eq!(looked_at("00000002"), 2 + 7);
    assert_eq!(looked_at("00000003"), 2);
    let kept = project.resolve(Some(&scene.head().digest().unwrap().as_str()[..40]));
    assert_eq!(files_of(&kept.unwrap()), ["a=4", "b=2"]);
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

#[test]
fn a_branch_from_an_old_commit_id_looks_for_its_place_once() {
    let store = Arc::new(Counted::new());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    for number in 0..300 {
        scene.save("a", &number.to_string());
    }
    let one = scene.project.resolve(Some(&id_of(1))).unwrap();
    store.scans.store(0, Ordering::Relaxed);
    store.conflicts.store(3, Ordering::Relaxed);
    let name = branch("old");
    let old = scene.project.create_branch(&name, Some(&id_of(1)));
    assert_eq!(old.unwrap().head().id(), one.id());
    // Of 256 snapshots, and of the others.
    assert_eq!(store.scans.load(Ordering::Relaxed), 2);
}
