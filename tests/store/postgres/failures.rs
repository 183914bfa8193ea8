//! Lost connections: nothing is lost with them, and nothing done twice.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use siteconf::base::limits::{BATCHES_PER_TRANSACTION_MAX, BATCHES_WAITING_MAX};
use siteconf::store::postgres::PostgresStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::{Expect, Store, StoreError, Writes};

use super::large::soon;
use super::order::edit;
use super::proxy::{Cut, Proxy};
use super::snapshot::END;
use super::{assert_counted, count};
use crate::fixture::{of_write, value};
use crate::server::{Database, try_ask};

const WRITERS: usize = 8;
const COUNTED: u64 = 30;
/// How often the server ends all connections.
const KILLS: usize = 3;

/// Lets these count over a store at once, each in a record of its own.
fn count_in_all(store: &dyn Store, writers: Range<usize>) {
    thread::scope(|scope| {
        for writer in writers {
            scope.spawn(move || count(store, &format!("count/{writer}"), COUNTED));
        }
    });
}

#[test]
fn a_commit_whose_answer_is_lost_is_made_once() {
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    proxy.cut(Cut::EveryThird);
    count_in_all(&store, 0..WRITERS);
    assert!(proxy.lost() >= 9, "{} were lost", proxy.lost());
    assert_counted(&database, WRITERS, COUNTED);
}

#[test]
fn a_refusal_whose_answer_is_lost_stays_one() {
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    proxy.cut(Cut::EveryThird);
    for _ in 0..10 {
        let refused = store.commit(of_write("k", Expect::Absent, Some("2")));
        assert!(matches!(refused, Err(StoreError::Conflict { key }) if key == "k"));
    }
    assert!(proxy.lost() >= 3);
    assert_eq!(store.last_version().unwrap(), 1);
}

#[test]
fn what_may_have_been_made_before_its_connection_was_lost_is_in_doubt_and_not_refused() {
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    thread::scope(|scope| {
        // As a commit does that waits for a standby.
        let held = scope.spawn(|| {
            let hold = "SELECT pg_advisory_lock(1936290915, 1); SELECT pg_sleep(60)";
            drop(try_ask(&database.url, hold));
        });
        let asked = |lock: &str| {
            let waits = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = '{lock}' AND datname = current_database()"
            );
            soon(|| database.ask(&waits) != ["0"]);
        };
        asked("PgSleep");
        let commit = scope.spawn(|| store.commit(of_write("k", Expect::Anything, Some("2"))));
        asked("advisory");
        proxy.cut(Cut::All);
        proxy.cut(Cut::Never);
        let told = commit.join().unwrap();
        assert!(matches!(told, Err(StoreError::InDoubt)), "{told:?}");
        database.ask(END);
        held.join().unwrap();
    });
}

#[test]
fn whoever_comes_when_as_many_wait_as_may_is_refused_at_once() {
    /// One more than wait, and are under way.
    const WRITERS: usize = BATCHES_WAITING_MAX + BATCHES_PER_TRANSACTION_MAX + 1;
    const HOLD: &str = "BEGIN; LOCK TABLE siteconf.record; SELECT pg_sleep(60)";
    let database = Database::new();
    // What is under way has no outcome before so many have come, however long they take.
    database.ask("ALTER FUNCTION siteconf.commit_v2 SET lock_timeout = 0");
    let store = database.open();
    // From now on it has its connection.
    store
        .commit(of_write("first", Expect::Absent, Some("1")))
        .unwrap();
    let of_type = |kind: &str| {
        let waiting = format!(
            "SELECT pid FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = '{kind}'"
        );
        database.ask(&waiting).len()
    };
    thread::scope(|scope| {
        // It is ended while it sleeps.
        scope.spawn(|| drop(try_ask(&database.url, HOLD)));
        soon(|| of_type("Timeout") == 1);
        let (sender, outcomes) = channel();
        for number in 0..WRITERS {
            let (store, sender) = (&store, sender.clone());
            scope.spawn(move || {
                let write = of_write(&number.to_string(), Expect::Absent, Some("1"));
                sender.send(store.commit(write)).unwrap();
            });
        }
        drop(sender);
        let first = outcomes.recv().unwrap();
        assert!(matches!(first, Err(StoreError::Busy)), "{first:?}");
        // Nobody else was told anything yet.
        soon(|| of_type("Lock") == 1);
        database.ask(END);
        for outcome in outcomes {
            assert!(
                matches!(
                    outcome,
                    Ok(_) | Err(StoreError::Busy | StoreError::LockInTheWay)
                ),
                "{outcome:?}"
            );
        }
    });
}

#[test]
fn connections_that_the_server_ends_are_made_again() {
    let database = Database::new();
    let store = database.open();
    let (has_ended, killed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut writers = 0;
    thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut next = 8;
            while !has_ended.load(Ordering::Acquire) {
                // As soon as they have got on: a connection takes longer to make than a commit.
                let all = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE application_name = 'siteconf' AND datname = current_database()
                         AND (SELECT max(version) FROM siteconf.change) >= {next}"
                );
                if !database.ask(&all).is_empty() {
                    killed.fetch_add(1, Ordering::Relaxed);
                    next += 8;
                }
            }
        });
        let counted = catch_unwind(AssertUnwindSafe(|| {
            // On a busy machine many commits are made between two of its looks.
            while killed.load(Ordering::Relaxed) < KILLS && !killer.is_finished() {
                let from = writers;
                writers += WRITERS;
                count_in_all(&store, from..writers);
            }
        }));
        has_ended.store(true, Ordering::Release);
        counted.unwrap();
    });
    assert_counted(&database, writers, COUNTED);
}

#[test]
fn nothing_is_answered_from_memory_without_the_database_and_all_is_well_with_it_again() {
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = RecordCache::new(PostgresStore::open(&database.url_at(proxy.port)).unwrap());
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    assert_eq!(value(&store, "k").as_deref(), Some("1"));
    proxy.cut(Cut::All);
    let began = Instant::now();
    // Until the last look is too old.
    while began.elapsed() < Duration::from_millis(25) && store.record("k").is_ok() {}
    thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(store.record("k"), Err(StoreError::Unavailable))));
        scope.spawn(|| {
            let refused = store.commit(of_write("k", Expect::Anything, Some("2")));
            assert!(matches!(
                refused,
                Err(StoreError::Unavailable | StoreError::InDoubt)
            ));
        });
        scope.spawn(|| {
            let refused = store.inner().record("k");
            assert!(matches!(refused, Err(StoreError::Unavailable)));
        });
    });
    proxy.cut(Cut::Never);
    // Refused at once, until it is found to be there again.
    let patience = Instant::now() + Duration::from_secs(30);
    while store.writes() != Writes::Taken {
        assert!(Instant::now() < patience);
        thread::sleep(Duration::from_millis(5));
    }
    store
        .commit(of_write("k", Expect::Anything, Some("3")))
        .unwrap();
    assert_eq!(value(&store, "k").as_deref(), Some("3"));
}

#[test]
fn connections_over_which_nothing_comes_any_more_hold_nobody_up_once_the_database_answers_over_others()
 {
    /// The bar of a failover, and what a busy machine takes. One that stands still meanwhile has another try.
    const REPLACED_WITHIN: Duration = Duration::from_secs(10);
    let mut took = Vec::new();
    let is_soon = (0..3).any(|_| {
        took.push(replace_connections());
        took.last() < Some(&REPLACED_WITHIN)
    });
    assert!(is_soon, "{took:?}");
}

/// How long it takes until all is answered over other connections than those over which nothing comes any more; for
/// ever where it cannot be told.
fn replace_connections() -> Duration {
    /// Each has a connection of its own.
    const READERS: usize = 4;
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    let write = |value| store.commit(of_write("k", Expect::Anything, Some(value)));
    write("1").unwrap();
    let read = || store.record("k").map(|found| found.is_some());
    for _ in 0..READERS {
        assert!(read().unwrap());
    }
    let began = Instant::now();
    proxy.silence();
    let made = thread::scope(|scope| {
        // What was sent is asked about: it is made, once.
        let made = scope.spawn(|| write("2"));
        for _ in 0..READERS {
            scope.spawn(|| assert!(matches!(read(), Ok(true) | Err(StoreError::Unavailable))));
        }
        made.join().unwrap()
    });
    if let Err(refused) = made {
        // It came only when the database was known to be away, and was not sent.
        assert!(matches!(refused, StoreError::Unavailable), "{refused}");
        return Duration::MAX;
    }
    while store.writes() != Writes::Taken {
        thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..READERS {
        assert!(read().unwrap());
    }
    write("3").unwrap();
    let took = began.elapsed();
    assert_eq!(value(&store, "k").as_deref(), Some("3"));
    let made = "SELECT count(*) FROM siteconf.change WHERE key = 'k'";
    assert_eq!(database.ask(made), ["3"]);
    took
}

#[test]
fn a_connection_over_which_nothing_comes_any_more_holds_nobody_up_while_others_are_sound() {
    /// An answer is waited for 11 seconds; the rest is what a busy machine takes. One that stands still meanwhile has
    /// another try.
    const PATIENCE: Duration = Duration::from_secs(9);
    let mut took = Vec::new();
    let is_soon = (0..3).any(|_| {
        took.push(read_beside_a_silent_connection());
        took.last().is_some_and(|[at_once, then]| {
            // Nothing is asked over it any more: each time would take another second.
            *at_once < PATIENCE && *then < Duration::from_secs(10)
        })
    });
    assert!(is_soon, "{took:?}");
}

/// How long it takes to read at once, and then one by one; for ever where some are refused: they came late, when so
/// many waited for the silent connection already that no more may.
fn read_beside_a_silent_connection() -> [Duration; 2] {
    /// More than are asked over one connection.
    const READERS: usize = 24;
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    let write = of_write("k", Expect::Anything, Some("1"));
    store.commit(write).unwrap();
    let is_read = || match store.record("k") {
        Ok(found) => {
            assert_eq!(found.unwrap().value, "1");
            true
        }
        Err(refused) => {
            assert!(matches!(refused, StoreError::Unavailable), "{refused}");
            false
        }
    };
    proxy.silence_at("siteconf.record WHERE key = ");
    let began = Instant::now();
    let are_read = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(is_read)).collect();
        readers.into_iter().all(|reader| reader.join().unwrap())
    });
    let at_once = began.elapsed();
    let began = Instant::now();
    if are_read && (0..READERS).all(|_| is_read()) {
        [at_once, began.elapsed()]
    } else {
        [Duration::MAX; 2]
    }
}

#[test]
fn a_database_that_no_longer_has_what_it_had_is_not_used() {
    // Also where nobody has looked since its last commit.
    for was_read in [true, false] {
        let database = Database::new();
        let store = RecordCache::new(database.open());
        for number in ["1", "2"] {
            let write = of_write("k", Expect::Anything, Some(number));
            store.commit(write).unwrap();
        }
        if was_read {
            store.settle();
            assert_eq!(value(&store, "k").as_deref(), Some("2"));
        }
        database.ask("DELETE FROM siteconf.change WHERE version > 1");
        let write = of_write("k", Expect::Anything, Some("3"));
        assert_went_back(&store.commit(write).unwrap_err());
        store.settle();
        assert_went_back(&store.record("k").unwrap_err());
        assert_eq!(store.writes(), Writes::WentBack);
    }
}

#[test]
fn a_database_in_which_others_have_written_over_what_was_lost_is_not_used() {
    // Also the same records, which those of the audit are whoever writes them.
    for other in ["key = 'other', writer = 1", "writer = 1", "writer = NULL"] {
        for was_read in [true, false] {
            let database = Database::new();
            let store = RecordCache::new(database.open());
            for number in ["1", "2"] {
                let write = of_write("k", Expect::Anything, Some(number));
                store.commit(write).unwrap();
            }
            if was_read {
                store.settle();
                assert_eq!(value(&store, "k").as_deref(), Some("2"));
            }
            database.ask(&format!(
                "UPDATE siteconf.change SET {other} WHERE version = 2;
                 INSERT INTO siteconf.change (version, key) VALUES (3, 'another')"
            ));
            store.settle();
            assert_went_back(&store.record("k").unwrap_err());
            let write = of_write("k", Expect::Anything, Some("3"));
            assert_went_back(&store.commit(write).unwrap_err());
        }
    }
}

#[track_caller]
fn assert_went_back(refused: &StoreError) {
    let refused = refused.to_string();
    assert!(
        refused.starts_with("the database cannot be used: it no longer has changes"),
        "{refused}"
    );
}

/// So the server tells that somebody has ended its wait for a standby.
#[test]
fn a_commit_that_the_server_warns_of_is_in_doubt() {
    let database = Database::new();
    let store = database.open();
    let commit = || store.commit(of_write("k", Expect::Anything, Some("1")));
    commit().unwrap();
    let warns = "RAISE WARNING 'canceling wait'; IF kinds <> nothing THEN";
    edit(&database, &[("IF kinds <> nothing THEN", warns)]);
    assert!(matches!(commit(), Err(StoreError::InDoubt)));
    // Also where whoever maintains the database wants to see no warnings.
    let unseen = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_min_messages = error', \
                  current_database()); END $$";
    database.ask(unseen);
    let other = database.open();
    let other = other.commit(of_write("k", Expect::Anything, Some("1")));
    assert!(matches!(other, Err(StoreError::InDoubt)));
    // That it stops is no doubt.
    let stops = "RAISE WARNING 'a crash' USING ERRCODE = '57P02'; ";
    edit(&database, &[("RAISE WARNING 'canceling wait'; ", stops)]);
    commit().unwrap();
    edit(&database, &[(stops, "")]);
    commit().unwrap();
    assert_eq!(store.last_version().unwrap(), 5);
}
