//! Saves that put again what a collection is about to remove.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use siteconf::store::collection::{Amount, Collectable, Collection, Pace};
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Batch, Expect, Store, StoreError};

use super::super::large::soon;
use super::super::order::edit;
use super::{MISSING, Marks, alone, collect, content, head, ids_of};
use crate::fixture::{blob, of_objects};
use crate::rounds::Rounds;
use crate::server::Database;

/// Where a commit has looked at the epoch and has not asked for the lock yet.
const BEFORE_LOCK: &str = "    IF locks THEN";
/// How many commits a test holds there.
const HELD: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'";

const HEADS: u64 = 4;
/// Few contents, so that most saves bring back one that was removed.
const CONTENTS: u64 = 24;

/// Saves a head: some of what it leads to stays, some is put, and some is required that is there or not.
fn save(store: &PostgresStore, numbers: &mut StdRng) -> siteconf::store::Result<()> {
    let key = format!("head/{}", numbers.random_range(0..HEADS));
    let found = store.record(&key)?;
    let mut ids = found.as_ref().map_or(Vec::new(), |it| ids_of(&it.value));
    ids.retain(|_| numbers.random_range(0..2) == 0);
    let new: Vec<_> = (0..numbers.random_range(1..4))
        .map(|_| content(numbers.random_range(0..CONTENTS)))
        .collect();
    ids.extend(new.iter().map(|new| new.id));
    let required = content(numbers.random_range(0..CONTENTS)).id;
    if numbers.random_range(0..3) == 0 && store.are_there(&[required])?[0] {
        ids.push(required);
    }
    let expect = found.map_or(Expect::Absent, |it| Expect::Version(it.version));
    let batch = Batch {
        required: ids.iter().copied().filter(|id| *id == required).collect(),
        objects: new,
        ..head(&key, expect, &ids)
    };
    match store.commit(batch) {
        // Another was first, or what is required was removed.
        Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => Ok(()),
        saved => saved.map(drop),
    }
}

/// Ends the writers, also when a collection fails.
struct EndAtDrop<'a>(&'a AtomicBool);

impl Drop for EndAtDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets three daemons save, two callers each, while others collect, until so much was removed.
fn save_beside_collections(database: &Database, removed_min: u64) {
    // The epoch rises between the look at it and the lock.
    edit(
        database,
        &[(
            BEFORE_LOCK,
            "PERFORM pg_sleep(random() * 0.004); IF locks THEN",
        )],
    );
    let rounds = Rounds::or(1);
    let removed_min = removed_min * rounds.count;
    let daemons = [database.open(), database.open(), database.open()];
    let (ended, saves) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..6 {
            let (daemon, ended, saves) = (&daemons[writer / 2], &ended, &saves);
            scope.spawn(move || {
                let mut numbers = rounds.random(writer as u64);
                while !ended.load(Ordering::Relaxed) {
                    let saved = save(daemon, &mut numbers);
                    if saved.is_err() {
                        ended.store(true, Ordering::Relaxed);
                    }
                    saved.unwrap();
                    saves.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _end = EndAtDrop(&ended);
        let collecting = database.open();
        let patience = Instant::now() + Duration::from_mins(2);
        let mut removed = 0;
        while removed < removed_min && !ended.load(Ordering::Relaxed) {
            assert!(Instant::now() < patience, "{removed} removed");
            let before = saves.load(Ordering::Relaxed);
            removed += alone(|| collect(&collecting)).removed.objects;
            assert_eq!(database.ask(MISSING), ["0"], "{removed} removed");
            // Some saves come between two collections.
            while saves.load(Ordering::Relaxed) < before + 6 && !ended.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
    });
    // After the last one only what heads lead to is there.
    alone(|| collect(&daemons[0]));
    assert_eq!(database.ask(MISSING), ["0"]);
    assert_eq!(alone(|| collect(&daemons[0])).removed, Amount::default());
}

#[test]
fn saves_of_what_is_being_removed_lose_nothing() {
    save_beside_collections(&Database::new(), 300);
}

/// What is missing after a whole collection came between a save's look at the epoch and its lock, and removed
/// what the save puts again.
fn missing_after_a_collection_before_the_lock(database: &Database) -> String {
    database.ask("CREATE TABLE siteconf.held ()");
    edit(
        database,
        &[(
            BEFORE_LOCK,
            "WHILE EXISTS (SELECT FROM siteconf.held) LOOP PERFORM pg_sleep(0.01); END LOOP; IF locks THEN",
        )],
    );
    let (saving, collecting) = (database.open(), database.open());
    let object = blob("again");
    saving.commit(of_objects(vec![object.clone()])).unwrap();
    database.ask("INSERT INTO siteconf.held DEFAULT VALUES");
    thread::scope(|scope| {
        let batch = Batch {
            objects: vec![object.clone()],
            ..head("head/0", Expect::Absent, &[object.id])
        };
        let save = scope.spawn(|| saving.commit(batch));
        soon(|| database.ask(HELD) == ["1"]);
        assert_eq!(alone(|| collect(&collecting)).removed.objects, 1);
        database.ask("DELETE FROM siteconf.held");
        save.join().unwrap().unwrap();
    });
    database.ask(MISSING).remove(0)
}

#[test]
fn a_collection_between_a_look_at_the_epoch_and_the_lock_takes_nothing_that_is_saved() {
    let database = Database::new();
    assert_eq!(missing_after_a_collection_before_the_lock(&database), "0");

    // That the test would find it.
    let database = Database::new();
    edit(
        &database,
        &[("IF locks AND mine <>", "IF false AND mine <>")],
    );
    assert_eq!(missing_after_a_collection_before_the_lock(&database), "1");
}

/// What is missing after a save came between the marks of a collection and its sweep, and put again what is not
/// marked.
fn missing_after_a_save_before_the_sweep(database: &Database) -> String {
    let store = database.open();
    let object = blob("again");
    store.commit(of_objects(vec![object.clone()])).unwrap();
    let collection = store.begin_collection(Pace::new(0)).unwrap();
    let batch = Batch {
        objects: vec![object.clone()],
        ..head("head/0", Expect::Absent, &[object.id])
    };
    store.commit(batch).unwrap();
    let swept = collection.sweep(&Marks::default(), |_, _| {}, |_| ControlFlow::Continue(()));
    assert!(swept.failed.is_none(), "{swept:?}");
    collection.finish().unwrap();
    database.ask(MISSING).remove(0)
}

#[test]
fn a_save_between_the_marks_and_the_sweep_keeps_what_it_puts_again() {
    let database = Database::new();
    assert_eq!(missing_after_a_save_before_the_sweep(&database), "0");

    // That the test would find it.
    let database = Database::new();
    edit(
        &database,
        &[("x.epoch < mine", "false"), ("x.epoch >= mine", "true")],
    );
    assert_eq!(missing_after_a_save_before_the_sweep(&database), "1");
}
