//! Deletions and restores cut off by a kill at any moment leave one of both states; forgetting that is
//! cut off is finished by a later start.

use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};

use crate::client::{Client, segment};
use crate::daemon::{Daemon, PROJECT, file, on_branch};
use crate::rounds::Rounds;
use crate::spin::spin;

const ADMIN: &str = "/site-builder/api";

/// Sends a request and kills the daemon after so many microseconds; the status, if one came.
fn kill_during(
    daemon: &mut Daemon,
    admin: &Client,
    (method, target): (&'static str, String),
    after_us: u64,
) -> Option<u16> {
    let mut client = admin.another();
    // The connection is open: what is measured is the request.
    client.get(&format!("{ADMIN}/deleted"));
    let sent = Instant::now();
    let request = thread::spawn(move || {
        let answer = client.attempt(method, &target, "", b"");
        answer.ok().map(|answer| answer.status)
    });
    spin(Duration::from_micros(after_us).saturating_sub(sent.elapsed()));
    daemon.kill();
    request.join().unwrap()
}

fn deleted(admin: &mut Client) -> Vec<Value> {
    let listed = admin.get(&format!("{ADMIN}/deleted"));
    assert_eq!(listed.status, 200, "{listed:?}");
    listed.json().as_array().unwrap().clone()
}

/// True if the branch is there, whole; false if it is deleted, whole.
#[track_caller]
fn is_there(admin: &mut Client, saved: u64) -> bool {
    let history = admin.get(&on_branch("/history"));
    let listed = deleted(admin);
    match history.status {
        200 => {
            assert_eq!(listed, [Value::Null; 0]);
            assert_eq!(history.json().as_array().unwrap().len() as u64, saved);
            let newest = admin.get(&file("a.xml")).body;
            assert_eq!(newest, saved.to_string().as_bytes());
            true
        }
        404 => {
            assert_eq!(listed.len(), 1, "{listed:?}");
            assert_eq!(listed[0]["repo_id"], PROJECT);
            false
        }
        _ => panic!("{history:?}"),
    }
}

/// Times a deletion and a restore that nobody cuts off, in microseconds: the middle one of a few, as a pause of
/// this machine may be in any.
fn whole_us(admin: &mut Client) -> u64 {
    let project = format!("{ADMIN}/projects/{}", segment(PROJECT));
    let mut lasted = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let gone = admin.attempt("DELETE", &project, "", b"").unwrap();
        lasted.push(began.elapsed());
        assert_eq!(gone.status, 204);
        let id = deleted(admin)[0]["id"].as_str().unwrap().to_owned();
        let began = Instant::now();
        let back = admin.post(&format!("{ADMIN}/deleted/{id}/restore"), &json!({}));
        lasted.push(began.elapsed());
        assert_eq!(back.status, 200);
    }
    lasted.sort_unstable();
    u64::try_from(lasted[lasted.len() / 2].as_micros()).unwrap()
}

#[test]
fn a_deletion_or_a_restore_that_is_cut_off_is_done_or_not() {
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let reader = daemon.reader(&mut admin).credential;
    // Half of the kills come before the end of what they cut off, on any disk: the range follows what came of them.
    let mut range_us = 2 * whole_us(&mut admin);
    let (mut done, mut not) = (0, 0);
    let mut saved: u64 = 0;
    let rounds = Rounds::or(40);
    for round in 0..rounds.count {
        let there = saved > 0 && !is_there(&mut admin, saved);
        if !there {
            saved += 1;
            let text = saved.to_string();
            let answer = admin.attempt("PUT", &file("a.xml"), "text/plain", text.as_bytes());
            assert!(matches!(answer.unwrap().status, 200 | 201));
        }
        let was_there = !there;
        let request = if was_there {
            let project = format!("{ADMIN}/projects/{}", segment(PROJECT));
            let target = if round % 4 < 2 {
                project
            } else {
                on_branch("")
            };
            ("DELETE", target)
        } else {
            let listed = deleted(&mut admin);
            let id = listed[0]["id"].as_str().unwrap();
            ("POST", format!("{ADMIN}/deleted/{id}/restore"))
        };
        let after_us = rounds.random(round).random_range(0..range_us);
        let told = kill_during(&mut daemon, &admin, request, after_us);
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        let is_done = is_there(&mut admin, saved) != was_there;
        match told {
            Some(200 | 204) => assert!(is_done, "{round}: it was acknowledged"),
            None => {}
            Some(other) => panic!("{round}: {other}"),
        }
        if is_done {
            done += 1;
            range_us = (range_us * 4 / 5).max(1);
        } else {
            not += 1;
            range_us += range_us / 4 + 1;
        }
        // What the token opens follows.
        let project = admin.get(&format!("{ADMIN}/projects/{}", segment(PROJECT)));
        let branches = daemon.again(&reader).get(&crate::daemon::read("/branches"));
        assert!(matches!(branches.status, 200 | 404), "{branches:?}");
        assert_eq!(branches.status, project.status);
    }
    assert!(
        done > 0 && not > 0,
        "{done} done, {not} not of {range_us} us"
    );
    let check = daemon.command(&["debug", "check"]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn forgetting_that_is_killed_is_finished_by_a_later_start() {
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let branches = format!("{ADMIN}/projects/{}/branches", segment(PROJECT));
    let rounds = Rounds::or(12);
    for round in 0..rounds.count {
        for number in 0..60 {
            let name = format!("b{number}");
            let made = admin.post(&branches, &json!({ "name": name, "from": "main" }));
            assert_eq!(made.status, 201, "{made:?}");
            let target = format!("{branches}/{name}/files/a.xml");
            let saved = admin.attempt("PUT", &target, "text/plain", name.as_bytes());
            assert_eq!(saved.unwrap().status, 201);
            let gone = admin.attempt("DELETE", &format!("{branches}/{name}"), "", b"");
            assert_eq!(gone.unwrap().status, 204);
        }
        daemon.kill_and_restart_with(&["--keep-deleted-days", "0"]);
        let moment = rounds.random(round).random_range(0..20_000);
        spin(Duration::from_micros(moment));
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        // What is still listed comes back whole; what is not is gone.
        if let Some(first) = deleted(&mut admin).first() {
            let name = first["branch"].as_str().unwrap();
            let id = first["id"].as_str().unwrap();
            let back = admin.post(&format!("{ADMIN}/deleted/{id}/restore"), &json!({}));
            assert_eq!(back.status, 200, "{back:?}");
            let read = admin.get(&format!("{branches}/{name}/files/a.xml"));
            assert_eq!(read.body, name.as_bytes());
            let gone = admin.attempt("DELETE", &format!("{branches}/{name}"), "", b"");
            assert_eq!(gone.unwrap().status, 204);
        }
        let check = daemon.command(&["debug", "check"]).output().unwrap();
        assert!(check.status.success(), "{check:?}");
    }
    daemon.kill_and_restart_with(&["--keep-deleted-days", "0"]);
    admin = daemon.again(&admin.credential);
    let patience = Instant::now() + Duration::from_mins(1);
    while !deleted(&mut admin).is_empty() {
        assert!(Instant::now() < patience, "they are never forgotten");
    }
    assert_eq!(admin.get(&on_branch("/history")).status, 200);
}
