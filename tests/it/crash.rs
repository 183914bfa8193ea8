//! kill -9 while writers save: what was acknowledged is there after a restart.

use std::sync::mpsc::{self, Sender};
use std::thread;

use serde_json::Value;

use crate::harness::{Daemon, Project, User};

const ROUNDS: usize = 50;
const WRITERS: usize = 8;

/// An acknowledged save: its path, and the version it was told.
type Saved = (String, String);

/// Saves one new file after another until the daemon is gone, and reports each acknowledgement.
fn save_until_it_dies(project: &Project, round: usize, writer: usize, report: &Sender<Saved>) {
    for number in 0.. {
        let path = format!("{round}/{writer}/{number}.xml");
        let request = project.user.request("PUT", &project.file("main", &path));
        // Every fourth body is too large for a row of the database.
        let body = path.repeat(if number % 4 == 3 { 8000 } else { 1 });
        let Some(answer) = request.body(body.as_bytes()).attempt() else {
            return;
        };
        assert_eq!(answer.status, 201, "{answer:?}");
        let version = answer.json()["snapshot"].as_str().unwrap().to_owned();
        drop(report.send((path, version)));
    }
}

/// Lets the writers save, kills the daemon after so many acknowledgements, and answers all of them.
fn load_and_kill(daemon: &mut Daemon, project: &Project, round: usize) -> Vec<Saved> {
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let report = report.clone();
            scope.spawn(move || save_until_it_dies(project, round, writer, &report));
        }
        drop(report);
        let mut saved: Vec<_> = reports.iter().take(1 + round % 23).collect();
        daemon.kill();
        saved.extend(reports);
        saved
    })
}

/// The path that each version's entry names, by the version's number, counted from 1.
#[track_caller]
fn history(project: &Project) -> Vec<String> {
    let history = project.user.get(&project.on("main", "/history")).json();
    let entries = history.as_array().unwrap().iter().rev();
    entries
        .enumerate()
        .map(|(index, entry): (usize, &Value)| {
            assert_eq!(entry["version"], format!("v{:04}", index + 1));
            entry["path"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// The same user after a restart, whose port is another; the session goes on.
fn again(daemon: &Daemon, user: &User) -> User {
    daemon.anonymous().with("Cookie", user.credential())
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let mut daemon = Daemon::start();
    let mut project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let saved = load_and_kill(&mut daemon, &project, round);
        daemon.restart();
        project = project.seen_by(&again(&daemon, &project.user));
        let history = history(&project);
        for (path, version) in &saved {
            let number: usize = version[1..].parse().unwrap();
            assert_eq!(history.get(number - 1), Some(path), "round {round}");
            let answer = project.user.get(&project.file("main", path));
            assert_eq!(answer.status, 200, "round {round}: {path}");
            assert!(answer.text().starts_with(path), "round {round}: {path}");
        }
        let item = project.branch_item("main");
        assert_eq!(item["snapshots"], history.len(), "round {round}");
        assert_eq!(item["files"], history.len(), "round {round}");
        acknowledged += saved.len();
    }
    assert!(acknowledged >= ROUNDS);
}
