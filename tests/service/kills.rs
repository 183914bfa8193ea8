//! Kills at any moment: what was acknowledged is there, and nothing is there by halves.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use rand::RngExt;
use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::{Daemon, PROJECT, on_branch};
use crate::planted;
use crate::rounds::Rounds;
use crate::writers::{Change, WRITERS, assert_history, assert_states, save};

#[test]
fn what_sixty_four_writers_were_told_survives_kills() {
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let mut all: BTreeMap<u64, Change> = BTreeMap::new();
    let rounds = Rounds::or(50);
    for round in 0..rounds.count {
        let enough = rounds.random(round).random_range(1..=101);
        let done = load_and_kill(&mut daemon, &admin, round, enough);
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        // What was under way may have been done without an answer: it is there whole.
        let count = snapshots(&mut admin);
        for (version, change) in done {
            assert!(version <= count, "v{version:04} is gone: {change:?}");
            assert_states(
                &mut admin,
                &BTreeMap::from([(version, change.clone())]),
                count,
            );
            assert!(all.insert(version, change).is_none(), "v{version:04} twice");
        }
        assert_history(&mut admin, &all, count);
    }
    assert!(all.len() as u64 > rounds.count * 4, "{} saves", all.len());
    let count = snapshots(&mut admin);
    assert_states(&mut admin, &all, count);
    let check = daemon.command(&["debug", "check"]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// Has all writers save until the daemon is killed after enough acknowledgements; gives all there were.
fn load_and_kill(
    daemon: &mut Daemon,
    admin: &Client,
    round: u64,
    enough: usize,
) -> BTreeMap<u64, Change> {
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (report, mut client) = (report.clone(), admin.another());
            scope.spawn(move || {
                for number in 0_usize.. {
                    // Files of its own, one that all write, and some too large for the database.
                    let path = match number % 3 {
                        0 => "everybody's.xml".to_owned(),
                        _ => format!("{writer}/{}.xml", number % 7),
                    };
                    let content = format!("{round}/{writer}/{number}\n");
                    let content = content.repeat(if number % 4 == 3 { 9_000 } else { 1 });
                    let Some(version) = save(&mut client, &path, content.as_bytes()) else {
                        return;
                    };
                    let change = Change {
                        operation: "save",
                        path,
                        content: Some(content.into_bytes()),
                    };
                    drop(report.send((version, change)));
                }
            });
        }
        drop(report);
        let mut done: BTreeMap<_, _> = reports.iter().take(enough).collect();
        daemon.kill();
        done.extend(reports);
        done
    })
}

/// How many snapshots the branch has.
fn snapshots(admin: &mut Client) -> u64 {
    let history = admin.get(&on_branch("/history")).json();
    history.as_array().unwrap().len() as u64
}

/// Moments in the course of an import at which one is killed.
const MOMENTS: u32 = 12;
/// Further kills, at once, where a machine that pauses has let all of these come too late.
const MORE_MOMENTS: u32 = 20;

#[test]
fn a_killed_import_is_wholly_there_or_wholly_absent() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let folder = tempfile::tempdir().unwrap();
    planted::plant(folder.path(), 1_500);
    let mut absent = 0;
    // The first import is not killed, and tells how long one takes.
    let began = Instant::now();
    daemon.import(folder.path());
    let duration = began.elapsed();
    for moment in 1..=MOMENTS + MORE_MOMENTS {
        if moment > MOMENTS && absent > 0 {
            break;
        }
        let before = snapshots(&mut admin);
        let new = folder.path().join("new.xml");
        std::fs::write(&new, moment.to_string()).unwrap();
        let mut import = daemon.command(&["import", PROJECT, "main"]);
        let mut import = import
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        // Where none was killed in time so far, as soon as can be.
        while moment <= MOMENTS && began.elapsed() < duration * moment / MOMENTS {
            std::hint::spin_loop();
        }
        import.kill().unwrap();
        import.wait().unwrap();
        let answer = admin.get(&on_branch("/files/new.xml"));
        if snapshots(&mut admin) > before {
            assert_eq!(answer.body, moment.to_string().as_bytes());
        } else {
            assert_ne!(answer.body, moment.to_string().as_bytes());
            absent += 1;
        }
    }
    assert!(absent > 0, "no import was killed in time");
    std::fs::write(folder.path().join("new.xml"), "the last").unwrap();
    daemon.import(folder.path());
    assert_eq!(admin.get(&on_branch("/files/new.xml")).body, b"the last");
    let check = daemon.command(&["debug", "check"]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// The entries of the audit log, oldest first.
pub(crate) fn log(daemon: &Daemon) -> Vec<Value> {
    let shown = daemon.command(&["audit", "--json"]).output().unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    let entry = |line| serde_json::from_str(line).unwrap();
    text.lines().map(entry).collect()
}

/// Changes that nobody has heard of yet: while the one who is to kill the daemon is kept from its core, no more are
/// made, for an account may have so many projects and tokens.
const AHEAD_MAX: usize = 60;

#[test]
fn a_kill_leaves_projects_branches_and_tokens_with_their_records_or_neither() {
    let rounds = Rounds::or(5);
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    for round in 0..rounds.count {
        let enough = rounds.random(round).random_range(1..=61);
        let (report, reports) = mpsc::sync_channel(AHEAD_MAX);
        thread::scope(|scope| {
            for writer in 0..4 {
                let (report, mut client) = (report.clone(), admin.another());
                scope.spawn(move || {
                    for number in 0.. {
                        let name = format!("p{round}-{writer}-{number}");
                        if change(&mut client, &name, number, &report).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(report);
            reports.iter().take(enough).for_each(drop);
            daemon.kill();
            // Who waits to report goes on, and finds the daemon gone.
            drop(reports);
        });
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        assert_alike(&daemon, &mut admin);
    }
}

/// Makes a project, a branch and a token, and removes some of them again. Reports each change.
///
/// # Errors
/// When the daemon is gone.
fn change(
    client: &mut Client,
    name: &str,
    number: u64,
    report: &mpsc::SyncSender<()>,
) -> std::io::Result<()> {
    let mut send = |method: &str, target: &str, body: Value| {
        let (kind, body) = match body {
            Value::Null => ("", String::new()),
            body => ("application/json", body.to_string()),
        };
        let answer = client.attempt(method, target, kind, body.as_bytes())?;
        assert!(answer.status < 300, "{method} {target}: {answer:?}");
        // Who counts may have enough.
        let _counted = report.send(());
        Ok::<_, std::io::Error>(answer)
    };
    let projects = "/site-builder/api/projects";
    let project = format!("{projects}/{name}.erp");
    send("POST", projects, json!({ "name": name, "type": "erp" }))?;
    send(
        "POST",
        &format!("{project}/branches"),
        json!({ "name": "main" }),
    )?;
    let token = send(
        "POST",
        "/site-builder/api/tokens",
        json!({ "name": name, "repos": ["*"] }),
    )?;
    let token = token.json()["tokenId"].as_str().unwrap().to_owned();
    if number.is_multiple_of(2) {
        send(
            "DELETE",
            &format!("/site-builder/api/tokens/{token}"),
            Value::Null,
        )?;
        send("DELETE", &format!("{project}/branches/main"), Value::Null)?;
    }
    if number.is_multiple_of(3) {
        send("DELETE", &project, Value::Null)?;
    }
    Ok(())
}

/// Asserts that what is there is what the audit log says was made and not removed, each once.
fn assert_alike(daemon: &Daemon, admin: &mut Client) {
    let mut told = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for entry in log(daemon) {
        let (what, name) = match entry["action"].as_str().unwrap().split_once('-') {
            Some(("project", _)) => (0, entry["project"].to_string()),
            Some(("branch", _)) => (1, entry["project"].to_string()),
            Some(("token", _)) => (2, entry["tokenId"].to_string()),
            _ => continue,
        };
        let is_made = entry["action"].as_str().unwrap().ends_with("-created");
        let changed = if is_made {
            told[what].insert(name)
        } else {
            told[what].remove(&name)
        };
        assert!(changed, "told twice, or in another order: {entry}");
        if !is_made && what == 0 {
            // Its branch went with it.
            told[1].remove(&entry["project"].to_string());
        }
    }
    let mut there = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for project in admin
        .get("/site-builder/api/projects")
        .json()
        .as_array()
        .unwrap()
    {
        there[0].insert(project["repo_id"].to_string());
        if project["default_branch"] != Value::Null {
            there[1].insert(project["repo_id"].to_string());
        }
    }
    for token in admin
        .get("/site-builder/api/tokens")
        .json()
        .as_array()
        .unwrap()
    {
        there[2].insert(token["tokenId"].to_string());
    }
    assert_eq!(told, there);
}
