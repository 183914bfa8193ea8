//! Caches stay within their bounds whatever is asked of them. What is measured is what is alive, not
//! what a cache believes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use siteconf::base::digest::{BodyDigests, node_id};
use siteconf::base::id::{BlobId, GitId, Md5, NodeId};
use siteconf::base::limits::{
    BLOB_CACHE_BYTES, BRANCHES_PER_PROJECT_MAX, FOLDER_CACHE_BYTES, INLINE_BYTES_MAX,
    NODE_CACHE_BYTES, RECORD_CACHE_BYTES,
};
use siteconf::manifest::{NodeSource, Nodes};
use siteconf::object::node::{FileEntry, Item, Key, Node, Value};
use siteconf::store::memory::MemoryStore;
use siteconf::store::objects::Objects;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::{Batch, Expect, Record, RecordWrite, Result, Scan, Staging, Store, Version};

use crate::common::body;
use crate::forwarded::forward_all_but_records;
use crate::tracked::{Alive, Tracked};

/// How often each bound is gone through.
const TIMES: u64 = 3;

/// xorshift64: the same numbers at every run and on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap()
}

/// Asserts that a cache keeps much, and no more than it may.
#[track_caller]
fn assert_within(alive: u64, bound: u64, what: &str) {
    assert!(
        alive <= bound,
        "{what}: {alive} bytes are alive, {bound} may be"
    );
    assert!(
        alive >= bound / 2,
        "{what}: only {alive} bytes are kept of {bound}"
    );
}

fn objects() -> Arc<Objects> {
    Arc::new(Objects::new(Arc::new(MemoryStore::default())))
}

fn random_node(random: &mut Random) -> Node {
    let count = 1 + random.below(150);
    let mut items = Vec::with_capacity(count);
    for number in 0..count {
        let name = format!("{number:04}{}", "x".repeat(random.below(120)));
        let file = FileEntry {
            executable: false,
            size: random.next(),
            md5: Md5::from_bytes([1; 16]),
            git: GitId::from_bytes([2; 20]),
            blob: BlobId::from_bytes([3; 32]),
        };
        items.push(Item {
            key: Key::file(&name),
            value: Value::File(file),
        });
    }
    Node { level: 0, items }
}

fn memory_of(node: &Node) -> u64 {
    let names: usize = node.items.iter().map(|item| item.key.name.len()).sum();
    size(size_of::<Node>() + node.items.capacity() * size_of::<Item>() + names)
}

#[test]
fn nodes_in_memory_keep_their_bound() {
    let nodes = Nodes::new(objects());
    let mut random = Random(0x5eed);
    let mut made: Vec<(NodeId, Weak<Node>)> = Vec::new();
    let mut all = 0;
    while all < TIMES * NODE_CACHE_BYTES {
        let node = Arc::new(random_node(&mut random));
        all += memory_of(&node);
        let id = node_id(&node.encode());
        nodes.remember(id, &node);
        made.push((id, Arc::downgrade(&node)));
        // Some are asked for again; those that were let go are not in the store.
        let asked = made[random.below(made.len())].0;
        drop(nodes.node(asked));
    }
    let alive = made.iter().filter_map(|(_, node)| node.upgrade());
    let alive = alive.map(|node| memory_of(&node)).sum();
    assert_within(alive, NODE_CACHE_BYTES, "nodes");
}

#[test]
fn blobs_in_memory_keep_their_bound() {
    let objects = objects();
    let mut random = Random(0xb10b);
    let mut ids = Vec::new();
    let mut all = 0;
    while all < TIMES * BLOB_CACHE_BYTES {
        let bytes = body(random.next(), random.below(INLINE_BYTES_MAX + 1));
        all += size(bytes.len());
        let BodyDigests { blob, sha256, .. } = BodyDigests::of(&bytes);
        objects.remember_blob(blob, sha256, &bytes);
        ids.push(blob);
        drop(objects.cached_blob(ids[random.below(ids.len())]));
    }
    let kept = |ids: &[BlobId]| -> u64 {
        let kept = ids.iter().filter_map(|id| objects.cached_blob(*id));
        kept.map(|blob| blob.size).sum()
    };
    assert_within(kept(&ids), BLOB_CACHE_BYTES, "blobs");

    // What is too large for a row is not kept.
    let large = body(1, INLINE_BYTES_MAX + 1);
    let digests = BodyDigests::of(&large);
    objects.remember_blob(digests.blob, digests.sha256, &large);
    assert_eq!(kept(&[digests.blob]), 0);

    // A body that is a slice of a larger buffer keeps none of it in memory.
    let alive = Alive::default();
    let whole = alive.count(body(2, 2 * INLINE_BYTES_MAX));
    let slice = whole.slice(..100);
    drop(whole);
    let digests = BodyDigests::of(&slice);
    objects.remember_blob(digests.blob, digests.sha256, &slice);
    drop(slice);
    assert_eq!((kept(&[digests.blob]), alive.bytes()), (100, 0));
}

/// Records in folders of some ten, together many times what is kept of them.
fn many_records(random: &mut Random) -> (MemoryStore, Vec<String>) {
    let store = MemoryStore::default();
    let (mut keys, mut all) = (Vec::new(), 0);
    while all < 2 * TIMES * RECORD_CACHE_BYTES {
        let mut batch = Batch::default();
        for number in 0..=random.below(20) {
            let key = format!("folder-{:06}/{number:02}", keys.len());
            let value = Bytes::from(vec![b'v'; random.below(8192)]);
            all += size(value.len());
            batch.writes.push(RecordWrite {
                key: key.clone(),
                expect: Expect::Absent,
                value: Some(value),
            });
            keys.push(key);
        }
        store.commit(batch).unwrap();
    }
    (store, keys)
}

#[test]
fn records_in_memory_keep_their_bounds() {
    let mut random = Random(0x4ec0);
    let (store, keys) = many_records(&mut random);
    let alive = Alive::default();
    let cache = RecordCache::new(Tracked {
        store,
        alive: alive.clone(),
    });
    for _ in 0..keys.len() {
        let key = &keys[random.below(keys.len())];
        assert!(cache.record(key).unwrap().is_some());
        assert!(cache.record(&format!("{key}-absent")).unwrap().is_none());
        assert!(2 * alive.bytes() <= RECORD_CACHE_BYTES);
    }
    // Each is counted with room for its decoded value.
    assert_within(2 * alive.bytes(), RECORD_CACHE_BYTES, "records");

    // Folders have a bound of their own beside that of single records.
    let single = alive.bytes();
    for _ in 0..keys.len() {
        let key = &keys[random.below(keys.len())];
        let (folder, _) = key.split_once('/').unwrap();
        let prefix = format!("{folder}/");
        assert!(!cache.folder(&prefix).unwrap().is_empty());
        assert!(2 * (alive.bytes() - single) <= FOLDER_CACHE_BYTES);
    }
    assert_within(
        2 * (alive.bytes() - single),
        FOLDER_CACHE_BYTES,
        "folders of records",
    );
}

/// Writes a record of so many bytes.
fn write(store: &dyn Store, key: &str, bytes: usize) {
    let mut batch = Batch::default();
    batch.writes.push(RecordWrite {
        key: key.to_owned(),
        expect: Expect::Anything,
        value: Some(Bytes::from(vec![b'v'; bytes])),
    });
    store.commit(batch).unwrap();
}

#[test]
fn all_branches_that_a_project_may_have_are_kept_in_memory() {
    let store = MemoryStore::default();
    let mut batch = Batch::default();
    for number in 0..BRANCHES_PER_PROJECT_MAX {
        batch.writes.push(RecordWrite {
            key: format!("branch/0042/{number:05}"),
            expect: Expect::Absent,
            value: Some(Bytes::from(vec![b'v'; 600])),
        });
    }
    store.commit(batch).unwrap();
    let cache = RecordCache::new(store);
    // Nobody holds it.
    let folder = Arc::downgrade(&cache.folder("branch/0042/").unwrap());
    let kept = folder.upgrade().unwrap();
    assert_eq!(size(kept.len()), BRANCHES_PER_PROJECT_MAX);
}

/// A store that another process writes to after each read of a folder.
#[derive(Debug, Default)]
struct Crowded {
    store: MemoryStore,
    reads: AtomicU64,
}

/// What it writes.
const OTHERS: &str = "a/others";

impl Store for Crowded {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let read = self.store.scan(scan);
        self.reads.fetch_add(1, Ordering::Relaxed);
        write(&self.store, OTHERS, 1);
        read
    }
    fn external_writes(&self) -> Result<Version> {
        self.last_version()
    }
    fn external_writes_seen(&self, _waits: bool) -> Result<Version> {
        self.last_version()
    }
    fn external_keys(&self, _after: Version, _most: usize) -> Result<Option<Vec<String>>> {
        Ok(Some(vec![OTHERS.to_owned()]))
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_folder_that_is_not_kept_is_read_once_however_fast_it_changes() {
    let store = Crowded::default();
    write(&store, OTHERS, 1);
    for number in 0..FOLDER_CACHE_BYTES >> 20 {
        write(&store, &format!("a/{number:02}"), 1 << 20);
    }
    let cache = RecordCache::new(store);
    for reads in 1..=3 {
        let last = cache.last_version().unwrap();
        let folder = cache.folder("a/").unwrap();
        assert_eq!(cache.inner().reads.load(Ordering::Relaxed), reads);
        let others = folder.iter().find(|record| record.key == OTHERS).unwrap();
        // All that was written before is in it.
        assert!(others.version == last || reads == 1);
        let seen = cache.record(OTHERS).unwrap().unwrap();
        assert!(seen.version >= others.version);
    }
}
