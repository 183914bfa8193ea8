//! Who takes turns at what others change, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use siteconf::base::reads::Reads;
use siteconf::store::{Expect, Store as _};
use tokio::runtime::Builder;

use super::large::soon;
use crate::fixture::of_write;
use crate::server::Database;

const WAITING: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_advisory_lock(1936290916,%' AND wait_event = 'advisory'";

#[test]
fn a_daemon_has_any_number_of_lanes_and_others_wait_for_those() {
    let database = Database::new();
    let (one, other) = (database.open(), database.open());
    let lanes = ["a", "b", "c"].map(|key| one.lane(key).unwrap());
    let is_taken = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let lane = other.lane("b");
            is_taken.store(true, Ordering::Release);
            assert!(lane.is_some());
        });
        soon(|| database.ask(WAITING).len() == 1);
        // Meanwhile it has what is free.
        drop(other.lane("d").unwrap());
        assert!(!is_taken.load(Ordering::Acquire));
        drop(lanes);
    });
    assert!(is_taken.load(Ordering::Acquire));
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
