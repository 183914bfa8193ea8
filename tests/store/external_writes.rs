//! What a store tells of the writes of other processes.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Store, Version};

use tokio::time::timeout;

use crate::fixture::{of_write, push};

fn write(store: &dyn Store, key: &str) -> Version {
    let write = of_write(key, Expect::Anything, Some("1"));
    store.commit(write).unwrap()
}

fn keys_after(store: &dyn Store, version: Version) -> Vec<String> {
    let keys = store.external_keys(version, 1000).unwrap();
    let mut keys = keys.expect("few are told");
    keys.sort();
    keys
}

#[test]
fn they_are_told_from_its_own() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let other = SqliteStore::open_beside(root.path()).unwrap();
    write(&store, "own");
    write(&store, "deleted");
    assert_eq!(store.external_writes().unwrap(), 0);
    assert!(keys_after(&store, 0).is_empty());

    let mut batch = of_write("first", Expect::Absent, Some("1"));
    push(&mut batch, "deleted", Expect::Anything, None);
    let first = other.commit(batch).unwrap();
    // A commit finds them at once.
    write(&store, "own");
    assert_eq!(store.external_writes().unwrap(), first);
    assert_eq!(keys_after(&store, 0), ["deleted", "first", "own"]);
    assert!(keys_after(&store, first).is_empty());
    // One that writes nothing ends at the version of another's.
    let third = write(&other, "third");
    assert_eq!(store.commit(Batch::default()).unwrap(), third);
    assert_eq!(keys_after(&store, first), ["third"]);
    let first = third;

    let second = write(&other, "second");
    drop(other);
    assert_eq!(store.external_writes().unwrap(), second);
    assert_eq!(keys_after(&store, first), ["second"]);
    assert!(keys_after(&store, second).is_empty());
    assert_eq!(store.external_keys(first, 0).unwrap(), None);
}

#[tokio::test]
async fn who_waits_for_signs_gets_one_when_another_process_writes() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    write(&other, "before");
    let mut signs = store.external_signs().unwrap();
    assert_eq!(signs.next().now_or_never(), None);
    for key in ["first", "second"] {
        write(&other, key);
        let sign = timeout(Duration::from_mins(1), signs.next()).await;
        assert_eq!(sign.unwrap(), Some(()), "{key}");
        // A sign of what was synced may come as one more.
        while signs.next().now_or_never().is_some() {}
    }
    store.record("first").unwrap();
    assert_eq!(signs.next().now_or_never(), None, "what is read gives none");
}

#[test]
fn one_that_was_written_over_is_told_as_well() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let other = SqliteStore::open_beside(root.path()).unwrap();
    write(&other, "both");
    write(&store, "own");
    let found = store.external_writes().unwrap();
    write(&store, "both");
    assert_eq!(store.external_writes().unwrap(), found);
    assert_eq!(keys_after(&store, 0), ["both", "own"]);
}

#[test]
fn who_asks_late_misses_none() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let other = SqliteStore::open_beside(root.path()).unwrap();
    for turn in 0..100 {
        let asked = write(&store, "own");
        write(&other, &format!("{turn:03}"));
        write(&store, "own");
        assert_eq!(
            keys_after(&store, asked),
            [format!("{turn:03}").as_str(), "own"]
        );
    }
    let all = keys_after(&store, 0);
    let expected = (0..100).map(|turn| format!("{turn:03}"));
    let expected: Vec<_> = expected.chain(["own".to_owned()]).collect();
    assert_eq!(all, expected);
}
