//! Long lists, made for many at once.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::thread;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::daemon::{Daemon, on_branch, read};
use crate::limited::{Crowd, alone, assert_within, open_files, put, start, status, with_project};

const ADMIN: &str = "/site-builder/api";
/// Clients that make what is listed, so that they share what a commit waits for.
const MAKERS: usize = 16;
/// Clients that ask for the same list at once.
pub(super) const CLIENTS: usize = 40;
/// Whoever takes nothing is waited for longer than a test takes.
pub(super) const PATIENT: [&str; 2] = ["--write-s-max", "600"];
/// Of a message that is told in two fields, each quote in two bytes.
pub(super) const QUOTES: usize = 4_000;
/// So many of them are a long list.
const MANY: usize = 300;

/// Posts one after the other of these bodies, each to its target.
fn post_all(admin: &Client, posts: &[(String, Value)], status: u16) {
    thread::scope(|scope| {
        for part in posts.chunks(posts.len().div_ceil(MAKERS)) {
            let mut admin = admin.another();
            scope.spawn(move || {
                for (target, body) in part {
                    let answer = admin.post(target, body);
                    assert_eq!(answer.status, status, "{answer:?}");
                }
            });
        }
    });
}

/// Makes one after the other of these.
fn make(admin: &Client, target: &str, bodies: Vec<Value>) {
    let posts = bodies.into_iter().map(|body| (target.to_owned(), body));
    post_all(admin, &posts.collect::<Vec<_>>(), 201);
}

/// Makes branches beside `main`.
pub(super) fn make_branches(admin: &Client, count: usize) {
    let branch = |number| json!({ "name": branch_name(number) });
    make(
        admin,
        &of_project("/branches"),
        (0..count).map(branch).collect(),
    );
}

/// Saves a file in each of some of them, with a long message.
pub(super) fn say_much(admin: &Client, numbers: Range<usize>, path: &str) {
    let batch = |number| {
        let target = on_branch("/batch").replace("/main/", &format!("/{}/", branch_name(number)));
        let action = json!({ "action": "create", "file_path": path, "content": "<a/>" });
        let body = json!({ "message": "\"".repeat(QUOTES), "actions": [action] });
        (target, body)
    };
    post_all(admin, &numbers.map(batch).collect::<Vec<_>>(), 200);
}

fn branch_name(number: usize) -> String {
    format!("b{number:04}")
}

/// A connection on which a target was asked for, and nothing was read.
pub(super) fn ask(crowd: &Crowd, number: usize, client: &Client, target: &str) -> TcpStream {
    let mut stream = crowd.connect(number);
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: {}\r\n{}\r\n",
        stream.peer_addr().unwrap(),
        client.credential
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The answer to a request with one more header line.
fn with_line(daemon: &Daemon, client: &Client, target: &str, line: &str) -> Answer {
    let credential = format!("{}{line}\r\n", client.credential);
    daemon.again(&credential).get(target)
}

/// The tag of an answer that was asked for, and all that is left to read of it.
#[track_caller]
fn tag_of(stream: TcpStream) -> (String, BufReader<TcpStream>) {
    let mut stream = BufReader::new(stream);
    let mut tag = None;
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 200 OK\r\n");
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("etag")
        {
            tag = Some(value.trim_end().to_owned());
        }
    }
    (tag.expect("it has a tag"), stream)
}

/// What is left of a body in chunks, and whether it comes to its end.
fn rest(stream: &mut impl BufRead) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let mut length = String::new();
        if !matches!(stream.read_line(&mut length), Ok(1..)) {
            return (body, false);
        }
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        if stream.read_exact(&mut chunk).is_err() {
            return (body, false);
        }
        if length == 0 {
            return (body, true);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// Gives a branch another name.
#[track_caller]
fn rename(admin: &mut Client, branch: &str, name: &str) {
    let target = of_project(&format!("/branches/{branch}"));
    let body = json!({ "name": name }).to_string();
    let answer = admin.attempt("PATCH", &target, "application/json", body.as_bytes());
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The project, with branches whose list is long.
fn with_long_list(flags: &[&str]) -> (Daemon, Client) {
    let (daemon, admin) = with_project(flags);
    make_branches(&admin, MANY);
    say_much(&admin, 0..MANY, "a.xml");
    (daemon, admin)
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
pub(super) fn with_branches(count: usize) -> (Daemon, Client) {
    let (daemon, admin) = with_project(&[]);
    let branch = |number: usize| json!({ "name": format!("{number:0>250}"), "from": "main" });
    let branches = (0..count).map(branch).collect();
    make(&admin, &of_project("/branches"), branches);
    (daemon, admin)
}

pub(super) fn of_project(rest: &str) -> String {
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
    let projects = (0..100).map(project).collect();
    make(&admin, &format!("{ADMIN}/projects"), projects);
    let repos: Vec<_> = (0..100).map(|n| format!("{}.{kind}", name(n))).collect();
    let token = |number: usize| json!({ "name": number.to_string(), "repos": repos });
    let tokens = (0..300).map(token).collect();
    let target = format!("{ADMIN}/tokens");
    make(&admin, &target, tokens);
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
fn a_long_list_of_branches_is_what_a_short_one_is() {
    let _alone = alone();
    let (daemon, mut admin) = with_long_list(&[]);
    let mut reader = daemon.reader(&mut admin);
    let total = (MANY + 1).to_string();
    for (client, target, total) in [
        (&mut admin, of_project("/branches"), None),
        (&mut reader, read("/branches"), Some(total.as_str())),
    ] {
        let plain = client.get(&target);
        assert_eq!(plain.status, 200);
        assert_eq!(plain.header("transfer-encoding"), Some("chunked"));
        assert_eq!(plain.header("x-total"), total);
        let list = plain.json();
        let mut list = list.as_array().unwrap().iter();
        for number in 0..MANY {
            let branch = list.next().unwrap();
            assert_eq!(branch["name"], branch_name(number));
            assert_eq!(branch["default"], false);
            assert_eq!(branch["commit"]["message"], "\"".repeat(QUOTES));
        }
        assert_eq!(list.next().unwrap()["default"], true);
        assert!(list.next().is_none());
        let packed = with_line(&daemon, client, &target, "Accept-Encoding: gzip");
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        let mut unpacked = Vec::new();
        let mut decoder = GzDecoder::new(packed.body.as_slice());
        decoder.read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body);
        let [tag, other] = [&plain, &packed].map(|it| it.header("etag").unwrap().to_owned());
        assert_ne!(tag, other);
        let knows = |tag: &str, coding: &str| {
            let line = format!("If-None-Match: {tag}\r\nAccept-Encoding: {coding}");
            with_line(&daemon, client, &target, &line)
        };
        for (tag, coding) in [(&tag, "identity"), (&other, "gzip")] {
            let known = knows(tag, coding);
            assert_eq!((known.status, known.body.len()), (304, 0));
            assert_eq!(known.header("etag"), Some(tag.as_str()));
        }
        assert_eq!(knows(&tag, "gzip").status, 200);
        // What is made for the next client is the same.
        let again = client.another().get(&target);
        assert!(again.body == plain.body && again.header("etag") == Some(tag.as_str()));
        put(
            &mut daemon.admin(),
            "a.xml",
            total.unwrap_or("0").as_bytes(),
        );
        assert_eq!(knows(&tag, "identity").status, 200);
    }
    let page = reader.get(&read("/branches?per_page=100&page=2")).json();
    let whole = reader.get(&read("/branches")).json();
    assert_eq!(
        page.as_array().unwrap()[..],
        whole.as_array().unwrap()[100..200]
    );
}

#[test]
fn who_was_sent_a_long_list_while_it_was_another_has_to_take_it_again() {
    let _alone = alone();
    let (daemon, mut admin) = with_long_list(&[]);
    let reader = daemon.reader(&mut admin);
    let crowd = Crowd::of(&daemon);
    let last = branch_name(MANY - 1);
    for (client, target) in [
        (admin.another(), of_project("/branches")),
        (reader, read("/branches")),
    ] {
        let before = client.another().get(&target);
        let (tag, mut late) = tag_of(ask(&crowd, 0, &client, &target));
        assert_eq!(before.header("etag"), Some(tag.as_str()), "{target}");
        rename(&mut admin, &last, "away");
        let (body, is_whole) = rest(&mut late);
        assert!(is_whole);
        let list: Vec<Value> = serde_json::from_slice(&body).unwrap();
        assert_eq!(list.len(), MANY);
        let names: Vec<_> = list.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert!(!names.contains(&last.as_str()) && !names.contains(&"away"));
        rename(&mut admin, "away", &last);
        let known = format!("If-None-Match: {tag}");
        let again = with_line(&daemon, &client, &target, &known);
        assert_eq!(again.status, 200);
        assert!(again.body == before.body, "not all is as it was");
        assert_ne!(again.header("etag"), Some(tag.as_str()));
    }
}

#[test]
fn who_loses_the_right_to_a_long_list_is_told_no_more_of_it() {
    let _alone = alone();
    let (daemon, mut admin) = with_long_list(&PATIENT);
    let reader = daemon.reader(&mut admin);
    let session = daemon.admin();
    let tokens = format!("{ADMIN}/tokens");
    let token = admin.get(&tokens).json()[0]["tokenId"].clone();
    let revoked = format!("{tokens}/{}", token.as_str().unwrap());
    let crowd = Crowd::of(&daemon);
    let mut leaving = session.another();
    for (client, target, (ends, method, end)) in [
        (
            &session,
            of_project("/branches"),
            (&mut leaving, "POST", "/user/logout"),
        ),
        (
            &reader,
            read("/branches"),
            (&mut admin.another(), "DELETE", revoked.as_str()),
        ),
    ] {
        let (_, mut late) = tag_of(ask(&crowd, 0, client, &target));
        let ended = ends.attempt(method, end, "", b"").unwrap();
        assert_eq!(ended.status, 204, "{ended:?}");
        let action = json!({ "action": "create", "file_path": method, "content": "<b/>" });
        let secret = format!("nobody is told: {method}");
        let body = json!({ "message": secret, "actions": [action] });
        let save = of_project(&format!("/branches/{}/batch", branch_name(MANY - 1)));
        assert_eq!(admin.post(&save, &body).status, 200);
        let (told, is_whole) = rest(&mut late);
        assert!(!is_whole);
        assert!(!String::from_utf8_lossy(&told).contains(&secret));
        let refused = client.another().get(&target);
        assert_eq!(refused.status, 401);
    }
}

#[test]
fn a_list_of_branches_that_is_short_once_it_is_packed_is_sent_as_a_short_one() {
    // More than one token, or one session, has places among the long requests.
    const HELD: usize = 12;
    let _alone = alone();
    let (daemon, mut admin) = with_long_list(&PATIENT);
    let reader = daemon.reader(&mut admin);
    let crowd = Crowd::of(&daemon);
    for (client, target) in [
        (&admin, of_project("/branches")),
        (&reader, read("/branches")),
    ] {
        let credential = format!("{}Accept-Encoding: gzip\r\n", client.credential);
        let packs = daemon.again(&credential);
        let first = packs.another().get(&target);
        assert_eq!(first.header("content-encoding"), Some("gzip"));
        assert_eq!(first.header("transfer-encoding"), None);
        let length = first.body.len().to_string();
        assert_eq!(first.header("content-length"), Some(length.as_str()));
        let mut held = Vec::new();
        for number in 0..HELD {
            let stream = ask(&crowd, number, &packs, &target);
            assert_eq!(status(stream.try_clone().unwrap()), 200, "{number}");
            held.push(stream);
        }
        let again = packs.another().get(&target);
        assert!(again.body == first.body);
        assert_eq!(again.header("etag"), first.header("etag"));
        let known = format!("If-None-Match: {}", first.header("etag").unwrap());
        let known = with_line(&daemon, &packs, &target, &known);
        assert_eq!((known.status, known.body.len()), (304, 0));
    }
    assert_within(&daemon);
}

#[test]
fn readers_that_take_nothing_of_lists_of_branches_with_long_messages() {
    const COUNT: usize = 2_000;
    let _alone = alone();
    open_files(2_000);
    let (daemon, mut admin) = with_project(&PATIENT);
    make_branches(&admin, COUNT);
    say_much(&admin, 0..COUNT, "a.xml");
    let reader = daemon.reader(&mut admin);
    let crowd = Crowd::of(&daemon);
    for (client, target) in [
        (&admin, of_project("/branches")),
        (&reader, read("/branches")),
    ] {
        let held: Vec<_> = (0..CLIENTS)
            .map(|number| ask(&crowd, number, client, &target))
            .collect();
        let statuses: Vec<_> = held
            .iter()
            .map(|stream| status(stream.try_clone().unwrap()))
            .collect();
        assert!(statuses.contains(&200), "{statuses:?}");
        let allowed = |status: &u16| matches!(status, 200 | 429 | 503);
        assert!(statuses.iter().all(allowed), "{statuses:?}");
        assert_within(&daemon);
    }
}
