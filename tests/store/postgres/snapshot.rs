//! What a snapshot that somebody holds costs those who write and read: the server keeps all versions of each row
//! for it, and who looks for one record does not look through them.

use std::thread;

use siteconf::store::inspection::Inspectable as _;
use siteconf::store::{Expect, Store as _};

use super::large::soon;
use crate::fixture::of_write;
use crate::server::{Database, try_ask};

/// Pages of the records and their index that were looked at, as far as the backends have told that have ended.
const LOOKED_AT: &str = "SELECT heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read
    FROM pg_statio_user_tables WHERE relid = 'siteconf.record'::regclass";
pub(super) const BACKENDS: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'siteconf%' AND pid <> pg_backend_pid()";
/// What the log is told by.
const OLDEST: &str = include_str!("../../../src/store/postgres/oldest.sql");
const HOLD: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM siteconf.format; SELECT pg_sleep(60)";
const HOLDERS: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_sleep(60)' AND backend_xmin IS NOT NULL
    AND pid <> pg_backend_pid()";
pub(super) const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()";

/// How many pages of the records are looked at for so many changes of a record, each of which reads it first.
fn pages_of_changes(database: &Database, key: &str, changes: u64) -> u64 {
    let looked_at = || database.ask(LOOKED_AT)[0].parse::<u64>().unwrap();
    let before = looked_at();
    let store = database.open();
    for number in 0..changes {
        let found = store.record(key).unwrap();
        let expect = found.map_or(Expect::Absent, |found| Expect::Version(found.version));
        let value = number.to_string();
        store.commit(of_write(key, expect, Some(&value))).unwrap();
    }
    drop(store);
    soon(|| database.ask(BACKENDS).is_empty());
    looked_at() - before
}

#[test]
fn who_writes_and_reads_does_not_look_through_what_an_old_snapshot_keeps() {
    let database = Database::new();
    thread::scope(|scope| {
        // It is ended while it sleeps.
        scope.spawn(|| drop(try_ask(&database.url, HOLD)));
        soon(|| database.ask(HOLDERS).len() == 1);
        let new = pages_of_changes(&database, "new", 50);
        pages_of_changes(&database, "old", 1500);
        let old = pages_of_changes(&database, "old", 50);
        let held = HOLDERS.replace("SELECT pid", "SELECT backend_xmin");
        assert_eq!(database.ask(OLDEST), database.ask(&held));
        let held = database.ask(OLDEST);
        database.ask(END);
        soon(|| database.ask(OLDEST) != held);
        // Were the versions looked through, it would be a hundred times as many; those that the server analyses
        // meanwhile count, too.
        assert!(old < new * 3, "{new} pages, {old} with 1,500 versions");
    });
    assert_eq!(database.open().examine().unwrap(), [""; 0]);
}

#[test]
fn a_record_that_is_there_twice_is_told() {
    let database = Database::new();
    let store = database.open();
    for key in ["one", "two"] {
        store
            .commit(of_write(key, Expect::Absent, Some("1")))
            .unwrap();
    }
    database.ask("INSERT INTO siteconf.record SELECT key, version + 7, value FROM siteconf.record WHERE key = 'one'");
    assert_eq!(
        store.examine().unwrap(),
        ["database: record \"one\" is there twice"]
    );
}
