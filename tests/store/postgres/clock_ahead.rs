//! What the clock of the database has left that was ahead for a time, now that it is right.

use siteconf::store::inspection::{Inspectable as _, Service};

use super::large::{open, soon};
use crate::bucket::TestBucket;
use crate::server::Database;

#[test]
fn a_bucket_that_was_swept_in_time_to_come_is_swept_and_its_trash_goes_in_its_days() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    database.ask(
        "UPDATE siteconf.sweep SET at = now() + interval '10 years';
         INSERT INTO siteconf.trash VALUES ('2020-01-01/ahead', now() + interval '10 years'),
             ('2020-01-01/old', now() - interval '1 day')",
    );
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    store.keep_bucket();
    soon(|| database.ask("SELECT at <= now() FROM siteconf.sweep") == ["t"]);
    let young = "SELECT place FROM siteconf.trash WHERE since <= now() AND since > now() - interval '1 hour'";
    assert_eq!(database.ask(young), ["2020-01-01/ahead"]);
}

#[test]
fn a_pin_that_was_renewed_in_time_to_come_stands_no_longer_than_others() {
    let database = Database::new();
    database.ask("SELECT siteconf.pin_v1('held', 600)");
    let put_off = |by: &str| {
        database.ask(&format!("UPDATE siteconf.pin SET until = until {by}"));
    };
    let raise = || drop(database.ask("SELECT siteconf.raise_v1()"));
    put_off("+ interval '10 years'");
    raise();
    let stands = "SELECT until <= now() + interval '10 minutes' FROM siteconf.pin";
    assert_eq!(database.ask(stands), ["t"]);
    put_off("- interval '11 minutes'");
    raise();
    assert_eq!(database.ask(stands), [""; 0]);
}

#[test]
fn a_daemon_that_was_there_in_time_to_come_is_not_there() {
    let database = Database::new();
    let store = database.open();
    let seen = || match store.service().unwrap() {
        Service::Daemons(seen) => seen.len(),
        Service::Process(_) => unreachable!("it lies in a database"),
    };
    let beat = "SELECT siteconf.beat_v3('one', 'one', '1', NULL, NULL)";
    let go_ahead = "UPDATE siteconf.daemon SET began = now() + interval '1 day', at = now() + interval '1 day'";
    database.ask(beat);
    assert_eq!(seen(), 1);
    database.ask(go_ahead);
    assert_eq!(seen(), 0);
    // One that goes on is there again, and began at no later time.
    database.ask(beat);
    assert_eq!(seen(), 1);
    let began = "SELECT began <= now() FROM siteconf.daemon";
    assert_eq!(database.ask(began), ["t"]);
    database.ask(go_ahead);
    database.ask("SELECT siteconf.forget_daemons_v1()");
    assert_eq!(database.ask(began), [""; 0]);
}
