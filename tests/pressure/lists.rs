//! Long lists, made for many at once, and streams that watch them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::thread;

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::{Daemon, on_branch};
use crate::limited::{Crowd, alone, assert_within, open_files, put, start, with_project};

const ADMIN: &str = "/site-builder/api";
/// Clients that make what is listed, so that they share what a commit waits for.
const MAKERS: usize = 16;
/// Clients that ask for the same list at once.
const CLIENTS: usize = 40;

/// Makes one after the other of these.
fn make(admin: &Client, target: &str, bodies: &[Value]) {
    thread::scope(|scope| {
        for part in bodies.chunks(bodies.len().div_ceil(MAKERS)) {
            let mut admin = admin.another();
            scope.spawn(move || {
                for body in part {
                    let made = admin.post(target, body);
                    assert_eq!(made.status, 201, "{made:?}");
                }
            });
        }
    });
}

/// Who asks for these lists gets them, or is told to come again.
#[track_caller]
fn assert_bounded(daemon: &Daemon, client: &Client, target: &str) {
    let statuses: Vec<_> = thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|_| {
            let mut client = client.another();
            scope.spawn(move || client.get(target).status)
        });
        let clients: Vec<_> = clients.collect();
        let each = clients.into_iter().map(|client| client.join().unwrap());
        each.collect()
    });
    assert!(statuses.contains(&200), "{statuses:?}");
    let allowed = |status: &u16| matches!(status, 200 | 429 | 503);
    assert!(statuses.iter().all(allowed), "{statuses:?}");
    assert_within(daemon);
}

/// The project, with branches of long names.
fn with_branches(count: usize) -> (Daemon, Client) {
    let (daemon, admin) = with_project(&[]);
    let branch = |number: usize| json!({ "name": format!("{number:0>250}"), "from": "main" });
    let branches: Vec<_> = (0..count).map(branch).collect();
    make(&admin, &of_project("/branches"), &branches);
    (daemon, admin)
}

fn of_project(rest: &str) -> String {
    on_branch("").replace("/branches/main", rest)
}

#[test]
fn lists_of_tokens() {
    let _alone = alone();
    let daemon = start(&[]);
    let admin = daemon.admin();
    let kind = "t".repeat(32);
    let name = |number: usize| format!("{number:0>100}");
    let project = |number| json!({ "name": name(number), "type": kind });
    let projects: Vec<_> = (0..100).map(project).collect();
    make(&admin, &format!("{ADMIN}/projects"), &projects);
    let repos: Vec<_> = (0..100).map(|n| format!("{}.{kind}", name(n))).collect();
    let token = |number: usize| json!({ "name": number.to_string(), "repos": repos });
    let tokens: Vec<_> = (0..300).map(token).collect();
    let target = format!("{ADMIN}/tokens");
    make(&admin, &target, &tokens);
    assert_bounded(&daemon, &admin, &target);
}

#[test]
fn lists_of_branches() {
    let _alone = alone();
    let (daemon, admin) = with_branches(3_000);
    assert_bounded(&daemon, &admin, &of_project("/branches"));
}

/// Each request shows the id that git gives the folder, which takes all of its names.
#[test]
fn folders_of_many_long_names() {
    let _alone = alone();
    let (daemon, admin) = with_project(&[]);
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("folder");
    fs::create_dir(&below).unwrap();
    for number in 0..30_000 {
        fs::write(below.join(format!("{number:0>250}")), "").unwrap();
    }
    daemon.import(folder.path());
    assert_bounded(&daemon, &admin, &on_branch("/tree?limit=1"));
}

#[test]
fn streams_that_tell_of_many_branches() {
    let _alone = alone();
    open_files(2_000);
    // More than memory keeps of one project.
    let (daemon, admin) = with_branches(6_500);
    let target = of_project("/events");
    let crowd = Crowd::of(&daemon);
    let mut held: Vec<_> = (0..300)
        .map(|number| {
            let mut stream = crowd.connect(number);
            let head = format!(
                "GET {target} HTTP/1.1\r\nHost: a\r\n{}\r\n",
                admin.credential
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            assert_eq!(line, "HTTP/1.1 200 OK\r\n");
            stream
        })
        .collect();
    // Its own connection was not used for long.
    put(&mut admin.another(), "a.xml", b"<a/>");
    for stream in &mut held {
        let told = stream.lines().map(Result::unwrap);
        let mut told = told.filter(|line| line.starts_with("data: "));
        assert!(told.next().unwrap().contains("\"name\":\"main\""));
    }
    assert_within(&daemon);
}
