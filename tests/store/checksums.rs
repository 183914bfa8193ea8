//! Checksums of records: damage is an error that names the record, and an upgrade of a folder of format 1
//! gives them.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;

use siteconf::store::inspection::Inspectable as _;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::sqlite::upgrade::{Upgraded, upgrade};
use siteconf::store::{Expect, Scan, Store, StoreError, Values};

use crate::fixture::{blob, contents, of_write, push, value};

fn daemon(root: &Path) -> SqliteStore {
    SqliteStore::open_locked(root).unwrap()
}

fn sql(root: &Path, statements: &str) {
    let db = Connection::open(root.join("store.db")).unwrap();
    db.execute_batch(statements).unwrap();
}

#[track_caller]
fn assert_damaged<T: std::fmt::Debug>(outcome: Result<T, StoreError>, key: &str, how: &str) {
    match outcome {
        Err(error @ StoreError::DamagedRecord { .. }) => assert_eq!(
            error.to_string(),
            format!("record \"{key}\" is damaged: its checksum is that of another value"),
            "{how}"
        ),
        other => panic!("{how}: {other:?}"),
    }
}

/// The change made while the database lets each column have any type and any value, as damage does.
fn lax(change: &str) -> String {
    let schema = |from: &str, to: &str| {
        format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'record';
             PRAGMA writable_schema = RESET;"
        )
    };
    let (strict, free) = (") STRICT", ") /* */");
    let (set, unset) = ("BLOB    NOT NULL", "BLOB    /*    */");
    [
        schema(strict, free),
        schema(set, unset),
        change.to_owned(),
        schema(unset, set),
        schema(free, strict),
    ]
    .join(";")
}

#[test]
fn a_record_whose_bytes_became_a_text_is_the_same() {
    let root = tempfile::tempdir().unwrap();
    let batch = of_write("a", Expect::Absent, Some("11"));
    daemon(root.path()).commit(batch).unwrap();
    sql(
        root.path(),
        &lax("UPDATE record SET value = CAST(value AS TEXT) WHERE key = 'a'"),
    );
    let store = daemon(root.path());
    assert_eq!(value(&store, "a").as_deref(), Some("11"));
    assert_eq!(store.scan(Scan::prefix("")).unwrap().len(), 1);
    let mut faults = Vec::new();
    store
        .survey_records(&mut |record| faults.extend(record.err()))
        .unwrap();
    assert_eq!(faults, [""; 0]);
    assert_eq!(store.examine().unwrap().len(), 1);
}

#[test]
fn a_damaged_record_is_an_error_that_names_it_and_the_others_are_read() {
    for change in [
        &lax("UPDATE record SET value = 12 WHERE key = 'a/2'"),
        &lax("UPDATE record SET value = NULL WHERE key = 'a/2'"),
        &lax("UPDATE record SET checksum = 7 WHERE key = 'a/2'"),
        "UPDATE record SET value = CAST('12' AS BLOB) WHERE key = 'a/2'",
        "UPDATE record SET value = x'' WHERE key = 'a/2'",
        "UPDATE record SET version = 77 WHERE key = 'a/2'",
        "UPDATE record SET checksum = NULL WHERE key = 'a/2'",
        "UPDATE record SET checksum = x'' WHERE key = 'a/2'",
        "UPDATE record SET checksum = x'0011223344556677' WHERE key = 'a/2'",
        "UPDATE record SET key = 'b' WHERE key = 'a/1'; UPDATE record SET key = 'a/1' WHERE key = 'a/2';
         UPDATE record SET key = 'a/2' WHERE key = 'b'",
    ] {
        let root = tempfile::tempdir().unwrap();
        let mut batch = of_write("a/1", Expect::Absent, Some("11"));
        push(&mut batch, "a/2", Expect::Absent, Some("13"));
        push(&mut batch, "a/3", Expect::Absent, Some("14"));
        push(&mut batch, "c", Expect::Absent, Some("15"));
        daemon(root.path()).commit(batch).unwrap();
        sql(root.path(), change);
        let store = daemon(root.path());
        assert_damaged(store.record("a/2"), "a/2", change);
        assert!(matches!(
            store.scan(Scan::prefix("a/")),
            Err(StoreError::DamagedRecord { .. })
        ));
        for descending in [false, true] {
            let mut rest = vec!["a/1", "a/3", "c"];
            // The change of keys damages both.
            rest.retain(|key| store.record(key).is_ok());
            if descending {
                rest.reverse();
            }
            for limit in [1, 2, 3] {
                let scan = Scan {
                    descending,
                    limit,
                    values: Values::Sound,
                    ..Scan::prefix("")
                };
                let found = store.scan(scan).unwrap();
                let found: Vec<_> = found.iter().map(|record| record.key.as_str()).collect();
                assert_eq!(found, rest[..limit.min(rest.len())], "{change}");
            }
        }
        assert_eq!(value(&store, "a/3").as_deref(), Some("14"));
        assert_eq!(store.scan(Scan::prefix("c")).unwrap().len(), 1);
        let (mut sound, mut faults) = (Vec::new(), Vec::new());
        store
            .survey_records(&mut |record| match record {
                Ok(record) => sound.push(record.key),
                Err(fault) => faults.push(fault),
            })
            .unwrap();
        assert!(sound.contains(&"a/3".to_owned()) && sound.contains(&"c".to_owned()));
        assert!(
            faults.iter().any(|fault| fault.contains("record \"a/2\" is damaged")),
            "{faults:?}"
        );

        // What is written anew is whole again.
        store
            .commit(of_write("a/2", Expect::Anything, Some("16")))
            .unwrap();
        assert_eq!(value(&store, "a/2").as_deref(), Some("16"));
    }
}

/// Makes of a closed folder one of format 1.
fn make_old(root: &Path) {
    sql(root, "ALTER TABLE record DROP COLUMN checksum");
    fs::remove_file(root.join("high-water")).unwrap();
    fs::write(root.join("FORMAT"), "siteconf 1\n").unwrap();
}

/// A folder of more records than get theirs at once, and an object.
fn many_records(root: &Path) -> SqliteStore {
    let store = daemon(root);
    let mut batch = of_write("deleted", Expect::Absent, Some("1"));
    for number in 0..2500 {
        push(
            &mut batch,
            &format!("k/{number:04}"),
            Expect::Absent,
            Some("[1]"),
        );
    }
    batch.objects.push(blob("x"));
    store.commit(batch).unwrap();
    store
        .commit(of_write("deleted", Expect::Anything, None))
        .unwrap();
    store
}

#[test]
fn an_upgrade_gives_every_record_its_checksum() {
    let root = tempfile::tempdir().unwrap();
    let store = many_records(root.path());
    let before = contents(&store);
    drop(store);
    let interruptions = [
        "SELECT 1",
        "ALTER TABLE record ADD COLUMN checksum BLOB",
        // Some had theirs, and an older version has written since.
        "ALTER TABLE record ADD COLUMN checksum BLOB; UPDATE record SET checksum = x'0011223344556677'
         WHERE version < 1500",
    ];
    for interrupted in interruptions {
        make_old(root.path());
        sql(root.path(), interrupted);
        for open in [SqliteStore::open_beside, SqliteStore::open_locked] {
            let Err(StoreError::Folder { reason, .. }) = open(root.path()) else {
                panic!("it was opened");
            };
            assert_eq!(
                reason,
                format!(
                    "the folder has format 1, and this version writes format 3; make a backup, then run \
                     \"siteconf upgrade --data {}\"",
                    root.path().display()
                )
            );
        }
        let early = SqliteStore::open_read_only(root.path()).unwrap();
        assert_eq!(contents(&early), before, "{interrupted}");
        drop(early);
        let mut told = Vec::new();
        let upgraded = upgrade(root.path(), &mut |given| {
            told.push(given);
            ControlFlow::Continue(())
        });
        assert_eq!(upgraded.unwrap(), Upgraded::Whole);
        assert_eq!(told, [0, 1000, 2000, 2500], "{interrupted}");
        let store = daemon(root.path());
        assert_eq!(contents(&store), before, "{interrupted}");
        drop(store);
        let format = fs::read_to_string(root.path().join("FORMAT")).unwrap();
        assert_eq!(format, "siteconf 3\n");
        for open in [
            SqliteStore::open_locked,
            SqliteStore::open_beside,
            SqliteStore::open_read_only,
        ] {
            assert_eq!(contents(&open(root.path()).unwrap()), before);
        }
    }
}

#[test]
fn an_upgrade_that_is_told_to_stop_leaves_the_format_and_the_next_begins_anew() {
    let root = tempfile::tempdir().unwrap();
    let store = many_records(root.path());
    let before = contents(&store);
    drop(store);
    make_old(root.path());
    for last in [0, 1000, 2500] {
        let stopped = upgrade(root.path(), &mut |given| {
            if given == last {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(stopped.unwrap(), Upgraded::Interrupted);
        let format = fs::read_to_string(root.path().join("FORMAT")).unwrap();
        assert_eq!(format, "siteconf 1\n");
    }
    let upgraded = upgrade(root.path(), &mut |_| ControlFlow::Continue(()));
    assert_eq!(upgraded.unwrap(), Upgraded::Whole);
    assert_eq!(contents(&daemon(root.path())), before);
}
