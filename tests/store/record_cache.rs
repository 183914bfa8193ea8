//! What the cache of records promises beyond every store.

use std::sync::Arc;
use std::sync::mpsc::channel;

use siteconf::base::limits::EXTERNAL_KEYS_MAX;
use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Record, Scan, Store};

fn write(store: &dyn Store, key: &str, value: u64) {
    let mut batch = Batch::default();
    batch.write(key.to_owned(), Expect::Anything, &value);
    store.commit(batch).unwrap();
}

fn values(store: &dyn Store, prefix: &str) -> Vec<String> {
    let records = store.folder(prefix).unwrap();
    records
        .iter()
        .map(|record| String::from_utf8(record.value.to_vec()).unwrap())
        .collect()
}

#[test]
fn what_this_process_writes_is_seen_when_it_has_ended_in_records_and_in_every_folder_above() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    assert_eq!(store.record("a/b/c").unwrap(), None);
    assert!(values(&store, "a/").is_empty() && values(&store, "a/b/").is_empty());
    for value in 1..=3 {
        write(&store, "a/b/c", value);
        let record = store.record("a/b/c").unwrap().unwrap();
        assert_eq!(record.value, value.to_string());
        assert_eq!(values(&store, "a/"), [value.to_string()]);
        assert_eq!(values(&store, "a/b/"), [value.to_string()]);
    }
}

#[test]
fn what_another_process_writes_is_seen_when_it_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    assert_eq!(store.record("a/b").unwrap(), None);
    assert!(values(&store, "a/").is_empty());
    write(&other, "a/b", 7);
    drop(other);
    assert_eq!(store.record("a/b").unwrap().unwrap().value, "7");
    assert_eq!(values(&store, "a/"), ["7"]);
}

#[test]
fn what_another_process_writes_is_all_that_is_dropped() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    write(&store, "a/b/c", 1);
    write(&store, "d/e", 1);
    write(&store, "d/f", 1);
    let folders = ["a/b/", "a/", "d/"];
    let records = || ["a/b/c", "d/e"].map(|key| store.record(key).unwrap().unwrap());
    let lists = || folders.map(|folder| store.folder(folder).unwrap());
    let states = || folders.map(|folder| store.folder_state(folder).unwrap());
    let before = (records(), lists(), states());
    write(&other, "d/e", 2);
    let mut batch = Batch::default();
    batch.delete("d/f".to_owned(), Expect::Anything);
    other.commit(batch).unwrap();
    drop(other);
    assert_eq!(store.record("d/f").unwrap(), None);
    assert_eq!(records()[1].value, "2");
    assert_eq!(values(&store, "d/"), ["2"]);
    assert_ne!(states()[2], before.2[2]);
    assert!(Arc::ptr_eq(&records()[0], &before.0[0]));
    for of_another in 0..2 {
        assert!(Arc::ptr_eq(&lists()[of_another], &before.1[of_another]));
        assert_eq!(states()[of_another], before.2[of_another]);
    }
}

#[test]
fn of_many_writes_of_another_process_none_is_missed() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    let keys: Vec<_> = (0..=EXTERNAL_KEYS_MAX).map(|n| format!("a/{n}")).collect();
    let write_all = |store: &dyn Store, value: u64| {
        let mut batch = Batch::default();
        for key in &keys {
            batch.write(key.clone(), Expect::Anything, &value);
        }
        store.commit(batch).unwrap();
    };
    let all_are = |value: &str| {
        let found = keys.iter().map(|key| store.record(key).unwrap().unwrap());
        found
            .map(|record| record.value.clone())
            .all(|it| it == value)
    };
    write_all(&store, 1);
    assert!(all_are("1"));
    write_all(&other, 2);
    drop(other);
    assert!(all_are("2"));
}

#[test]
fn of_some_thousand_writes_of_another_process_nothing_else_goes() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    write(&store, "a/1", 1);
    write(&store, "d/e", 1);
    let kept = || {
        (
            store.record("d/e").unwrap().unwrap(),
            store.folder_state("d/").unwrap(),
        )
    };
    let written = || store.record("a/1").unwrap().unwrap();
    let before = (kept(), written());
    let mut batch = Batch::default();
    for number in 0..5000 {
        batch.write(format!("a/{number}"), Expect::Anything, &2);
    }
    other.commit(batch).unwrap();
    drop(other);
    assert_eq!(
        (before.1.value.clone(), written().value.clone()),
        ("1".into(), "2".into())
    );
    assert!(Arc::ptr_eq(&kept().0, &before.0.0));
    assert_eq!(kept().1, before.0.1);
}

#[test]
fn readers_beside_a_writer_never_go_back() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    write(&store, "a/b", 0);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 200 {
                        let record = store.record("a/b").unwrap().unwrap();
                        let value = std::str::from_utf8(&record.value).unwrap().parse().unwrap();
                        assert!(value >= last, "{value} after {last}");
                        last = value;
                    }
                })
            })
            .collect();
        for value in 1..=200 {
            write(&store, "a/b", value);
            let record = store.record("a/b").unwrap().unwrap();
            assert_eq!(record.value, value.to_string());
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn what_is_kept_is_what_the_store_has_after_any_batch() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let keys = ["a/b", "a/c", "a/d"];
    let agrees = |what: &str| {
        for key in keys {
            let (kept, stored) = (
                store.record(key).unwrap(),
                store.inner().record(key).unwrap(),
            );
            assert_eq!(kept, stored, "{key} after {what}");
        }
    };
    agrees("nothing");
    let values = |batch: &mut Batch, from: u64| {
        for (value, key) in (from..).zip(keys) {
            batch.write(key.to_owned(), Expect::Anything, &value);
        }
    };
    let mut batch = Batch::default();
    values(&mut batch, 1);
    store.commit(batch).unwrap();
    agrees("three values");
    let mut batch = Batch::default();
    values(&mut batch, 11);
    batch.write("a/b".to_owned(), Expect::Anything, &99);
    store.commit(batch).unwrap();
    agrees("two values for one key");
    let mut batch = Batch::default();
    values(&mut batch, 21);
    batch.delete("a/none".to_owned(), Expect::Anything);
    store.commit(batch).unwrap();
    agrees("a deletion of nothing");
    let mut batch = Batch::default();
    batch.delete("a/c".to_owned(), Expect::Anything);
    batch.write("a/d".to_owned(), Expect::Anything, &31);
    store.commit(batch).unwrap();
    agrees("a deletion");
    let mut batch = Batch::default();
    values(&mut batch, 41);
    batch.write("a/e".to_owned(), Expect::Version(77), &1);
    assert!(store.commit(batch).is_err());
    agrees("a refusal");
    let mut batch = Batch::default();
    values(&mut batch, 51);
    batch.append_to("log/", &1);
    batch.append_to("log/", &2);
    store.commit(batch).unwrap();
    agrees("two values and two of a log");
}

#[test]
fn what_is_appended_is_seen_where_its_absence_was_kept() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let next = |more: u64| format!("log/{:016x}", store.last_version().unwrap() + more);
    for value in 1..=3 {
        let (before, state, key) = (
            values(&store, "log/").len(),
            store.folder_state("log/").unwrap(),
            next(2),
        );
        assert_eq!(store.record(&key).unwrap(), None);
        let mut batch = Batch::default();
        batch.write("a/b".to_owned(), Expect::Anything, &value);
        batch.append_to("log/", &value);
        store.commit(batch).unwrap();
        assert_eq!(
            store.record(&key).unwrap().unwrap().value,
            value.to_string()
        );
        assert_eq!(values(&store, "log/").len(), before + 1);
        assert_ne!(store.folder_state("log/").unwrap(), state);
    }
}

#[test]
fn writers_of_one_folder_and_its_readers_never_go_back() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let keys = ["a/b/0", "a/b/1", "a/b/2", "a/b/3"];
    for key in keys {
        write(&store, key, 0);
    }
    std::thread::scope(|scope| {
        let writers = keys.map(|key| {
            let store = &store;
            scope.spawn(move || {
                for value in 1..100 {
                    write(store, key, value);
                }
            })
        });
        let mut last = [[0; 4]; 3];
        while !writers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            let read = [
                store.folder("a/").unwrap().to_vec(),
                store.folder("a/b/").unwrap().to_vec(),
                keys.map(|key| store.record(key).unwrap().unwrap()).to_vec(),
            ];
            let last = last.as_flattened_mut().iter_mut();
            for (record, last) in read.iter().flatten().zip(last) {
                assert!(record.version >= *last, "{record:?} after {last}");
                *last = record.version;
            }
        }
    });
}

#[test]
fn writers_of_one_record_and_their_readers_never_go_back() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    write(&store, "a/b", 0);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for value in 0..100 {
                        let mut batch = Batch::default();
                        batch.write("a/b".to_owned(), Expect::Anything, &value);
                        let version = store.commit(batch).unwrap();
                        assert!(store.record("a/b").unwrap().unwrap().version >= version);
                    }
                })
            })
            .collect();
        let mut last = 0;
        while !writers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            let version = store.record("a/b").unwrap().unwrap().version;
            assert!(version >= last, "{version} after {last}");
            last = version;
        }
    });
    assert_eq!(
        store.record("a/b").unwrap(),
        store.inner().record("a/b").unwrap()
    );
}

#[test]
fn a_folder_is_renewed_by_each_kind_of_write_and_its_state_tells_of_it() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let mut last = store.folder_state("a/").unwrap();
    let mut changed = |what: &str| {
        let state = store.folder_state("a/").unwrap();
        assert_ne!(state, last, "{what}");
        last = state;
    };
    for (key, value, expected) in [
        ("a/m", 1, &["1"][..]),
        ("a/z", 2, &["1", "2"]),
        ("a/b", 3, &["3", "1", "2"]),
        ("a/m", 4, &["3", "4", "2"]),
    ] {
        write(&store, key, value);
        changed(key);
        assert_eq!(values(&store, "a/"), expected);
        assert_eq!(
            store.folder("a/").unwrap(),
            store.inner().folder("a/").unwrap()
        );
    }
    let mut batch = Batch::default();
    batch.delete("a/m".to_owned(), Expect::Anything);
    store.commit(batch).unwrap();
    changed("a deletion");
    assert_eq!(values(&store, "a/"), ["3", "2"]);
}

#[test]
fn a_large_folder_is_kept_whole() {
    let store = RecordCache::new(MemoryStore::default());
    let mut batch = Batch::default();
    for number in 0..12_000 {
        batch.write(format!("a/{number:05}"), Expect::Anything, &number);
    }
    store.commit(batch).unwrap();
    let folder = store.folder("a/").unwrap();
    assert_eq!(folder.len(), 12_000);
    assert!(Arc::ptr_eq(&store.folder("a/").unwrap(), &folder));
}

#[test]
fn what_is_written_elsewhere_leaves_a_folder_in_its_state() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    write(&store, "a/b", 1);
    let (state, folder) = (
        store.folder_state("a/").unwrap(),
        store.folder("a/").unwrap(),
    );
    write(&store, "ab/c", 2);
    write(&store, "b/a/c", 2);
    assert_eq!(store.folder_state("a/").unwrap(), state);
    assert!(Arc::ptr_eq(&store.folder("a/").unwrap(), &folder));
}

/// Between the moment at which a commit is in the store and the one at which its caller knows it, some
/// read what is kept and some what is there. Who has seen it there must not miss it afterwards.
#[test]
fn what_was_seen_in_a_record_is_seen_in_its_folders_and_the_reverse() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    write(&store, "a/b/c", 1);
    let record = || store.record("a/b/c").unwrap().unwrap().value.clone();

    // The record is kept, the folder is not.
    assert_eq!(record(), "1");
    write(store.inner(), "a/b/c", 2);
    assert_eq!(values(&store, "a/b/"), ["2"]);
    assert_eq!(record(), "2");

    // Both folders are kept, a new record is not.
    assert_eq!(values(&store, "a/"), ["2"]);
    let states = || ["a/", "a/b/"].map(|folder| store.folder_state(folder).unwrap());
    let before = states();
    write(store.inner(), "a/b/d", 3);
    assert_eq!(store.record("a/b/d").unwrap().unwrap().value, "3");
    for (now, before) in states().into_iter().zip(before) {
        assert_ne!(now, before);
    }
    assert_eq!(values(&store, "a/"), ["2", "3"]);
    assert_eq!(values(&store, "a/b/"), ["2", "3"]);

    // One folder is kept, the one above it is not; nor is what was not there.
    write(&store, "x/y/z", 1);
    assert_eq!(values(&store, "x/y/"), ["1"]);
    assert_eq!(store.record("x/y/new").unwrap(), None);
    write(store.inner(), "x/y/z", 2);
    write(store.inner(), "x/y/new", 3);
    assert_eq!(values(&store, "x/"), ["3", "2"]);
    assert_eq!(values(&store, "x/y/"), ["3", "2"]);
    assert_eq!(store.record("x/y/new").unwrap().unwrap().value, "3");

    // What is renewed in the usual way later stays as it is.
    write(&store, "x/y/z", 4);
    assert_eq!(values(&store, "x/"), ["3", "4"]);
    assert_eq!(values(&store, "x/y/"), ["3", "4"]);
}

#[test]
fn who_has_seen_what_another_process_wrote_reads_nothing_from_before_it() {
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let other = SqliteStore::open_beside(root.path()).unwrap();
    let sees = |turn: u64, folder: &str| match turn % 3 {
        0 => store.folder(folder).unwrap().is_empty(),
        1 => store.scan(Scan::prefix(folder)).unwrap().is_empty(),
        _ => store.record(&format!("{folder}gone")).unwrap().is_none(),
    };
    for turn in 0..60 {
        // One of them is kept, and the other is read from the store.
        let (folder, kept) = (format!("a/{turn}/"), format!("b/{turn}"));
        let gone = format!("{folder}gone");
        write(&store, &gone, 1);
        write(&store, &kept, 1);
        assert!(store.record(&kept).unwrap().is_some());
        let mut batch = Batch::default();
        batch.delete(gone, Expect::Anything);
        batch.delete(kept.clone(), Expect::Anything);
        other.commit(batch).unwrap();
        // Before the bound within which it is noticed.
        assert!(sees(turn, &folder), "{turn}");
        assert_eq!(store.record(&kept).unwrap(), None, "{turn}");
    }
}

#[test]
fn until_it_is_known_what_this_process_writes_is_found_as_of_another() {
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open_locked(root.path()).unwrap());
    let mut batch = Batch::default();
    batch.write("a".to_owned(), Expect::Anything, &1);
    let (tells, told) = channel();
    let looks = Arc::clone(&store);
    let look = move |_: &_| {
        let found = looks.external_writes_seen(false).unwrap();
        tells
            .send((found, looks.external_keys(0, 10).unwrap()))
            .unwrap();
    };
    let last = store.commit_observed(batch, Box::new(look)).unwrap();
    assert_eq!(told.recv().unwrap(), (last, Some(vec!["a".to_owned()])));
    assert_eq!(store.external_keys(0, 10).unwrap(), Some(Vec::new()));
}

#[test]
fn who_reads_one_record_of_a_commit_reads_the_others_as_after_it_too() {
    let root = tempfile::tempdir().unwrap();
    let store = &RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    let keys = ["a/b", "a/c", "d"];
    let write_all = |value: u64| {
        let mut batch = Batch::default();
        for key in keys {
            batch.write(key.to_owned(), Expect::Anything, &value);
        }
        store.commit(batch).unwrap();
    };
    write_all(0);
    let value = |record: &Record| *record.decode::<u64>().unwrap().value;
    let oldest =
        |records: &[Arc<Record>]| records.iter().map(|record| value(record)).min().unwrap();
    std::thread::scope(|scope| {
        for shift in 0..3 {
            scope.spawn(move || {
                let mut last = 0;
                while last < 300 {
                    for place in 0..5 {
                        let found = match (place + shift) % 5 {
                            3 => oldest(&store.folder("a/").unwrap()),
                            4 => oldest(&store.scan(Scan::prefix("a/")).unwrap()),
                            at => value(&store.record(keys[at]).unwrap().unwrap()),
                        };
                        assert!(found >= last, "{found} after {last}");
                        last = found;
                    }
                }
            });
        }
        (1..=300).for_each(write_all);
    });
}
