//! Commits: wholly there or wholly absent.

use std::fs;
use std::thread;

use siteconf::base::id::Kind;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Store, StoreError, Writes};

use crate::fixture::{blob, contains, contents, object, of_write, push, value};

on_every_engine!(
    a_write_goes_through_only_on_what_it_expects,
    a_conflict_in_the_last_write_leaves_nothing,
    a_missing_requirement_leaves_nothing,
    a_requirement_is_met_by_the_store_or_by_the_batch_itself,
    all_expectations_of_a_batch_are_of_the_state_before_it,
    an_empty_batch_answers_the_last_version,
);

fn a_write_goes_through_only_on_what_it_expects(store: &dyn Store) {
    let old = store
        .commit(of_write("there", Expect::Absent, Some("old")))
        .unwrap();
    let now = store
        .commit(of_write("there", Expect::Version(old), Some("now")))
        .unwrap();
    let refused = [
        ("there", Expect::Absent),
        ("there", Expect::Version(old)),
        ("there", Expect::Version(now + 1)),
        ("there", Expect::Version(0)),
        ("absent", Expect::Version(now)),
        ("absent", Expect::Version(0)),
    ];
    let before = contents(store);
    for (wanted, expect) in refused {
        for new in [Some("new"), None] {
            match store.commit(of_write(wanted, expect, new)) {
                Err(StoreError::Conflict { key }) => assert_eq!(key, wanted),
                other => panic!("{wanted} {expect:?} {new:?}: {other:?}"),
            }
        }
    }
    assert_eq!(contents(store), before);

    for (key, expect) in [
        ("there", Expect::Version(now)),
        ("there", Expect::Anything),
        ("absent", Expect::Absent),
        ("other", Expect::Anything),
    ] {
        store.commit(of_write(key, expect, Some("new"))).unwrap();
        assert_eq!(
            value(store, key).as_deref(),
            Some("new"),
            "{key} {expect:?}"
        );
    }
}

/// A batch that adds two objects, changes, deletes and makes records.
fn of_everything() -> Batch {
    let mut batch = Batch {
        objects: vec![blob("new"), object(Kind::Node, b"node")],
        ..Batch::default()
    };
    push(&mut batch, "changed", Expect::Anything, Some("new"));
    push(&mut batch, "deleted", Expect::Anything, None);
    push(&mut batch, "made", Expect::Absent, Some("new"));
    batch
}

/// A store that holds what [`of_everything`] changes and deletes.
fn prepare(store: &dyn Store) {
    for key in ["changed", "deleted"] {
        store
            .commit(of_write(key, Expect::Absent, Some("old")))
            .unwrap();
    }
}

fn a_conflict_in_the_last_write_leaves_nothing(store: &dyn Store) {
    prepare(store);
    let before = contents(store);
    let mut batch = of_everything();
    push(&mut batch, "last", Expect::Version(1), Some("x"));
    assert!(matches!(
        store.commit(batch),
        Err(StoreError::Conflict { key }) if key == "last"
    ));
    assert_eq!(contents(store), before);
    assert!(!contains(store, blob("new").id));
}

fn a_missing_requirement_leaves_nothing(store: &dyn Store) {
    prepare(store);
    let before = contents(store);
    let absent = blob("absent").id;
    let mut batch = of_everything();
    batch.required = vec![blob("new").id, absent];
    assert!(matches!(
        store.commit(batch),
        Err(StoreError::Missing { id }) if id == absent
    ));
    assert_eq!(contents(store), before);
}

fn a_requirement_is_met_by_the_store_or_by_the_batch_itself(store: &dyn Store) {
    prepare(store);
    let mut first = of_everything();
    first.required = vec![blob("new").id];
    store.commit(first).unwrap();
    assert_eq!(value(store, "changed").as_deref(), Some("new"));
    assert_eq!(value(store, "deleted"), None);
    assert_eq!(value(store, "made").as_deref(), Some("new"));

    let mut second = of_write("second", Expect::Absent, Some("x"));
    second.required = vec![blob("new").id, object(Kind::Node, b"node").id];
    store.commit(second).unwrap();
    assert_eq!(value(store, "second").as_deref(), Some("x"));
}

fn all_expectations_of_a_batch_are_of_the_state_before_it(store: &dyn Store) {
    let mut batch = Batch::default();
    push(&mut batch, "k", Expect::Absent, Some("first"));
    push(&mut batch, "k", Expect::Absent, Some("second"));
    let version = store.commit(batch).unwrap();
    let record = store.record("k").unwrap().unwrap();
    assert_eq!(
        (record.version, record.value.as_ref()),
        (version, b"second".as_slice())
    );
}

fn an_empty_batch_answers_the_last_version(store: &dyn Store) {
    assert_eq!(store.commit(Batch::default()).unwrap(), 0);
    let version = store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    assert_eq!(store.commit(Batch::default()).unwrap(), version);
    assert_eq!(store.last_version().unwrap(), version);
}

#[test]
fn a_change_that_needs_a_damaged_page_is_refused_and_the_others_are_made() {
    let root = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open_locked(root.path()).unwrap();
    let store = open();
    // Each on a page of its own. One that is written again also needs those beside it.
    let long = |text: &str| text.repeat(3000);
    for key in ["a", "b", "c", "damaged", "f", "g", "h", "z"] {
        let write = of_write(key, Expect::Absent, Some(&long(&key[..1])));
        store.commit(write).unwrap();
    }
    drop(store);
    let file = root.path().join("store.db");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes
        .windows(3000)
        .position(|some| some == long("d").as_bytes());
    let page = at.unwrap() / 4096 * 4096;
    bytes[page..page + 4096].fill(0);
    fs::write(&file, bytes).unwrap();

    let store = open();
    let write = |key: &str| store.commit(of_write(key, Expect::Anything, Some("1")));
    for turn in 0..2 {
        let refused = write("damaged");
        assert!(
            matches!(refused, Err(StoreError::DamagedEngine { .. })),
            "{refused:?}"
        );
        for key in ["a", "z", "new"] {
            write(key).unwrap();
        }
        assert_eq!(store.writes(), Writes::Taken, "{turn}");
    }
    // Several at once.
    thread::scope(|scope| {
        let keys = (0..64).map(|number| match number % 16 {
            0 => "damaged".to_owned(),
            _ => format!("k{number}"),
        });
        let writers: Vec<_> = keys
            .map(|key| (key.clone(), scope.spawn(move || write(&key))))
            .collect();
        for (key, writer) in writers {
            let outcome = writer.join().unwrap();
            assert_eq!(outcome.is_ok(), key != "damaged", "{key}: {outcome:?}");
        }
    });
    assert_eq!(value(&store, "k63").as_deref(), Some("1"));
    assert!(!root.path().join("STOPPED").exists());
}
