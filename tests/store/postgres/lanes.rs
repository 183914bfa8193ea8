//! Who takes turns at what others change, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use siteconf::base::reads::Reads;
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Expect, Store as _};
use tokio::runtime::Builder;

use super::large::soon;
use crate::fixture::of_write;
use crate::server::{DAEMON_ROLE, Database};

const WAITING: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_advisory_lock(1936290916,%' AND wait_event = 'advisory'";

#[test]
fn a_daemon_has_any_number_of_lanes_and_others_wait_for_those() {
    let database = Database::new();
    let (one, other) = (database.open(), database.open());
    // A turn is waited for 2 seconds at most: whoever is held up for so long has none, and another try.
    assert!((0..5).any(|_| is_waited_for(&database, &one, &other)));
}

/// True if one daemon has waited for a lane until another no longer had it.
fn is_waited_for(database: &Database, one: &PostgresStore, other: &PostgresStore) -> bool {
    let lanes = ["a", "b", "c"].map(|key| one.lane(key));
    if !lanes.iter().all(Option::is_some) {
        return false;
    }
    let is_free = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let lane = other.lane("b");
            assert!(lane.is_none() || is_free.load(Ordering::Acquire));
            lane.is_some()
        });
        soon(|| waiting.is_finished() || database.ask(WAITING).len() == 1);
        // Meanwhile it has what is free.
        let has_free = other.lane("d").is_some();
        is_free.store(true, Ordering::Release);
        drop(lanes);
        waiting.join().unwrap() && has_free
    })
}

#[test]
fn a_lane_that_is_not_left_when_it_should_be_ends_with_its_connection() {
    let database = Database::new();
    PostgresStore::grant(&database.url, DAEMON_ROLE).unwrap();
    let one = PostgresStore::open(&database.url_of_daemon()).unwrap();
    let other = database.open();
    let leave = "FUNCTION pg_advisory_unlock(int, int)";
    database.ask(&format!("REVOKE EXECUTE ON {leave} FROM PUBLIC"));
    // Whoever is held up for 2 seconds has none, and another try.
    let lane = (0..5).find_map(|_| one.lane("a"));
    assert!(lane.is_some());
    drop(lane);
    soon(|| other.lane("a").is_some());
    // It has another connection for the next one.
    soon(|| one.lane("a").is_some());
}

#[test]
fn nobody_takes_turns_with_oneself() {
    let database = Database::new();
    let one = database.open();
    let runtime = Builder::new_current_thread().build().unwrap();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Looks find what is committed before the daemon has its answer.
            while !ended.load(Ordering::Acquire) {
                if let Some(caught_up) = one.catch_up(Reads::Strict) {
                    runtime.block_on(caught_up).unwrap();
                }
            }
        });
        let taken = (0..500).filter(|_| {
            let written = one.commit(of_write("k", Expect::Anything, Some("1")));
            written.is_err() || one.lane_if_shared("k").is_some()
        });
        let taken = taken.count();
        ended.store(true, Ordering::Release);
        assert_eq!(taken, 0);
    });
    // It knows of nothing that was written before it was here.
    let other = database.open();
    // For a tenth of a second.
    soon(|| {
        other
            .commit(of_write("k", Expect::Anything, Some("2")))
            .unwrap();
        if let Some(caught_up) = one.catch_up(Reads::Strict) {
            runtime.block_on(caught_up).unwrap();
        }
        one.lane_if_shared("k").is_some()
    });
    assert!(other.lane_if_shared("k").is_none());
}
