//! Many callers at once.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use siteconf::store::{Expect, Scan, Store, StoreError};

use crate::fixture::{blob, contains, of_write, push, value};

on_every_engine!(
    committers_on_one_record_lose_nothing,
    a_refused_batch_does_not_touch_the_others_of_its_group,
    what_was_acknowledged_is_seen_by_every_later_read,
    the_reads_of_one_thread_never_go_back,
);

const WRITERS: u64 = 64;

pub(crate) fn committers_on_one_record_lose_nothing(store: &dyn Store) {
    const ROUNDS: u64 = 5;
    let versions = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let versions = &versions;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let version = append(store, &format!("{writer}.{round}"));
                    assert!(versions.lock().unwrap().insert(version), "{version} twice");
                }
            });
        }
    });
    let log = value(store, "log").unwrap();
    let lines: BTreeSet<_> = log.lines().collect();
    assert_eq!(lines.len() as u64, WRITERS * ROUNDS);
    assert_eq!(log.lines().count(), lines.len(), "a line came twice");
    assert_eq!(
        versions.lock().unwrap().last(),
        Some(&store.last_version().unwrap())
    );
    // With each line went an object and a record of its own.
    let entries = store.scan(Scan::prefix("line/")).unwrap();
    assert_eq!(entries.len(), lines.len());
    for line in lines {
        assert!(contains(store, blob(line).id), "{line}");
    }
}

/// Adds a line to the record as a save moves a head: reads, writes on what it read, repeats.
fn append(store: &dyn Store, line: &str) -> u64 {
    loop {
        let (expect, text) = match store.record("log").unwrap() {
            None => (Expect::Absent, String::new()),
            Some(record) => (
                Expect::Version(record.version),
                String::from_utf8(record.value.to_vec()).unwrap(),
            ),
        };
        let mut batch = of_write("log", expect, Some(&format!("{text}{line}\n")));
        push(
            &mut batch,
            &format!("line/{line}"),
            Expect::Absent,
            Some(line),
        );
        batch.objects.push(blob(line));
        match store.commit(batch) {
            Ok(version) => return version,
            Err(StoreError::Conflict { key }) => assert_eq!(key, "log"),
            Err(other) => panic!("{other}"),
        }
    }
}

fn a_refused_batch_does_not_touch_the_others_of_its_group(store: &dyn Store) {
    store
        .commit(of_write("there", Expect::Absent, Some("x")))
        .unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for round in 0..5 {
                    let own = format!("own/{writer}.{round}");
                    let mut batch = of_write(&own, Expect::Absent, Some("x"));
                    if writer % 2 == 1 {
                        push(&mut batch, "there", Expect::Absent, Some("y"));
                        assert!(matches!(
                            store.commit(batch),
                            Err(StoreError::Conflict { key }) if key == "there"
                        ));
                        assert_eq!(store.record(&own).unwrap(), None);
                    } else {
                        let version = store.commit(batch).unwrap();
                        assert_eq!(store.record(&own).unwrap().unwrap().version, version);
                    }
                }
            });
        }
    });
    let own = store.scan(Scan::prefix("own/")).unwrap();
    assert_eq!(own.len() as u64, WRITERS / 2 * 5);
    assert_eq!(value(store, "there").as_deref(), Some("x"));
}

pub(crate) fn what_was_acknowledged_is_seen_by_every_later_read(store: &dyn Store) {
    let acknowledged = AtomicU64::new(0);
    let last = 300;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let known = acknowledged.load(Ordering::SeqCst);
                    assert!(store.last_version().unwrap() >= known);
                    if known > 0 {
                        assert!(store.record("k").unwrap().unwrap().version >= known);
                        assert!(store.scan(Scan::prefix("k")).unwrap()[0].version >= known);
                        assert!(contains(store, blob(&known.to_string()).id));
                    }
                    if known == last {
                        return;
                    }
                }
            });
        }
        for number in 1..=last {
            let mut batch = of_write("k", Expect::Anything, Some("x"));
            batch.objects.push(blob(&number.to_string()));
            acknowledged.store(store.commit(batch).unwrap(), Ordering::SeqCst);
        }
    });
}

fn the_reads_of_one_thread_never_go_back(store: &dyn Store) {
    let last = 200;
    store
        .commit(of_write("k/l", Expect::Absent, Some("x")))
        .unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut seen, mut scanned) = (1, 1);
                while seen < last {
                    let read = [
                        store.record("k/l").unwrap().unwrap().version,
                        store.folder("k/").unwrap()[0].version,
                        store.record("k/l").unwrap().unwrap().version,
                    ];
                    assert!(seen <= read[0] && read.is_sorted(), "{read:?} after {seen}");
                    seen = read[2];
                    let again = store.scan(Scan::prefix("k/")).unwrap()[0].version;
                    assert!(
                        again >= scanned.max(seen),
                        "{again} after {scanned}, {seen}"
                    );
                    scanned = again;
                }
            });
        }
        for _ in 1..last {
            store
                .commit(of_write("k/l", Expect::Anything, Some("x")))
                .unwrap();
        }
    });
}
