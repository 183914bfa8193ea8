//! What a step of the schema does to calls that wait for it.

use std::thread;

use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Expect, Store as _};

use super::large::{open, soon};
use crate::bucket::TestBucket;
use crate::fixture::{of_write, value};
use crate::server::{Database, try_ask};

/// The lock of all who write.
const HOLD: &str = "BEGIN; SELECT pg_advisory_xact_lock(1936290915, 1); SELECT pg_sleep(60)";
const HOLDERS: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_sleep(60)' AND wait_event = 'PgSleep'";
const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'";
const WAITING: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'SELECT siteconf.commit_v2%' AND wait_event = 'advisory'";
/// A write of the record `a`, sent for the second time.
const COMMIT: &str = "SELECT siteconf.commit_v2('\\x01', 1, true, 0, 1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', \
    '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{1}', ARRAY['a'::bytea], ARRAY['2'::bytea], '{f}')";
/// What programs of earlier steps call to remove old changes.
const PRUNE: [&str; 2] = ["SELECT siteconf.prune_v1(3)", "SELECT siteconf.prune_v2(3)"];

/// A database of step 4, from before records were found by their last version.
fn of_step_4() -> Database {
    let database = Database::of_first_step();
    for step in [
        include_str!("../../../src/store/postgres/schema/2.sql"),
        include_str!("../../../src/store/postgres/schema/3.sql"),
        include_str!("../../../src/store/postgres/schema/4.sql"),
        include_str!("../../../src/store/postgres/schema/owned.sql"),
        "UPDATE siteconf.format SET schema = 4",
    ] {
        database.ask(step);
    }
    database
}

#[test]
fn a_commit_that_waits_for_the_step_that_changes_it_is_sent_again() {
    let database = of_step_4();
    thread::scope(|scope| {
        // It is ended while it sleeps.
        scope.spawn(|| drop(try_ask(&database.url, HOLD)));
        soon(|| database.ask(HOLDERS).len() == 1);
        let waits = scope.spawn(|| try_ask(&database.url, COMMIT));
        soon(|| database.ask(WAITING).len() == 1);
        PostgresStore::migrate(&database.url).unwrap();
        database.ask(END);
        // What a daemon sends again, as where a collection has begun meanwhile.
        let refused = waits.join().unwrap().unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "SC002", "{refused:?}");
    });
    assert_eq!(database.ask(COMMIT).len(), 1);
    let store = database.open();
    assert_eq!(value(&store, "a").as_deref(), Some("2"));
    store
        .commit(of_write("a", Expect::Version(1), None))
        .unwrap();
    assert_eq!(value(&store, "a"), None);
}

#[test]
fn programs_of_earlier_steps_do_no_harm_beside_those_of_today() {
    let (database, bucket) = (Database::of_first_step(), TestBucket::new());
    PostgresStore::migrate(&database.url).unwrap();
    database.ask("UPDATE siteconf.sweep SET at = now() - interval '2 days'");
    // Who gets true removes at once what no row names.
    assert_eq!(database.ask("SELECT siteconf.claim_sweep_v1()"), ["f"]);
    // Who calls it does not see that another server has taken the place of the one where it began.
    let sweep = "SELECT siteconf.sweep_v1(ARRAY['a'::bytea], 1)";
    let refused = try_ask(&database.url, sweep).unwrap_err();
    let said = refused.as_db_error().unwrap();
    assert!(said.message().ends_with("use a newer one"), "{said:?}");

    database.ask(
        "INSERT INTO siteconf.change (version, key) SELECT v, 'k' FROM generate_series(1, 8) v;
         INSERT INTO siteconf.change (version, key) VALUES (2000000, 'k')",
    );
    // While somebody removes old changes, nobody else does: else the oldest are not the first that go.
    let left = || database.ask("SELECT count(*) FROM siteconf.change WHERE version < 9");
    thread::scope(|scope| {
        let hold = "BEGIN; SELECT pg_advisory_xact_lock(1936290915, 3); SELECT pg_sleep(60)";
        scope.spawn(|| drop(try_ask(&database.url, hold)));
        soon(|| database.ask(HOLDERS).len() == 1);
        for prune in PRUNE {
            database.ask(prune);
            assert_eq!(left(), ["9"], "{prune}");
        }
        database.ask(END);
    });
    for (prune, fewer) in PRUNE.into_iter().zip(["6", "3"]) {
        soon(|| {
            database.ask(prune);
            left() == [fewer]
        });
    }

    bucket.plant("2020-01-01/orphan");
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    store.keep_bucket();
    let trash = "SELECT place FROM siteconf.trash";
    soon(|| database.ask(trash) == ["2020-01-01/orphan"]);
}
