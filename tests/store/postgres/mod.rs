//! What the engine over PostgreSQL promises beyond every store.

mod clock_ahead;
mod collection;
mod common_settings;
mod failures;
mod lanes;
mod large;
mod order;
mod plans;
#[path = "../../support/postgres_proxy.rs"]
#[allow(dead_code, reason = "the tests of the service use the rest")]
mod proxy;
mod roles;
mod snapshot;
mod staleness;
mod steps;

use std::thread;
use std::time::{Duration, Instant};

use siteconf::store::inspection::Inspectable as _;
use siteconf::store::postgres::PostgresStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::{Batch, Expect, Store, StoreError, Writes};
use tokio_postgres::NoTls;

use crate::concurrency::{
    committers_on_one_record_lose_nothing, what_was_acknowledged_is_seen_by_every_later_read,
};
use crate::fixture::{noise, of_objects, of_write, published, push, value};
use crate::server::Database;

/// Writes a record once more after each number up to `last`, each time on what it was before.
fn count(store: &dyn Store, key: &str, last: u64) {
    let mut expect = Expect::Absent;
    for number in 1..=last {
        let mut batch = Batch::default();
        batch.write(key.to_owned(), expect, &number);
        let version = answered(|| store.commit(batch.clone()));
        expect = Expect::Version(version);
        let found = answered(|| store.record(key));
        assert_eq!(found.unwrap().version, version);
    }
}

/// What a store answers that is asked again while it says that the database is away and nothing was done: so it is
/// where the server ends one connection after the other, or somebody is held up for seconds.
fn answered<T>(ask: impl Fn() -> Result<T, StoreError>) -> T {
    let patience = Instant::now() + Duration::from_mins(1);
    loop {
        match ask() {
            Err(StoreError::Unavailable) => assert!(Instant::now() < patience, "it stays away"),
            answer => return answer.unwrap(),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Says that some have counted, nobody twice and nobody in vain.
fn assert_counted(database: &Database, keys: usize, last: u64) {
    let store = database.open();
    let folder = store.folder("count/").unwrap();
    assert_eq!(folder.len(), keys);
    assert!(folder.iter().all(|record| record.value == last.to_string()));
    let writes = keys as u64 * last;
    assert_eq!(store.last_version().unwrap(), writes);
    let changes = "SELECT count(*) || ' ' || max(version) FROM siteconf.change";
    assert_eq!(database.ask(changes), [format!("{} {writes}", writes + 1)]);
}

fn refusal(url: &str) -> String {
    PostgresStore::open(url).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    let database = Database::without_store();
    let none = "the database cannot be used: it has no store; \"siteconf init\" makes one";
    assert_eq!(refusal(&database.url), none);
    PostgresStore::init(&database.url).unwrap();
    let store = database.open();
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    // It keeps what it has.
    PostgresStore::init(&database.url).unwrap();
    assert_eq!(value(&store, "k").as_deref(), Some("1"));
    drop(store);
    database.ask("UPDATE siteconf.format SET format = 7");
    let other = "the database cannot be used: it has format 7, and this program reads format 2";
    assert_eq!(refusal(&database.url), other);
    database.ask("DROP TABLE siteconf.format");
    let half = PostgresStore::init(&database.url).unwrap_err().to_string();
    assert_eq!(
        half,
        "the database cannot be used: it has a schema \"siteconf\" without a store"
    );
    let absent = format!("{}absent", database.url);
    assert!(refusal(&absent).starts_with("the database cannot be used: database \"test"));
    let nowhere = refusal("postgres:///x?user=a&sslmode=disable");
    assert_eq!(
        nowhere,
        "the database cannot be used: both host and hostaddr are missing"
    );
    let latin = Database::of_encoding("LATIN1");
    let other =
        "the database cannot be used: its encoding is LATIN1; make a database with ENCODING 'UTF8'";
    assert_eq!(refusal(&latin.url), other);
    let refused = PostgresStore::init(&latin.url).unwrap_err().to_string();
    assert_eq!(refused, other);
}

#[test]
fn what_is_opened_for_reading_changes_nothing() {
    let database = Database::new();
    count(&database.open(), "k", 2);
    let store = PostgresStore::open_read_only(&database.url).unwrap();
    assert_eq!(value(&store, "k").as_deref(), Some("2"));
    let refused = store.commit(of_write("k", Expect::Anything, Some("3")));
    assert!(matches!(refused, Err(StoreError::ReadOnly)));
    assert_eq!(store.writes(), Writes::Stopped);
    assert_eq!(value(&store, "k").as_deref(), Some("2"));
}

#[test]
fn a_large_blob_has_no_place() {
    let database = Database::new();
    let store = database.open();
    let refused = store.stage().unwrap_err().to_string();
    assert_eq!(
        refused,
        "this store has no place for files of more than 65536 bytes"
    );
    let batch = of_objects(vec![published(&noise(1, 100_000))]);
    assert!(matches!(
        store.commit(batch),
        Err(StoreError::TooLarge { .. })
    ));
}

#[test]
fn what_one_daemon_writes_another_has_seen_when_it_is_settled() {
    let database = Database::new();
    let (one, other) = (database.open(), RecordCache::new(database.open()));
    assert_eq!(value(&other, "a/b"), None);
    for number in 0..30 {
        let text = number.to_string();
        one.commit(of_write("a/b", Expect::Anything, Some(&text)))
            .unwrap();
        one.settle();
        assert_eq!(value(&other, "a/b"), Some(text.clone()));
        assert_eq!(other.folder("a/").unwrap()[0].value, text);
    }
}

#[test]
fn many_callers_of_the_cache_over_it_lose_nothing() {
    let databases = [Database::new(), Database::new()];
    let caches = databases.each_ref().map(|it| RecordCache::new(it.open()));
    committers_on_one_record_lose_nothing(&caches[0]);
    what_was_acknowledged_is_seen_by_every_later_read(&caches[1]);
}

#[test]
fn what_another_daemon_writes_is_all_that_is_dropped() {
    let database = Database::new();
    let (one, other) = (database.open(), RecordCache::new(database.open()));
    for key in ["a/b", "c/d"] {
        other
            .commit(of_write(key, Expect::Absent, Some("1")))
            .unwrap();
    }
    let before = ["a/", "c/"].map(|folder| other.folder(folder).unwrap());
    one.commit(of_write("a/b", Expect::Anything, Some("2")))
        .unwrap();
    one.settle();
    let after = ["a/", "c/"].map(|folder| other.folder(folder).unwrap());
    assert_eq!(after[0][0].value, "2");
    assert!(std::sync::Arc::ptr_eq(&before[1], &after[1]));
}

#[test]
fn old_changes_and_outcomes_are_removed_and_who_is_behind_them_is_told_of_all() {
    let database = Database::new();
    let (one, other) = (database.open(), database.open());
    for number in 0..10 {
        one.commit(of_write(&format!("k{number}"), Expect::Absent, Some("1")))
            .unwrap();
    }
    database.ask("UPDATE siteconf.done SET at = now() - interval '2 hours' WHERE serial < 10");
    database.ask("UPDATE siteconf.change SET version = version + 2000000 WHERE version > 8");
    let prune = || database.ask("SELECT siteconf.prune_v3(5)");
    assert_eq!(prune(), ["5"]);
    let left = "SELECT count(*) FROM siteconf.";
    assert_eq!(database.ask(&format!("{left}change")), ["6"]);
    assert_eq!(database.ask(&format!("{left}done")), ["5"]);
    assert_eq!(prune(), ["4"]);
    assert_eq!(database.ask(&format!("{left}change")), ["2"]);
    assert_eq!(database.ask(&format!("{left}done")), ["1"]);
    assert_eq!(prune(), ["0"]);
    one.settle();
    assert_eq!(other.external_writes().unwrap(), 2_000_010);
    assert_eq!(other.external_keys(0, usize::MAX).unwrap(), None);
    assert_eq!(other.external_keys(2_000_010, 1).unwrap(), Some(Vec::new()));
}

#[test]
fn old_changes_are_removed_by_one_at_a_time_so_that_the_oldest_go_first() {
    let database = Database::new();
    let store = database.open();
    for number in 0..10 {
        let write = of_write(&format!("k{number}"), Expect::Absent, Some("1"));
        store.commit(write).unwrap();
    }
    database.ask("UPDATE siteconf.change SET version = version + 2000000 WHERE version > 8");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (other, connection) = runtime
        .block_on(tokio_postgres::connect(&database.url, NoTls))
        .unwrap();
    let _driver = runtime.spawn(connection);
    let run = |statements| runtime.block_on(other.batch_execute(statements)).unwrap();
    let prune = || database.ask("SELECT siteconf.prune_v3(5)");
    let left = || {
        database.ask(
            "SELECT string_agg(version::text, ' ' ORDER BY version) FROM siteconf.change
             WHERE version < 100",
        )
    };
    run("BEGIN; SELECT siteconf.prune_v3(5)");
    assert_eq!(prune(), ["0"]);
    run("ROLLBACK");
    assert_eq!(left(), ["0 1 2 3 4 5 6 7 8"]);
    assert_eq!(prune(), ["5"]);
    assert_eq!(left(), ["5 6 7 8"]);
}

#[test]
fn what_is_no_longer_needed_goes_as_fast_as_more_comes() {
    let database = Database::new();
    database.ask(
        "INSERT INTO siteconf.done (writer, serial, at, kinds, versions, details)
         SELECT '', serial, now() - interval '2 hours', '{}', '{}', '{}' FROM generate_series(1, 6000) serial",
    );
    let store = database.open();
    let left = || database.ask("SELECT count(*) FROM siteconf.done WHERE writer = ''");
    // A minute goes by before some is removed for the first time where little is written. On a busy machine a removal
    // takes long, and the next one waits for ten times as long.
    let patience = Instant::now() + Duration::from_mins(3);
    for round in 0.. {
        let mut batch = Batch::default();
        for number in 0..1000 {
            let key = format!("{round}/{number}");
            push(&mut batch, &key, Expect::Absent, Some("1"));
        }
        store.commit(batch).unwrap();
        if left() == ["0"] {
            break;
        }
        assert!(Instant::now() < patience, "{:?} are left", left());
    }
}

#[test]
fn nobody_who_writes_waits_for_the_removal_of_what_is_no_longer_needed() {
    let database = Database::new();
    // It takes as long as this lock is held, as it would where an old snapshot is in its way.
    database.ask(
        "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_advisory_xact_lock(7); RETURN NULL;
        END $$;
        CREATE TRIGGER wait BEFORE DELETE ON siteconf.done
            FOR EACH STATEMENT EXECUTE FUNCTION public.wait()",
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (other, connection) = runtime
        .block_on(tokio_postgres::connect(&database.url, NoTls))
        .unwrap();
    let _driver = runtime.spawn(connection);
    let run = |statements| runtime.block_on(other.batch_execute(statements)).unwrap();
    run("SELECT pg_advisory_lock(7)");
    let store = database.open();
    let mut batch = Batch::default();
    for number in 0..1000 {
        push(&mut batch, &format!("{number}"), Expect::Absent, Some("1"));
    }
    store.commit(batch).unwrap();
    let waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event = 'advisory' AND query LIKE '%prune_v3%'";
    large::soon(|| !database.ask(waiting).is_empty());
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    assert_eq!(database.ask(waiting).len(), 1);
    run("SELECT pg_advisory_unlock(7)");
    large::soon(|| database.ask(waiting).is_empty());
}

#[test]
fn what_a_check_holds_a_database_against_is_what_the_steps_make() {
    let made = include_str!("../../../src/store/postgres/inspection/made.txt");
    let describe = include_str!("../../../src/store/postgres/inspection/describe.sql");
    let earlier = Database::of_first_step();
    PostgresStore::migrate(&earlier.url).unwrap();
    for database in [Database::new(), earlier] {
        let step = database.ask("SELECT 'schema ' || schema FROM siteconf.format");
        let found = [step, database.ask(describe)].concat();
        let made: Vec<_> = made.lines().collect();
        assert_eq!(found, made);
        assert_eq!(database.open().examine().unwrap(), [""; 0]);
    }
}
