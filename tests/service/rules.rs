//! Rules for contents while much goes on, and under the knife: what is done after they were set is held
//! against them, and a kill leaves the old rules or the new ones, the old file or the new one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use rand::RngExt;
use serde_json::{Value, json};

use crate::client::{Answer, Client, segment};
use crate::daemon::{Daemon, PROJECT, file, on_branch};
use crate::kills::log;
use crate::rounds::Rounds;
use crate::writers::snapshot;

const OCTETS: &str = "application/octet-stream";
const BROKEN: &str = "{";

fn target() -> String {
    format!("/site-builder/api/projects/{}/validation", segment(PROJECT))
}

/// The rule that every file of some name is JSON, or none.
fn rules(is_strict: bool) -> Value {
    let rule = json!({ "patterns": ["*.json"], "check": "json" });
    json!({ "rules": if is_strict { vec![rule] } else { Vec::new() } })
}

fn set(client: &mut Client, is_strict: bool) -> io::Result<Answer> {
    let body = rules(is_strict).to_string();
    client.attempt("PUT", &target(), "application/json", body.as_bytes())
}

fn put(client: &mut Client, path: &str, text: &str) -> io::Result<Answer> {
    client.attempt("PUT", &file(path), OCTETS, text.as_bytes())
}

/// True if a change was made, false if it was refused for the rules.
#[track_caller]
fn is_made(answer: &Answer) -> bool {
    match answer.status {
        200 | 201 => true,
        400 => {
            let message = answer.json()["message"].to_string();
            assert!(message.contains("a rule of the project"), "{message}");
            false
        }
        _ => panic!("{answer:?}"),
    }
}

/// Makes a change that breaks the rules, the one with this number.
type Break = fn(&mut Client, u64, &str) -> Answer;

const WAYS: [(&str, Break); 3] = [
    ("save", |client, number, _| {
        put(client, "saved.json", &format!("{BROKEN}{number}")).unwrap()
    }),
    ("batch", |client, number, _| {
        let path = format!("batch/{number}.json");
        let create = json!({ "action": "create", "file_path": path, "content": BROKEN });
        client.post(&on_branch("/batch"), &json!({ "actions": [create] }))
    }),
    ("rollback", |client, _, to| {
        assert!(is_made(&put(client, "restored.json", "{}").unwrap()));
        let to = format!("/rollback?to={to}&path=restored.json");
        client.attempt("POST", &on_branch(&to), "", b"").unwrap()
    }),
];

#[test]
fn what_is_done_after_rules_are_set_keeps_to_them() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    for round in 0..Rounds::or(6).count {
        assert_eq!(set(&mut admin, false).unwrap().status, 200);
        assert!(is_made(&put(&mut admin, "restored.json", BROKEN).unwrap()));
        let broken = put(&mut admin, "restored.json", "{}").unwrap();
        let broken = format!("v{:04}", snapshot(&broken));
        let is_set = AtomicBool::new(false);
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            for (what, way) in WAYS {
                let (mut client, broken) = (admin.another(), broken.as_str());
                let (tell, is_set) = (tell.clone(), &is_set);
                scope.spawn(move || {
                    for number in round * 100_000.. {
                        let begins_after = is_set.load(Ordering::Acquire);
                        if !is_made(&way(&mut client, number, broken)) {
                            return;
                        }
                        assert!(!begins_after, "a {what} broke rules that were set");
                        tell.send(what).unwrap();
                    }
                });
            }
            // All are under way.
            for _ in 0..12 {
                told.recv().unwrap();
            }
            assert_eq!(set(&mut admin, true).unwrap().status, 200);
            is_set.store(true, Ordering::Release);
        });
    }
    // The log has all in the order in which it was done: also what began before keeps to it.
    let mut is_strict = false;
    for entry in log(&daemon) {
        match (entry["action"].as_str().unwrap(), entry["path"].as_str()) {
            ("project-rules", _) => is_strict = entry["detail"] == "1 rule",
            ("batch" | "rollback", _) | ("save", Some("saved.json")) => {
                assert!(!is_strict, "{entry}");
            }
            _ => {}
        }
    }
}

/// What somebody was told of one value that they change: the last that stands for certain, and the one that
/// was on its way.
#[derive(Debug)]
struct Told<T> {
    stands: T,
    asked: T,
}

impl<T: Clone + PartialEq> Told<T> {
    fn new(value: T) -> Self {
        Self {
            stands: value.clone(),
            asked: value,
        }
    }

    fn is_one_of(&self, value: &T) -> bool {
        *value == self.stands || *value == self.asked
    }
}

#[test]
fn a_kill_leaves_old_or_new_rules_and_old_or_new_files() {
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let mut strict = Told::new(false);
    let mut files: Vec<Told<String>> = Vec::new();
    for writer in 0..2 {
        assert!(is_made(&put(&mut admin, &path(writer), "{}").unwrap()));
        files.push(Told::new("{}".to_owned()));
    }
    let rounds = Rounds::or(6);
    for round in 0..rounds.count {
        let enough = rounds.random(round).random_range(1..=41);
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            for (writer, told) in files.iter_mut().enumerate() {
                let (client, tell) = (admin.another(), tell.clone());
                scope.spawn(move || write(client, &path(writer), round, told, &tell));
            }
            let (client, strict) = (admin.another(), &mut strict);
            scope.spawn(move || set_and_unset(client, strict, &tell));
            for _ in 0..enough {
                told.recv().unwrap();
            }
            daemon.kill();
        });
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        let shown = admin.get(&target()).json();
        let is_strict = shown == rules(true);
        assert!(is_strict || shown == rules(false), "{shown}");
        assert!(strict.is_one_of(&is_strict), "{strict:?}");
        strict = Told::new(is_strict);
        for (writer, told) in files.iter_mut().enumerate() {
            let text = admin.get(&file(&path(writer))).body;
            let text = String::from_utf8(text).unwrap();
            assert!(told.is_one_of(&text), "{text}, {told:?}");
            *told = Told::new(text);
        }
        // They count as they are shown.
        let broken = put(&mut admin, "other.json", &format!("{BROKEN}{round}"));
        assert_eq!(is_made(&broken.unwrap()), !is_strict);
    }
    let check = daemon.command(&["debug", "check"]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

fn path(writer: usize) -> String {
    format!("{writer}.json")
}

/// Saves what is JSON and what is not by turns, until the daemon is gone.
fn write(mut client: Client, path: &str, round: u64, told: &mut Told<String>, tell: &Sender<()>) {
    for number in 0_u64.. {
        let broken = if number.is_multiple_of(2) { "" } else { BROKEN };
        told.asked = format!("{broken}[{round}, {number}]");
        let Ok(answer) = put(&mut client, path, &told.asked) else {
            return;
        };
        if is_made(&answer) {
            told.stands = told.asked.clone();
        } else {
            assert!(!broken.is_empty());
            told.asked = told.stands.clone();
        }
        tell.send(()).unwrap();
    }
}

/// Sets rules and takes them away by turns, until the daemon is gone.
fn set_and_unset(mut client: Client, strict: &mut Told<bool>, tell: &Sender<()>) {
    loop {
        strict.asked = !strict.stands;
        let Ok(answer) = set(&mut client, strict.asked) else {
            return;
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        strict.stands = strict.asked;
        tell.send(()).unwrap();
    }
}
