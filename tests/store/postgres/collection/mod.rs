//! Collections. A head is a record whose value is the ids of all that it leads to.

mod races;

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use siteconf::base::clock::{SystemClock, Timestamp};
use siteconf::base::id::{Kind, ObjectId};
use siteconf::store::collection::{
    Amount, Collectable, Collection, KeptByCollection, Need, Pace, Swept,
};
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Batch, Expect, NewObject, RecordWrite, Store, StoreError};

use super::large::{PLACES, large, open, read, soon};
use super::order::{edit, edit_function};
use crate::bucket::{Fault, TestBucket};
use crate::fixture::{blob, noise, object, of_objects, of_write, push};
use crate::server::Database;

/// Objects of heads that are not there, in one snapshot.
const MISSING: &str = "SELECT count(*) FROM siteconf.record r,
    generate_series(0, length(r.value) / 32 - 1) i
    WHERE NOT EXISTS (SELECT FROM siteconf.object o WHERE o.id = substring(r.value FROM i * 32 + 1 FOR 32))";
const OBJECTS: &str = "SELECT count(*) FROM siteconf.object";
type Marks = <PostgresStore as Collectable>::Marks;

fn content(number: u64) -> NewObject {
    object(Kind::Blob, format!("content {number}").as_bytes())
}

/// A batch that has a head lead to these.
fn head(key: &str, expect: Expect, ids: &[ObjectId]) -> Batch {
    let value: Vec<u8> = ids.iter().flat_map(|id| *id.as_bytes()).collect();
    let mut batch = Batch::default();
    batch.writes.push(RecordWrite {
        key: key.to_owned(),
        expect,
        value: Some(value.into()),
    });
    batch
}

fn ids_of(value: &[u8]) -> Vec<ObjectId> {
    let ids = value.chunks(32);
    ids.map(|id| ObjectId::from_bytes(id.try_into().unwrap()))
        .collect()
}

/// Collects what no head leads to.
fn collect(store: &PostgresStore) -> siteconf::store::Result<Swept> {
    let collection = store.begin_collection(Pace::new(0))?;
    let mut marks = Marks::default();
    store.visit_at_once(&["head/"], &mut |record| {
        ids_of(&record.value)
            .into_iter()
            .try_for_each(|id| store.mark(&mut marks, id, Need::Live).map(drop))
    })?;
    let swept = collection.sweep(&marks, |_, _| {}, |_| ControlFlow::Continue(()));
    collection.finish()?;
    Ok(swept)
}

/// What is tried again while another collection is under way: whoever ends one waits until its lock is free, but for
/// 2 seconds at most.
fn alone<T>(begin: impl Fn() -> siteconf::store::Result<T>) -> T {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        match begin() {
            Err(StoreError::Underway { what }) => assert!(Instant::now() < patience, "{what}"),
            begun => return begun.unwrap(),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Puts a new object and one that nothing leads to, under a pin.
fn put_ahead(store: &PostgresStore) -> Vec<ObjectId> {
    let old = blob("old");
    store.commit(of_objects(vec![old.clone()])).unwrap();
    // Now it is of an earlier epoch.
    collect_nothing(store);
    let batch = Batch {
        ahead: true,
        ..of_objects(vec![old, blob("new")])
    };
    let ids = batch.objects.iter().map(|new| new.id).collect();
    store.commit(batch).unwrap();
    ids
}

/// A collection that removes nothing.
fn collect_nothing(store: &PostgresStore) {
    let collection = alone(|| store.begin_collection(Pace::new(0)));
    collection.finish().unwrap();
}

#[test]
fn a_pin_keeps_what_is_put_ahead_of_a_commit() {
    let database = Database::new();
    let (store, collecting) = (database.open(), database.open());
    let pin = store.pin().unwrap();
    let ids = put_ahead(&store);
    for _ in 0..2 {
        assert_eq!(alone(|| collect(&collecting)).removed, Amount::default());
    }
    let batch = || Batch {
        required: ids[..1].to_vec(),
        pins: pin.name().into_iter().collect(),
        ..head("head/0", Expect::Absent, &ids)
    };
    // What is renewed late, and met by no collection meanwhile, is kept all the same.
    database.ask("UPDATE siteconf.pin SET until = now() - interval '1 second'");
    store.commit(batch()).unwrap();
    assert_eq!(database.ask("SELECT count(*) FROM siteconf.pin"), ["1"]);
    alone(|| collect(&collecting));
    assert_eq!(database.ask(MISSING), ["0"]);
    drop(pin);
    // Who drops it waits for 2 seconds at most.
    soon(|| database.ask("SELECT count(*) FROM siteconf.pin") == ["0"]);

    // That the test would find it.
    edit_function(
        &database,
        "raise_v1",
        &[("least(raised, min(p.epoch))", "raised")],
    );
    let _pin = store.pin().unwrap();
    let late = blob("late");
    store.commit(of_objects(vec![late.clone()])).unwrap();
    alone(|| collect(&collecting));
    assert_eq!(store.are_there(&[late.id]).unwrap(), [false]);
}

#[test]
fn a_pin_that_a_collection_found_over_is_refused() {
    let database = Database::new();
    let store = database.open();
    let pin = store.pin().unwrap();
    let ids = put_ahead(&store);
    database.ask("UPDATE siteconf.pin SET until = now() - interval '1 second'");
    assert_eq!(alone(|| collect(&database.open())).removed.objects, 2);
    // Its root has come again, and nothing below it.
    store.commit(of_objects(vec![blob("old")])).unwrap();
    let batch = Batch {
        required: ids[..1].to_vec(),
        pins: pin.name().into_iter().collect(),
        ..head("head/0", Expect::Absent, &ids)
    };
    let mut beside = of_write("k", Expect::Absent, Some("1"));
    beside.objects.push(blob("beside"));
    thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(store.commit(batch), Err(StoreError::Unpinned))));
        scope.spawn(|| store.commit(beside).unwrap());
    });
    assert!(store.record("head/0").unwrap().is_none());
    assert!(store.record("k").unwrap().is_some());
}

/// What a refused batch has put goes, and what was there and it has only touched does not.
#[test]
fn a_refused_batch_removes_nothing_that_was_there() {
    let database = Database::new();
    let store = database.open();
    let old = blob("old");
    store.commit(of_objects(vec![old.clone()])).unwrap();
    collect_nothing(&store);
    let mut batch = of_objects(vec![old.clone(), blob("new")]);
    push(&mut batch, "absent", Expect::Version(1), None);
    // Beside one that is not, so that it is not refused before it began.
    edit(&database, &[("IF 0 <> ALL (kinds)", "IF false")]);
    assert!(matches!(
        store.commit(batch),
        Err(StoreError::Conflict { .. })
    ));
    assert_eq!(
        store.are_there(&[old.id, blob("new").id]).unwrap(),
        [true, false]
    );
}

#[test]
fn the_same_object_twice_in_a_group_is_put_once() {
    let database = Database::new();
    let store = database.open();
    thread::scope(|scope| {
        for number in 0..40 {
            let store = &store;
            scope.spawn(move || {
                let key = format!("head/{}", number % 8);
                let objects = vec![blob("same"), content(number % 5)];
                let ids: Vec<_> = objects.iter().map(|new| new.id).collect();
                let batch = Batch {
                    objects,
                    ..head(&key, Expect::Anything, &ids)
                };
                store.commit(batch).unwrap();
            });
        }
    });
    assert_eq!(database.ask(OBJECTS), ["6"]);
    assert_eq!(database.ask(MISSING), ["0"]);
}

#[test]
fn one_runs_at_a_time_and_the_next_goes_on_where_one_ended() {
    let database = Database::new();
    let (store, beside) = (database.open(), database.open());
    for number in 0..700 {
        store.commit(of_objects(vec![content(number)])).unwrap();
    }
    let first = store.begin_collection(Pace::new(0)).unwrap();
    let refused = collect(&beside).unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Underway {
            what: "a collection"
        }
    ));
    // It is told to end between two transactions.
    let swept = first.sweep(&Marks::default(), |_, _| {}, |_| ControlFlow::Break(()));
    assert!(
        swept.stopped && (1..=256).contains(&swept.removed.objects),
        "{swept:?}"
    );
    drop(first);
    // One whose connection is lost has left the lock, and has removed what it says.
    let second = alone(|| store.begin_collection(Pace::new(0)));
    let mut batches = 0;
    let swept = second.sweep(
        &Marks::default(),
        |_, _| {},
        |_| {
            batches += 1;
            if batches == 1 {
                let others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
                database.ask(others);
                alone(|| collect(&beside));
            }
            ControlFlow::Continue(())
        },
    );
    assert!(swept.failed.is_none(), "{swept:?}");
    drop(second);
    assert_eq!(database.ask(OBJECTS), ["0"]);
    alone(|| collect(&store));

    let read_only = PostgresStore::open_read_only(&database.url).unwrap();
    assert!(matches!(collect(&read_only), Err(StoreError::ReadOnly)));
    assert!(matches!(read_only.pin(), Err(StoreError::ReadOnly)));
}

/// As after a failover to a standby that had not got it.
#[test]
fn a_collection_whose_beginning_is_lost_removes_nothing() {
    let database = Database::new();
    let store = database.open();
    store.commit(of_objects(vec![content(1)])).unwrap();
    let collection = store.begin_collection(Pace::new(0)).unwrap();
    database.ask("UPDATE siteconf.gc SET epoch = epoch - 1");
    let swept = collection.sweep(&Marks::default(), |_, _| {}, |_| ControlFlow::Continue(()));
    assert!(
        matches!(swept.failed, Some(StoreError::WentBack)),
        "{swept:?}"
    );
    drop(collection);
    assert_eq!(database.ask(OBJECTS), ["1"]);
}

#[test]
fn what_a_state_needs_and_is_not_there_is_told() {
    let database = Database::new();
    let store = database.open();
    let ids = [content(1).id, content(2).id];
    let batch = Batch {
        objects: vec![content(1), content(2), content(3)],
        ..head("head/0", Expect::Absent, &ids)
    };
    store.commit(batch).unwrap();
    assert_eq!(alone(|| collect(&store)).lost, 0);
    database.ask(&format!(
        "DELETE FROM siteconf.object WHERE id = '\\x{}'",
        hex::encode(ids[1].as_bytes())
    ));
    assert_eq!(alone(|| collect(&store)).lost, 1);
}

#[test]
fn what_the_last_collection_kept_is_noted() {
    let database = Database::new();
    let store = database.open();
    assert_eq!(store.last_collection().unwrap(), None);
    let kept = KeptByCollection {
        at: Timestamp::parse("2026-11-23").unwrap(),
        live_bytes: 7,
        old_bytes: u64::from(u32::MAX) + 1,
    };
    store.note_collection(kept).unwrap();
    assert_eq!(database.open().last_collection().unwrap(), Some(kept));
}

#[test]
fn a_large_blob_waits_in_the_trash_until_no_backup_names_it() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let store = open(&database, &bucket);
    let bytes = noise(7, 300_000);
    store
        .commit(of_objects(vec![large(&store, &bytes)]))
        .unwrap();
    let place = database.ask(PLACES).remove(0);
    // Neither the collection nor the daemon that sweeps needs the bucket for it.
    bucket.fault(Fault::Away, None);
    assert_eq!(alone(|| collect(&store)).removed.objects, 1);
    bucket.fault(Fault::Nothing, None);
    assert_eq!(
        database.ask("SELECT place FROM siteconf.trash"),
        [place.as_str()]
    );

    // It comes again at a place of its own.
    let ids = [crate::fixture::published(&bytes).id];
    let batch = Batch {
        objects: vec![large(&store, &bytes)],
        ..head("head/0", Expect::Absent, &ids)
    };
    soon(|| store.commit(batch.clone()).is_ok() || !database.ask(PLACES).is_empty());
    let again = database.ask(PLACES).remove(0);
    assert_ne!(again, place);

    // What is older than from the day before yesterday, and in the trash, is left alone until its time.
    let aged = "2020-01-01/trashed";
    let file = bucket.plant(aged);
    let of_days = |days: &str| {
        database.ask(&format!(
            "UPDATE siteconf.trash SET place = '{aged}', since = now() - interval '{days}'"
        ));
    };
    of_days("13 days 23 hours");
    soon(|| store.sweep_bucket(SystemClock).is_ok());
    assert!(file.exists());
    of_days("14 days 1 hour");
    // A row names it all the same.
    database.ask(&format!(
        "UPDATE siteconf.object SET place = '{aged}' WHERE place = '{again}'"
    ));
    store.sweep_bucket(SystemClock).unwrap();
    assert!(file.exists());
    assert!(database.ask("SELECT place FROM siteconf.trash").is_empty());
    database.ask(&format!("UPDATE siteconf.object SET place = '{again}'"));
    database.ask(&format!(
        "INSERT INTO siteconf.trash (place) VALUES ('{aged}')"
    ));
    of_days("14 days 1 hour");
    // Killed between the two, it is removed again.
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 1);
    assert!(!file.exists());
    assert!(database.ask("SELECT place FROM siteconf.trash").is_empty());
    assert!(read(store, &bytes).unwrap() == bytes);
}
