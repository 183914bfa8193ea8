//! A primary that its synchronous standby no longer follows, as one is whose place the standby has taken: it
//! would go on to answer reads.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{Cluster, until};
use crate::daemon::{file, siteconf_at};
use crate::proxy::Proxy;
use crate::store::Store;

/// How many daemons were heard of since they last had to be.
const JUST_SIGNED: &str =
    "SELECT count(*) FROM siteconf.daemon WHERE at > now() - interval '1200 milliseconds'";

#[test]
fn what_a_primary_without_its_standby_tells_is_refused_after_3_seconds() {
    let mut cluster = Cluster::start();
    let mut store = Store::make(&cluster, 2, &[]);
    let mut admin = store.admin_at(0);
    let kind = "application/octet-stream";
    let put = |admin: &mut crate::client::Client| {
        let saved = admin.attempt("PUT", &file("a.txt"), kind, b"a");
        saved.unwrap().status
    };
    assert_eq!(put(&mut admin), 201);
    cluster.add_standby();
    let mut readers = [0, 1].map(|daemon| store.admin_at(daemon));
    for turn in 0..2 {
        // Each has just been told that it is believed, for 3 seconds.
        until(|| store.ask(&cluster, JUST_SIGNED) == ["2"]);
        let cut = Instant::now();
        cluster.cut_standby_off();
        for reader in &mut readers {
            until(|| reader.get(&file("a.txt")).status == 503);
        }
        // With the time that a sign of life may have been under way, and one been late.
        let took = cut.elapsed();
        assert!(
            took > Duration::from_secs(1) && took < Duration::from_secs(12),
            "{took:?}"
        );
        assert_eq!(readers[0].get("/readyz").status, 503);
        assert_eq!(put(&mut admin), 503);
        cluster.join_standby();
        for reader in &mut readers {
            until(|| reader.get(&file("a.txt")).status == 200);
        }
        until(|| [200, 201].contains(&put(&mut admin)));
        assert_eq!(
            store.ask(&cluster, "SELECT count(*) FROM siteconf.daemon"),
            ["2"],
            "{turn}"
        );
    }

    // Nobody has to remove the row of one that was killed.
    let aged = "UPDATE siteconf.daemon SET at = at - interval '2 minutes'";
    store.daemons[0].kill();
    store.ask(&cluster, aged);
    until(|| store.ask(&cluster, "SELECT count(*) FROM siteconf.daemon") == ["1"]);
}

#[test]
fn what_a_primary_tells_whose_place_was_taken_counts_no_more_where_connections_to_it_stay() {
    let mut cluster = Cluster::start();
    let proxy = Proxy::new(cluster.socket());
    let mut store = Store::make_at(&cluster, 1, &[], &|database| {
        format!("postgres://siteconf@127.0.0.1:{}/{database}", proxy.port)
    });
    let kind = "application/octet-stream";
    let put = |admin: &mut crate::client::Client, bytes: &[u8]| {
        let saved = admin.attempt("PUT", &file("a.txt"), kind, bytes);
        saved.unwrap().status
    };
    let mut reader = store.admin_at(0);
    assert_eq!(put(&mut reader, b"a"), 201);
    assert_eq!(reader.get(&file("a.txt")).body, b"a");
    cluster.add_standby();
    cluster.replace();
    proxy.lead_to(cluster.socket());
    store.add_at(&|database| cluster.url_of_primary(database));
    let mut other = store.admin_at(1);
    assert_eq!(put(&mut other, b"b"), 200);
    // For 3 seconds it may be believed; afterwards nothing is told that it has not.
    until(|| reader.get(&file("a.txt")).status == 503);
    until(|| reader.get(&file("a.txt")).status == 200);
    for bytes in [b"b", b"c", b"d"] {
        assert_eq!(reader.get(&file("a.txt")).body, bytes);
        let next = [bytes[0] + 1];
        assert_eq!(put(&mut other, &next), 200);
        until(|| reader.get(&file("a.txt")).body == next);
    }
    assert_eq!(put(&mut reader, b"f"), 200);
    until(|| other.get(&file("a.txt")).body == b"f");
}

#[test]
fn a_change_whose_connection_ends_is_told_of_once_the_standby_has_it() {
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let mut admin = store.admin_at(0);
    cluster.add_standby();
    cluster.cut_standby_off();
    let put = thread::spawn(move || {
        let saved = admin.attempt("PUT", &file("a.txt"), "application/octet-stream", b"a");
        saved.unwrap().status
    });
    let waits_for_standby = |function: &str| {
        cluster.ask(
            "postgres",
            &format!(
                "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%{function}%'"
            ),
        )
    };
    until(|| !waits_for_standby("commit_v2").is_empty());
    let committed = waits_for_standby("commit_v2");
    cluster.ask(
        "postgres",
        &format!("SELECT pg_terminate_backend({})", committed[0]),
    );
    until(|| !waits_for_standby("confirm_v1").is_empty());
    assert!(!put.is_finished());
    cluster.join_standby();
    assert_eq!(put.join().unwrap(), 201);
    let mut admin = store.admin_at(0);
    cluster.fail_over();
    until(|| admin.get(&file("a.txt")).status == 200);
}

#[test]
fn the_status_tells_whether_the_standby_follows_that_commits_wait_for() {
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let status = || -> (Option<i32>, Value) {
        let ran = siteconf_at(&store.flags)
            .args(["status", "--json"])
            .output()
            .unwrap();
        let mut shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let told = ["standby", "writes_refused", "findings"].map(|name| shown[name].take());
        (ran.status.code(), told.into())
    };
    let unasked = json!({ "wanted": 0, "following": 0 });
    assert_eq!(status(), (Some(0), json!([unasked, null, []])));
    cluster.add_standby();
    let follows = json!({ "wanted": 1, "following": 1 });
    assert_eq!(status(), (Some(0), json!([follows, null, []])));
    for (names, wanted, following) in [
        ("absent", 1, 0),
        ("FIRST 2 (*)", 2, 1),
        ("any 1(absent)", 1, 0),
        ("3 (*)", 3, 1),
    ] {
        let asked = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        cluster.ask("postgres", &asked);
        cluster.ask("postgres", "SELECT pg_reload_conf()");
        let too_few = json!({ "wanted": wanted, "following": following });
        until(|| status().1[0] == too_few);
        let why = format!(
            "at each commit the server waits for {wanted}, as its setting synchronous_standby_names says, and \
             {following} follow"
        );
        let finding =
            format!("changes are refused until enough synchronous standbys follow: {why}");
        assert_eq!(status(), (Some(1), json!([too_few, why, [finding]])));
    }
}
