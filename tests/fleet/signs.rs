//! A primary that its synchronous standby no longer follows, as one is whose place the standby has taken: it
//! would go on to answer reads.

use std::collections::BTreeSet;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::cluster::{Cluster, until};
use crate::daemon::{file, siteconf_at};
use crate::proxy::Proxy;
use crate::store::{Store, ran, save, settled};

/// When each daemon last gave a sign of life, by what the connections did last that do so.
const SIGNS: &str = "SELECT state_change FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle'
    AND query ~ 'beat_v3|emit_message|siteconf.daemon WHERE id ='";
const ROWS: &str = "SELECT at FROM siteconf.daemon";
const SIGNED: &str = "SELECT count(*) FROM siteconf.daemon";

fn put(client: &mut Client) -> Answer {
    let (file, kind) = (file("a.txt"), "application/octet-stream");
    client.attempt("PUT", &file, kind, b"a").unwrap()
}

#[test]
fn what_a_primary_without_its_standby_tells_is_refused_after_3_seconds() {
    // With the time that a sign of life may have been under way, and one been late.
    let bounds = Duration::from_secs(1)..Duration::from_secs(12);
    let mut cluster = Cluster::start();
    let mut store = Store::make(&cluster, 2, &[]);
    save(&mut store.admin_at(0), "a.txt", b"a");
    cluster.add_standby();
    let mut readers = [0, 1].map(|daemon| store.admin_at(daemon));
    for turn in 0..2 {
        let mut took = Vec::new();
        // A daemon that is held up just then was heard of earlier than it seems, or is late: then once more.
        let is_in_time = (0..5).any(|_| {
            took.push(refused_after(&cluster, &store, &mut readers));
            took.last().is_some_and(|took| bounds.contains(took))
        });
        assert!(is_in_time, "{turn}: {took:?}");
        assert_eq!(store.ask(&cluster, SIGNED), ["2"], "{turn}");
    }

    // Nobody has to remove the row of one that was killed.
    let aged = "UPDATE siteconf.daemon SET at = at - interval '2 minutes'";
    store.daemons[0].kill();
    store.ask(&cluster, aged);
    until(|| store.ask(&cluster, SIGNED) == ["1"]);
}

/// How long after the standby was cut off nothing is told any more. All is told again when it ends.
fn refused_after(cluster: &Cluster, store: &Store, readers: &mut [Client; 2]) -> Duration {
    // Each has just been told that it is believed, for 3 seconds.
    let just_signed = format!(
        "SELECT count(*) FROM ({SIGNS}) signs
         WHERE state_change > now() - interval '1200 milliseconds'"
    );
    until(|| store.ask(cluster, &just_signed) == ["2"]);
    let cut = Instant::now();
    cluster.cut_standby_off();
    for reader in &mut *readers {
        until(|| reader.get(&file("a.txt")).status == 503);
    }
    let took = cut.elapsed();
    until(|| readers[0].get("/readyz").status == 503);
    assert_eq!(put(&mut readers[0]).status, 503);
    cluster.join_standby();
    for reader in &mut *readers {
        until(|| reader.get(&file("a.txt")).status == 200);
    }
    until(|| [200, 201].contains(&put(&mut readers[0]).status));
    took
}

#[test]
fn a_daemon_gives_many_signs_of_life_for_each_writing_of_its_row() {
    let cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let (mut signs, mut rows) = (BTreeSet::new(), BTreeSet::new());
    // Of a writing two statements may be seen.
    until(|| {
        signs.extend(store.ask(&cluster, SIGNS));
        rows.extend(store.ask(&cluster, ROWS));
        rows.len() > 1 && signs.len() >= 3 * rows.len()
    });
}

#[test]
fn what_a_primary_tells_whose_place_was_taken_counts_no_more_where_connections_to_it_stay() {
    /// It may be believed for 3 seconds; the rest is what a busy machine takes.
    const BELIEVED_FOR: Duration = Duration::from_secs(5);
    let mut cluster = Cluster::start();
    let proxy = Proxy::new(cluster.socket());
    let mut store = Store::make_at(&cluster, 1, &[], &|database| {
        format!("postgres://siteconf@127.0.0.1:{}/{database}", proxy.port)
    });
    let mut reader = store.admin_at(0);
    save(&mut reader, "a.txt", b"a");
    assert_eq!(settled(|| reader.get(&file("a.txt"))).body, b"a");
    cluster.add_standby();
    cluster.replace();
    let replaced = Instant::now();
    proxy.lead_to(cluster.socket());
    store.add_at(&|database| cluster.url_of_primary(database));
    let mut other = store.admin_at(1);
    save(&mut other, "a.txt", b"b");
    // What is asked for later is told as it is, or refused.
    until(|| {
        let asked = replaced.elapsed();
        let found = reader.get(&file("a.txt")).body;
        assert!(found != b"a" || asked < BELIEVED_FOR, "{asked:?}");
        found == b"b"
    });
    for bytes in [b"b", b"c", b"d"] {
        assert_eq!(settled(|| reader.get(&file("a.txt"))).body, bytes);
        let next = [bytes[0] + 1];
        save(&mut other, "a.txt", &next);
        until(|| reader.get(&file("a.txt")).body == next);
    }
    save(&mut reader, "a.txt", b"f");
    until(|| other.get(&file("a.txt")).body == b"f");
}

#[test]
fn a_change_whose_connection_ends_is_told_of_once_the_standby_has_it() {
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    cluster.add_standby();
    // A daemon that is held up refuses it and sends nothing: then once more.
    let waiting = (0..5).find_map(|_| put_that_waits(&cluster, &store));
    let (put, commit) = waiting.expect("it is not refused each time");
    let end = format!("SELECT pg_terminate_backend({commit})");
    cluster.ask("postgres", &end);
    until(|| waits_for_standby(&cluster, "confirm_v1").is_some());
    assert!(!put.is_finished());
    cluster.join_standby();
    let told = put.join().unwrap();
    // Where it is too late to read what came of it, that it was made is told all the same.
    let says_made = String::from_utf8_lossy(&told.body).contains("the change was made");
    let is_made = [200, 201].contains(&told.status) || (told.status == 503 && says_made);
    assert!(is_made, "{told:?}");
    let mut admin = store.admin_at(0);
    cluster.fail_over();
    until(|| admin.get(&file("a.txt")).status == 200);
}

/// A save whose commit waits for a standby that is cut off, and the process of the server that has it. None where it
/// was refused before; the standby follows again then.
fn put_that_waits(cluster: &Cluster, store: &Store) -> Option<(JoinHandle<Answer>, String)> {
    cluster.cut_standby_off();
    let mut admin = store.admin_at(0);
    let saving = thread::spawn(move || put(&mut admin));
    let mut commit = None;
    until(|| {
        commit = waits_for_standby(cluster, "commit_v2");
        commit.is_some() || saving.is_finished()
    });
    if let Some(commit) = commit
        && !saving.is_finished()
    {
        return Some((saving, commit));
    }
    cluster.join_standby();
    assert_eq!(saving.join().unwrap().status, 503);
    let mut admin = store.admin_at(0);
    until(|| admin.get("/readyz").status == 200);
    None
}

/// The process of the server in which this function waits for the standby.
fn waits_for_standby(cluster: &Cluster, function: &str) -> Option<String> {
    let waits = format!(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%{function}%'"
    );
    cluster.ask("postgres", &waits).pop()
}

#[test]
fn the_status_tells_whether_the_standby_follows_that_commits_wait_for() {
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let status = || -> (Option<i32>, Value) {
        let ended = ran(siteconf_at(&store.flags).args(["status", "--json"]));
        let mut shown: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let told = ["standby", "writes_refused", "findings"].map(|name| shown[name].take());
        (ended.status.code(), told.into())
    };
    // What is set holds soon, and whoever is held up has the database out of reach for a moment.
    let assert_comes = |expected: (Option<i32>, Value)| {
        let patience = Instant::now() + Duration::from_mins(1);
        let mut told = status();
        while told != expected && Instant::now() < patience {
            told = status();
        }
        assert_eq!(told, expected);
    };
    let unasked = json!({ "wanted": 0, "following": 0 });
    assert_comes((Some(0), json!([unasked, null, []])));
    cluster.add_standby();
    let follows = json!({ "wanted": 1, "following": 1 });
    assert_comes((Some(0), json!([follows, null, []])));
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
        let why = format!(
            "at each commit the server waits for {wanted}, as its setting synchronous_standby_names says, and \
             {following} follow"
        );
        let finding =
            format!("changes are refused until enough synchronous standbys follow: {why}");
        assert_comes((Some(1), json!([too_few, why, [finding]])));
    }
}
