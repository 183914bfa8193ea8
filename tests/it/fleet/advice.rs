//! What a daemon tells of a database that could do better, and of clocks that differ.

use super::Fleet;
use super::away::until;
use crate::harness::{Place, soon};

/// Has the clock of the database be ahead, for who compares it.
const SHIFT: &str = "
    CREATE FUNCTION public.shift() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.at := now() + interval '40.5 seconds';
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
    until(ready, 503).assert_error(
        503,
        "not ready: the clock of this machine is 40 s behind the database's; set both by NTP",
    );
    daemon
        .anonymous()
        .get("/site-builder/api/erp-config/health")
        .expect_status(200);
    database.ask("DROP TRIGGER shift ON siteconf.daemon");
    until(ready, 200);
    let log = daemon.log();
    for told in [
        "the clock of this machine differs",
        "the clock of this machine agrees",
    ] {
        assert_eq!(log.matches(told).count(), 1, "{log}");
    }
}

#[test]
fn what_the_settings_of_the_server_leave_to_chance_is_told_at_the_start() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    soon(|| daemon.log().contains("(pg_checksums --enable)"));
    let log = daemon.log();
    for setting in ["(synchronous_standby_names)", "(pg_checksums --enable)"] {
        assert_eq!(log.matches(setting).count(), 1, "{log}");
    }
    assert!(!log.contains("restart_after_crash"), "{log}");
    assert!(!log.contains("cannot be read"), "{log}");
}
