//! What a daemon tells of a database that could do better, and of clocks that differ.

use std::time::Duration;

use super::Fleet;
use super::away::until;
use super::refusals::{finding, status};
use crate::harness::{Daemon, Place, own_folder, soon};

/// Has the clock of the database be ahead, for who compares it.
const SHIFT: &str = "
    CREATE FUNCTION public.shift() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.at := now() + interval '40.9 seconds';
        RETURN NEW;
    END $$;
    CREATE TRIGGER shift BEFORE INSERT OR UPDATE ON siteconf.daemon
        FOR EACH ROW EXECUTE FUNCTION public.shift();";

#[test]
fn a_daemon_whose_clock_differs_from_the_databases_is_not_ready_and_serves() {
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let daemon = fleet.daemon(&[]);
    let ready = || daemon.anonymous().get("/readyz");
    ready().expect_status(200);
    database.ask(SHIFT);
    // Less by what an answer of the database takes.
    let behind = |of: &str| {
        let of = of.to_owned();
        (37..=40).map(move |s| format!("{of} is {s} s behind the database's; set both by NTP"))
    };
    let told = until(ready, 503).assert_refused(503);
    let mut may = behind("not ready: the clock of this machine");
    assert!(may.any(|may| told == may), "{told}");
    daemon
        .anonymous()
        .get("/site-builder/api/erp-config/health")
        .expect_status(200);
    // It takes changes: only balancers send it none.
    soon(|| status(&daemon).0 == Some(1));
    let (_, refused, found) = status(&daemon);
    assert_eq!(refused, serde_json::Value::Null);
    let mut may = behind("to be ready: the clock of its machine");
    assert!(may.any(|may| found == finding(&may)), "{found}");
    database.ask("DROP TRIGGER shift ON siteconf.daemon");
    until(ready, 200);
    soon(|| status(&daemon).0 == Some(0));
    for told in [
        "the clock of this machine differs",
        "the clock of this machine agrees",
    ] {
        soon(|| daemon.log().matches(told).count() == 1);
    }
}

#[test]
fn what_the_settings_of_the_server_leave_to_chance_is_told_at_the_start() {
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    // What its `initdb` does by itself differs.
    let lacks_checksums = usize::from(database.ask("SHOW data_checksums") == ["off"]);
    let daemon = fleet.daemon(&[]);
    let told = |setting: &str| daemon.log().matches(setting).count();
    soon(|| told("(synchronous_standby_names)") == 1);
    soon(|| told("(pg_checksums --enable)") == lacks_checksums);
    let log = daemon.log();
    assert!(!log.contains("restart_after_crash"), "{log}");
    assert!(!log.contains("cannot be read"), "{log}");
}

#[test]
fn that_the_database_is_far_away_is_told_at_the_start() {
    let fleet = Fleet::new();
    let (place, proxy) = fleet.place_by_proxy();
    proxy.move_away(Duration::from_millis(25));
    let daemon = Daemon::start_at(place, own_folder(), &[]);
    let told = daemon.logged("the database is far away");
    assert!((25..1000).contains(&told["ms"].as_u64().unwrap()), "{told}");
    daemon.anonymous().get("/readyz").expect_status(200);
}
