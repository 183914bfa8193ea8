//! What the cache of records keeps where another process writes and others read while something is read or committed
//! here, and no look has found that yet, which over a network is so for 20 ms; and where others write all the time, or
//! a commit of this process is known late.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{
    Batch, Expect, Observe, Record, Result, Scan, Staging, Store, StoreError, Version,
};

use crate::fixture::{of_write, push};
use crate::forwarded::{forward_all_but_records, forward_reads};

const KEY: &str = "a/b/c";

type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store that has something done once, after it has read records or committed and before it tells.
#[derive(Default)]
struct Slow {
    store: MemoryStore,
    meanwhile: Mutex<Option<Meanwhile>>,
}

impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slow").finish_non_exhaustive()
    }
}

impl Slow {
    fn told<T>(&self, outcome: T) -> T {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        outcome
    }
}

impl Store for Slow {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.told(self.store.record(key))
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        self.told(self.store.scan(scan))
    }

    fn external_writes(&self) -> Result<Version> {
        Ok(0)
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.told(self.store.commit(batch))
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// One way to see whether the record is there.
type See = fn(&RecordCache<Slow>) -> bool;

const WAYS: [(&str, See); 4] = [
    ("the record", |cache| cache.record(KEY).unwrap().is_some()),
    ("its folder", |cache| {
        !cache.folder("a/b/").unwrap().is_empty()
    }),
    ("the folder above", |cache| {
        !cache.folder("a/").unwrap().is_empty()
    }),
    ("a scan", |cache| {
        !cache.scan(Scan::prefix("a/")).unwrap().is_empty()
    }),
];

fn commit(store: &dyn Store, value: Option<&str>) {
    store
        .commit(of_write(KEY, Expect::Anything, value))
        .unwrap();
}

/// Another process writes, and somebody here sees it, while `slow` is under way; all that is kept of it follows.
fn seen_after(
    slow: impl Fn(&RecordCache<Slow>),
    other: Option<&'static str>,
    see: See,
) -> [bool; 4] {
    let cache = Arc::new(RecordCache::new(Slow::default()));
    commit(&cache.inner().store, other.is_none().then_some("before"));
    let shared = Arc::clone(&cache);
    let meanwhile: Meanwhile = Box::new(move || {
        commit(&shared.inner().store, other);
        assert_eq!(see(&shared), other.is_some());
    });
    *cache.inner().meanwhile.lock().unwrap() = Some(meanwhile);
    slow(&cache);
    assert!(cache.inner().meanwhile.lock().unwrap().is_none());
    WAYS.map(|(_, see)| see(&cache))
}

#[test]
fn a_deletion_that_was_seen_is_not_undone_by_who_has_read_before_it() {
    for (meanwhile, see) in &WAYS[..3] {
        for (slow, reads) in &WAYS[..3] {
            let reads = |cache: &RecordCache<Slow>| _ = reads(cache);
            let seen = seen_after(reads, None, *see);
            assert_eq!(seen, [false; 4], "{slow}, and meanwhile {meanwhile}");
        }
    }
}

#[test]
fn a_deletion_that_was_seen_is_not_undone_by_a_commit_from_before_it() {
    for (meanwhile, see) in &WAYS[..3] {
        let write = |cache: &RecordCache<Slow>| commit(cache, Some("own"));
        assert_eq!(seen_after(write, None, *see), [false; 4], "{meanwhile}");
    }
}

#[test]
fn a_record_that_was_seen_is_not_undone_by_who_has_missed_it_before() {
    for (meanwhile, see) in &WAYS[..3] {
        for (slow, reads) in &WAYS[..3] {
            // A folder that lacks a new record is told of when a look finds the record, as the bound says.
            if slow != meanwhile && *slow != WAYS[0].0 {
                continue;
            }
            let reads = |cache: &RecordCache<Slow>| _ = reads(cache);
            let seen = seen_after(reads, Some("new"), *see);
            assert_eq!(seen, [true; 4], "{slow}, and meanwhile {meanwhile}");
        }
        let delete = |cache: &RecordCache<Slow>| commit(cache, None);
        let seen = seen_after(delete, Some("new"), *see);
        assert_eq!(seen, [true; 4], "{meanwhile}");
    }
}

/// A store that another process writes to after each read of a record.
#[derive(Debug, Default)]
struct Crowded {
    store: MemoryStore,
    reads: AtomicU64,
}

impl Crowded {
    fn overtaken<T>(&self, read: T) -> T {
        self.reads.fetch_add(1, Ordering::Relaxed);
        commit(&self.store, Some("next"));
        read
    }
}

impl Store for Crowded {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.overtaken(self.store.record(key))
    }

    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        self.overtaken(self.store.scan(scan))
    }

    fn external_writes(&self) -> Result<Version> {
        self.last_version()
    }

    fn external_writes_seen(&self, _waits: bool) -> Result<Version> {
        self.last_version()
    }

    fn external_keys(&self, _after: Version, _most: usize) -> Result<Option<Vec<String>>> {
        Ok(Some(vec![KEY.to_owned()]))
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn what_others_write_all_the_time_is_told_as_it_was_read_last_and_is_not_kept() {
    let cache = RecordCache::new(Crowded::default());
    commit(&cache.inner().store, Some("first"));
    let record = || cache.record(KEY).unwrap().unwrap().version;
    let folder = || cache.folder("a/b/").unwrap()[0].version;
    for read in [&record as &dyn Fn() -> Version, &folder] {
        for _ in 0..2 {
            let before = cache.inner().reads.load(Ordering::Relaxed);
            let told = read();
            // Fifteen times beside all others, and twice while they wait.
            let reads = cache.inner().reads.load(Ordering::Relaxed) - before;
            assert_eq!(reads, 17);
            // The last read is followed by one write.
            assert_eq!(told + 1, cache.last_version().unwrap());
        }
    }
}

type Hold = (SyncSender<()>, Receiver<()>);

/// A store in which a commit is there, and its caller does not know it until somebody lets go.
#[derive(Debug)]
struct Held {
    store: SqliteStore,
    /// For the next commit: who is told that it is there, and who lets go.
    hold: Arc<Mutex<Option<Hold>>>,
}

impl Store for Held {
    forward_reads!();

    fn external_keys(&self, after: Version, most: usize) -> Result<Option<Vec<String>>> {
        self.store.external_keys(after, most)
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }

    fn commit_observed(&self, batch: Batch, observe: Observe) -> Result<Version> {
        let hold = Arc::clone(&self.hold);
        let held = move |outcome: &Result<Version>| {
            let hold = hold.lock().unwrap().take();
            if let Some((there, go)) = hold {
                there.send(()).unwrap();
                // Who failed does not let go.
                let _gone = go.recv();
            }
            observe(outcome);
        };
        self.store.commit_observed(batch, Box::new(held))
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_commit_that_is_known_late_is_read_all_the_same_by_who_has_seen_it() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let hold = Arc::default();
    let cache = &RecordCache::new(Held { store, hold });
    let write_both = |value: &str| {
        let mut batch = of_write(KEY, Expect::Anything, Some(value));
        push(&mut batch, "other", Expect::Anything, Some(value));
        cache.commit(batch).unwrap()
    };
    let other = || cache.record("other").unwrap().unwrap().value.clone();
    write_both("1");
    assert_eq!(other(), "1");
    let (there, is_there) = sync_channel(0);
    let (go, may_go) = sync_channel(0);
    *cache.inner().hold.lock().unwrap() = Some((there, may_go));
    std::thread::scope(|scope| {
        let go = go;
        let commit = scope.spawn(|| write_both("2"));
        is_there.recv().unwrap();
        // It waits for the commit to be known, 20 ms at most.
        assert_eq!(cache.scan(Scan::prefix("a/")).unwrap()[0].value, "2");
        assert_eq!(other(), "2");
        go.send(()).unwrap();
        assert_eq!(commit.join().unwrap(), cache.last_version().unwrap());
    });
    assert_eq!(other(), "2");
    // It was found as another's, and is not any more.
    assert_eq!(cache.external_keys(0, 10).unwrap(), Some(Vec::new()));
}

/// A store that refuses each commit.
#[derive(Debug)]
struct Refusing {
    store: MemoryStore,
    refusal: fn() -> StoreError,
}

impl Store for Refusing {
    forward_reads!();

    fn commit(&self, _batch: Batch) -> Result<Version> {
        Err((self.refusal)())
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn what_a_refused_commit_was_to_write_stays_in_memory_unless_it_may_have_changed() {
    let conflict = || StoreError::Conflict {
        key: KEY.to_owned(),
    };
    let refusals: [(fn() -> StoreError, bool); 8] = [
        (|| StoreError::Busy, true),
        (|| StoreError::LockInTheWay, true),
        (|| StoreError::Full, true),
        (|| StoreError::Unavailable, true),
        (|| StoreError::DatabaseReadOnly, true),
        (|| StoreError::InDoubt, false),
        (|| StoreError::Stopped, false),
        (conflict, false),
    ];
    for (refusal, stays) in refusals {
        let store = MemoryStore::default();
        commit(&store, Some("1"));
        let cache = RecordCache::new(Refusing { store, refusal });
        let read = || (cache.record(KEY).unwrap(), cache.folder("a/").unwrap());
        let (record, folder) = read();
        let write = of_write(KEY, Expect::Anything, Some("2"));
        assert!(cache.commit(write).is_err());
        let (record_after, folder_after) = read();
        let same_record = Arc::ptr_eq(&record.unwrap(), &record_after.unwrap());
        let are_same = (same_record, Arc::ptr_eq(&folder, &folder_after));
        assert_eq!(are_same, (stays, stays), "{}", refusal());
    }
}
