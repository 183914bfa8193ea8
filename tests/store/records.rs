//! Records: values, versions, deletions, scans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use siteconf::store::{Batch, Expect, Record, Scan, Store, Values};

use crate::fixture::{of_write, push, value};

on_every_engine!(
    a_record_reads_back_with_the_version_of_its_write,
    a_batch_writes_its_value_as_json,
    versions_rise_and_no_two_writes_share_one,
    a_deleted_record_is_gone_and_comes_back_newer,
    deleting_nothing_is_not_a_write,
    what_is_appended_has_the_version_of_its_write_for_its_name,
    a_log_is_in_the_order_of_the_commits_of_many_writers,
    scans_agree_with_a_sorted_map,
);

fn a_record_reads_back_with_the_version_of_its_write(store: &dyn Store) {
    assert_eq!(store.record("k").unwrap(), None);
    for text in ["first", "", "третий \0 \u{10ffff}"] {
        let version = store
            .commit(of_write("k", Expect::Anything, Some(text)))
            .unwrap();
        let record = store.record("k").unwrap().unwrap();
        assert_eq!((record.key.as_str(), record.version), ("k", version));
        assert_eq!(record.value, text.as_bytes());
        assert_eq!(store.last_version().unwrap(), version);
    }
    assert_eq!(store.record("K").unwrap(), None);
    assert_eq!(store.record("").unwrap(), None);
}

fn a_batch_writes_its_value_as_json(store: &dyn Store) {
    let mut batch = Batch::default();
    let fields = BTreeMap::from([("name", "склад"), ("type", "erp")]);
    batch.write("project/1".to_owned(), Expect::Absent, &fields);
    store.commit(batch).unwrap();
    assert_eq!(
        value(store, "project/1").as_deref(),
        Some(r#"{"name":"склад","type":"erp"}"#)
    );
}

fn versions_rise_and_no_two_writes_share_one(store: &dyn Store) {
    assert_eq!(store.last_version().unwrap(), 0);
    let mut last = 0;
    let mut seen = BTreeSet::new();
    for round in 0..20 {
        let mut batch = Batch::default();
        for key in ["a", "b", "c", "d"] {
            let deleted = key == "d" && round % 3 == 1;
            push(&mut batch, key, Expect::Anything, (!deleted).then_some("x"));
        }
        let version = store.commit(batch).unwrap();
        assert_eq!(store.last_version().unwrap(), version);
        for record in store.scan(Scan::prefix("")).unwrap() {
            assert!(record.version > last && record.version <= version);
            assert!(seen.insert(record.version), "{} twice", record.version);
        }
        last = version;
    }
}

fn a_deleted_record_is_gone_and_comes_back_newer(store: &dyn Store) {
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    let written = store.record("k").unwrap().unwrap().version;
    let deleted = store
        .commit(of_write("k", Expect::Version(written), None))
        .unwrap();
    assert!(deleted > written);
    assert_eq!(store.record("k").unwrap(), None);
    assert_eq!(store.scan(Scan::prefix("")).unwrap(), []);
    assert_eq!(store.last_version().unwrap(), deleted);

    let again = store
        .commit(of_write("k", Expect::Absent, Some("2")))
        .unwrap();
    assert!(again > deleted);
    assert_eq!(value(store, "k").as_deref(), Some("2"));
}

fn deleting_nothing_is_not_a_write(store: &dyn Store) {
    let version = store
        .commit(of_write("k", Expect::Anything, Some("1")))
        .unwrap();
    for expect in [Expect::Anything, Expect::Absent] {
        assert_eq!(
            store.commit(of_write("nothing", expect, None)).unwrap(),
            version
        );
        assert_eq!(store.last_version().unwrap(), version);
    }
}

fn what_is_appended_has_the_version_of_its_write_for_its_name(store: &dyn Store) {
    let mut batch = of_write("k", Expect::Absent, Some("1"));
    push(&mut batch, "nothing", Expect::Anything, None);
    batch.append_to("log/", &"first");
    batch.append_to("log/", &"second");
    push(&mut batch, "l", Expect::Absent, Some("2"));
    assert_eq!(store.commit(batch).unwrap(), 4);
    let log = || {
        let records = store.scan(Scan::prefix("log/")).unwrap();
        let shown = |record: &Arc<Record>| {
            let value = String::from_utf8(record.value.to_vec()).unwrap();
            format!("{} {} {value}", record.key, record.version)
        };
        records.iter().map(shown).collect::<Vec<_>>()
    };
    let first = "log/0000000000000003 3 \"first\"";
    let second = "log/0000000000000004 4 \"second\"";
    assert_eq!(log(), [first, second]);

    let mut refused = of_write("k", Expect::Absent, Some("3"));
    refused.append_to("log/", &"refused");
    assert!(store.commit(refused).is_err());
    assert_eq!((log().len(), store.last_version().unwrap()), (2, 4));

    let mut alone = Batch::default();
    alone.append_to("log/", &"third");
    assert_eq!(store.commit(alone).unwrap(), 5);
    assert_eq!(log(), [first, second, "log/0000000000000005 5 \"third\""]);
}

fn a_log_is_in_the_order_of_the_commits_of_many_writers(store: &dyn Store) {
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for turn in 0..20 {
                    let key = format!("k/{writer}/{turn}");
                    let mut batch = of_write(&key, Expect::Absent, Some("1"));
                    batch.append_to("log/", &key);
                    let version = store.commit(batch).unwrap();
                    let appended = store.record(&format!("log/{version:016x}")).unwrap();
                    let appended = appended.expect("it is there when its commit is answered");
                    assert_eq!(appended.value, format!("\"{key}\""));
                }
            });
        }
    });
    let log = store.scan(Scan::prefix("log/")).unwrap();
    assert_eq!(log.len(), 160);
    for record in &log {
        let key: String = serde_json::from_slice(&record.value).unwrap();
        // The write of the same batch is the one before.
        let version = store.record(&key).unwrap().unwrap().version;
        assert_eq!(record.version, version + 1, "{key}");
    }
}

fn scans_agree_with_a_sorted_map(store: &dyn Store) {
    let keys = [
        "a",
        "a\0",
        "a/",
        "a/\0",
        "a/1",
        "a/10",
        "a/2",
        "a/A",
        "a/\u{7f}",
        "a/é",
        "a/я",
        "a/\u{10ffff}",
        "a/\u{10ffff}\u{10ffff}z",
        "a0",
        "aa",
        "b/1",
        "ä",
        "я/1",
        "я/2",
        "\u{10ffff}",
    ];
    let mut batch = Batch::default();
    for key in keys.iter().rev() {
        push(&mut batch, key, Expect::Absent, Some(key));
    }
    store.commit(batch).unwrap();
    let model: BTreeSet<&str> = keys.into();

    let afters = model.iter().copied().chain(["", "a/11", "zz"]);
    let afters: Vec<_> = afters.map(Some).chain([None]).collect();
    for prefix in [
        "",
        "a",
        "a/",
        "a/1",
        "a/\u{10ffff}",
        "b",
        "c",
        "я",
        "я/",
        "\u{10ffff}",
    ] {
        for &after in &afters {
            for limit in [0, 1, 3, usize::MAX] {
                for descending in [false, true] {
                    let scan = Scan {
                        prefix,
                        after,
                        descending,
                        limit,
                        values: Values::All,
                    };
                    let found = store.scan(scan).unwrap();
                    assert!(found.iter().all(|record| record.value == record.key));
                    let bare = Scan {
                        values: Values::Unread,
                        ..scan
                    };
                    let bare = store.scan(bare).unwrap();
                    assert!(bare.iter().all(|record| record.value.is_empty()));
                    let told = |records: &[Arc<Record>]| -> Vec<_> {
                        let told = records.iter().map(|it| (it.key.clone(), it.version));
                        told.collect()
                    };
                    assert_eq!(told(&bare), told(&found));
                    let found: Vec<_> = found.iter().map(|record| record.key.as_str()).collect();
                    assert_eq!(found, expected(&model, &scan), "{scan:?}");
                }
            }
        }
    }
}

fn expected<'a>(model: &BTreeSet<&'a str>, scan: &Scan<'_>) -> Vec<&'a str> {
    let under = model
        .iter()
        .copied()
        .filter(|key| key.starts_with(scan.prefix));
    let beyond = under.filter(|key| match scan.after {
        None => true,
        Some(after) if scan.descending => *key < after,
        Some(after) => *key > after,
    });
    let mut keys: Vec<_> = beyond.collect();
    if scan.descending {
        keys.reverse();
    }
    keys.truncate(scan.limit);
    keys
}
