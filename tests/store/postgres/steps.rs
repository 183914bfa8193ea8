//! What a step of the schema does to calls that wait for it.

use std::thread;

use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Expect, Store as _};

use super::large::soon;
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
