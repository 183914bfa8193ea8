//! Requests that were asked before: however an answer comes to be kept, nobody can tell it from one
//! that was made anew.

use std::collections::{HashSet, VecDeque};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use serde_json::json;
use time::OffsetDateTime;

use crate::harness::{ADMIN, Answer, Connection, Daemon, Project, Request, User, soon};

/// Longer than sockets hold: whoever sends it must wait for the client.
const LARGE_BYTES: usize = 8 << 20;
/// More requests than the daemon answers while it looks at a connection once. Their answers have the date of when it
/// began to look, and it may be kept from its core meanwhile.
const ANSWERED_IN_ONE_LOOK: usize = 32;

/// A project with `a.xml` and `b.xml`, and a reader of it.
pub(crate) fn stage(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    project.save("main", "b.xml", "<b/>");
    let reader = daemon.reader(&project);
    (project, reader)
}

/// Asks over a connection that stays.
#[track_caller]
pub(crate) fn ask(connection: &mut Connection, request: &Request) -> Answer {
    connection.send(&request.to_bytes());
    let answer = connection.answer();
    answer.assert_lawful();
    answer
}

/// Connects again after the last answer of a connection that has had all its requests.
fn renew_if_ended(connection: &mut Connection, daemon: &Daemon, last: &Answer) {
    if last.header("connection") == Some("close") {
        *connection = daemon.connect();
    }
}

/// Asks so often that the answer is kept, if it ever is; the last answer.
#[track_caller]
pub(crate) fn ask_again(connection: &mut Connection, request: &Request) -> Answer {
    let first = ask(connection, request);
    let second = ask(connection, request);
    let third = ask(connection, request);
    for again in [&second, &third] {
        assert_eq!(again.status, first.status);
        assert_eq!(again.lasting_headers(), first.lasting_headers());
        assert!(again.body == first.body, "other bytes");
    }
    third
}

/// Bytes that repeat nowhere near each other.
fn long_text(length: usize) -> Vec<u8> {
    let lines = (0u32..).flat_map(|number| format!("{number:09}\n").into_bytes());
    lines.take(length).collect()
}

#[test]
fn the_same_request_has_the_same_answer_under_its_own_id() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let raw = reader.request("GET", &project.raw("a.xml"));
    let tag = reader.get(&project.raw("a.xml"));
    let tag = tag.header("ETag").unwrap();
    let mut connection = daemon.connect();
    let mut ids = HashSet::new();
    for (request, status, body) in [
        (raw.clone(), 200, &b"<a/>"[..]),
        (raw.clone().header("If-None-Match", tag), 304, b""),
        (raw.header("If-None-Match", "\"other\""), 200, b"<a/>"),
    ] {
        let first = ask(&mut connection, &request);
        first.assert_bytes(status, body);
        for _ in 0..20 {
            let again = ask(&mut connection, &request);
            again.assert_bytes(status, body);
            assert_eq!(again.lasting_headers(), first.lasting_headers());
            let id = again.header("X-Request-Id").unwrap().to_owned();
            assert_eq!(daemon.logged(&id)["path"], project.raw("a.xml"));
            assert_eq!(daemon.logged(&id)["status"], status);
            assert_eq!(daemon.logged(&id)["bytes"], body.len());
            assert!(ids.insert(id), "an id came twice");
        }
    }
}

#[test]
fn who_asks_for_a_part_or_under_a_condition_gets_that_and_not_what_is_kept() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let raw = reader.request("GET", &project.raw("a.xml"));
    let mut connection = daemon.connect();
    ask_again(&mut connection, &raw).assert_bytes(200, b"<a/>");
    for (line, value, status, body) in [
        ("Range", "bytes=1-1", 206, &b"a"[..]),
        ("Range", "bytes=0-3", 206, b"<a/>"),
    ] {
        let asked = raw.clone().header(line, value);
        ask(&mut connection, &asked).assert_bytes(status, body);
    }
    let asked = raw.clone().header("If-Match", "\"other\"");
    ask(&mut connection, &asked).assert_refused(412);
    let asked = raw.clone().header("Range", "bytes=9-");
    ask(&mut connection, &asked).assert_refused(416);
    ask(&mut connection, &raw).assert_bytes(200, b"<a/>");
    let other = reader.request("GET", &format!("{}?ref=none", project.raw("a.xml")));
    ask(&mut connection, &other).assert_refused(404);
}

#[test]
fn the_date_is_that_of_the_answer() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let request = reader.request("GET", &project.raw("a.xml"));
    let mut connection = daemon.connect();
    let mut dates = HashSet::new();
    let mut asked = VecDeque::new();
    while dates.len() < 3 {
        asked.push_back(OffsetDateTime::now_utc().unix_timestamp());
        if asked.len() > ANSWERED_IN_ONE_LOOK {
            asked.pop_front();
        }
        let before = asked[0];
        let answer = ask(&mut connection, &request);
        let after = OffsetDateTime::now_utc().unix_timestamp();
        let date = answer.header("Date").expect("a date").to_owned();
        let point = httpdate::parse_http_date(&date).expect("a date as it should be");
        let since = point.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let second = i64::try_from(since.as_secs()).unwrap();
        assert!((before..=after).contains(&second), "{date}");
        dates.insert(date);
        renew_if_ended(&mut connection, &daemon, &answer);
    }
}

#[test]
fn a_save_changes_the_answer_at_once() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let raw = reader.request("GET", &project.raw("a.xml"));
    let tree = reader.request("GET", &project.read("/tree"));
    let mut connection = daemon.connect();
    for turn in 0..5 {
        let body = format!("<a turn=\"{turn}\"/>");
        project.save("main", "a.xml", &body);
        project.save("main", &format!("{turn}.xml"), "");
        ask_again(&mut connection, &raw).assert_bytes(200, body.as_bytes());
        let listed = ask_again(&mut connection, &tree).json();
        assert_eq!(listed.as_array().unwrap().len(), 3 + turn);
    }
}

#[test]
fn a_revoked_token_is_refused_at_once() {
    let daemon = Daemon::start();
    let (project, _) = stage(&daemon);
    let issued = project.user.issue(&json!({ "name": "x", "repos": ["*"] }));
    let reader = daemon.token(issued["tokenString"].as_str().unwrap());
    let request = reader.request("GET", &project.raw("a.xml"));
    let mut connection = daemon.connect();
    ask_again(&mut connection, &request).assert_bytes(200, b"<a/>");
    let token = format!("{ADMIN}/tokens/{}", issued["tokenId"].as_str().unwrap());
    assert_eq!(project.user.delete(&token).status, 204);
    assert_eq!(ask(&mut connection, &request).status, 401);
}

#[test]
fn an_expired_token_is_refused_at_once() {
    let daemon = Daemon::start();
    let (project, _) = stage(&daemon);
    let now_ms = || OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    let mut connection = daemon.connect();
    // A token may be over before its answer is kept, where the test is kept from its core: then it is another one.
    let (expiry, request) = loop {
        let expiry = now_ms() + 5000;
        let expires_at = u64::try_from(expiry).unwrap();
        let issued = project
            .user
            .issue(&json!({ "name": "x", "repos": ["*"], "expires_at": expires_at }));
        let reader = daemon.token(issued["tokenString"].as_str().unwrap());
        let request = reader.request("GET", &project.raw("a.xml"));
        let answers = [(); 3].map(|()| ask(&mut connection, &request));
        // The service knows the time to a millisecond.
        if now_ms() + 1 < expiry {
            for answer in answers {
                answer.assert_bytes(200, b"<a/>");
            }
            break (expiry, request);
        }
    };
    loop {
        let before = now_ms();
        let answer = ask(&mut connection, &request);
        if answer.status != 200 {
            assert_eq!((answer.status, now_ms() + 1 >= expiry), (401, true));
            return;
        }
        assert!(before < expiry, "it counts after its end");
        renew_if_ended(&mut connection, &daemon, &answer);
    }
}

#[test]
fn requests_sent_together_are_answered_in_order() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let a = reader.request("GET", &project.raw("a.xml"));
    let b = reader.request("GET", &project.raw("b.xml"));
    let mut connection = daemon.connect();
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    ask_again(&mut connection, &b).assert_bytes(200, b"<b/>");
    for _ in 0..3 {
        let together = [a.to_bytes(), a.to_bytes(), b.to_bytes(), a.to_bytes()];
        connection.send(&together.concat());
        for body in [b"<a/>", b"<a/>", b"<b/>", b"<a/>"] {
            connection.answer().assert_bytes(200, body);
        }
        ask_again(&mut connection, &b).assert_bytes(200, b"<b/>");
    }
}

#[test]
fn a_head_may_come_in_pieces() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let a = reader.request("GET", &project.raw("a.xml"));
    let bytes = a.to_bytes();
    let mut connection = daemon.connect();
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    for cut in [1, bytes.len() / 2, bytes.len() - 1] {
        connection.send(&bytes[..cut]);
        // The other's answer shows that the daemon has gone on.
        reader.get(&project.raw("b.xml")).assert_bytes(200, b"<b/>");
        connection.send(&bytes[cut..]);
        connection.answer().assert_bytes(200, b"<a/>");
        ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    }
}

#[test]
fn what_follows_a_known_head_is_the_next_request() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let a = reader.request("GET", &project.raw("a.xml"));
    let b = reader.request("GET", &project.raw("b.xml")).to_bytes();
    let mut connection = daemon.connect();
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    connection.send(&[&a.to_bytes(), &b[..10]].concat());
    connection.answer().assert_bytes(200, b"<a/>");
    connection.send(&b[10..]);
    connection.answer().assert_bytes(200, b"<b/>");

    let mut connection = daemon.connect();
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    connection.send(&[&a.to_bytes()[..], b"no request\r\n\r\n"].concat());
    connection.answer().assert_bytes(200, b"<a/>");
    assert_eq!(connection.answer().status, 400);
    assert!(connection.is_closed());
}

#[test]
fn what_looks_like_a_known_head_may_be_part_of_another_request() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let a = reader.request("GET", &project.raw("a.xml"));
    let mut connection = daemon.connect();
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");
    // The other's answer shows that the daemon has gone on.
    let wait = || reader.get(&project.raw("b.xml")).assert_bytes(200, b"<b/>");

    let target = project.raw("b.xml");
    connection.send(format!("GET {target} HTTP/1.1\r\nX-Note: ").as_bytes());
    wait();
    connection.send(&a.to_bytes());
    connection.answer().assert_bytes(200, b"<b/>");
    ask_again(&mut connection, &a).assert_bytes(200, b"<a/>");

    let put = project
        .user
        .request("PUT", &project.file("main", "c.xml"))
        .header("Content-Type", "application/octet-stream")
        .body(&a.to_bytes())
        .to_bytes();
    let (head, body) = put.split_at(put.len() - a.to_bytes().len());
    connection.send(head);
    wait();
    connection.send(body);
    connection.answer().expect_status(201);
    let saved = reader.request("GET", &project.raw("c.xml"));
    ask_again(&mut connection, &saved).assert_bytes(200, body);
}

#[test]
fn two_heads_never_pass_for_one() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let text = |path: &str| {
        let bytes = reader.request("GET", &project.raw(path)).to_bytes();
        String::from_utf8(bytes).unwrap()
    };
    // A line may end in a bare line feed, so these are two requests.
    let two = text("a.xml").replace("\r\n", "\n") + &text("b.xml");
    for _ in 0..3 {
        let mut connection = daemon.connect();
        for _ in 0..3 {
            connection.send(two.as_bytes());
            connection.answer().assert_bytes(200, b"<a/>");
            connection.answer().assert_bytes(200, b"<b/>");
        }
    }
}

#[test]
fn the_answer_to_head_has_no_body() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let target = project.raw("a.xml");
    let get = reader.request("GET", &target);
    let head = reader.request("HEAD", &target);
    let mut connection = daemon.connect();
    for _ in 0..3 {
        let whole = ask_again(&mut connection, &get);
        whole.assert_bytes(200, b"<a/>");
        connection.send(&head.to_bytes());
        let alone = connection.answer_to_head();
        assert_eq!(alone.lasting_headers(), whole.lasting_headers());
    }
}

#[test]
fn a_request_with_a_body_may_come_between() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let raw = reader.request("GET", &project.raw("a.xml"));
    let mut connection = daemon.connect();
    // Shorter and longer than what is read at once.
    for length in [0, 10, 3000, 300_000] {
        ask_again(&mut connection, &raw);
        let body = long_text(length);
        let put = project
            .user
            .request("PUT", &project.file("main", "a.xml"))
            .header("Content-Type", "application/octet-stream")
            .body(&body);
        assert_eq!(ask(&mut connection, &put).status, 200);
        ask_again(&mut connection, &raw).assert_bytes(200, &body);
    }
    // What a body says counts too: here it names the other branch.
    project.add_branch("empty");
    for (charset, form, entries) in [
        ("", "ref=empty", 0),
        ("; charset=utf8", "ref=main&", 2),
        ("; charset=ISO-8859-1", "ref=empty", 0),
    ] {
        let kind = format!("application/x-www-form-urlencoded{charset}");
        let bare = reader
            .request("GET", &project.read("/tree"))
            .header("Content-Length", "9")
            .header("Content-Type", &kind);
        connection.send(&[&bare.to_bytes()[..], form.as_bytes()].concat());
        let listed = connection.answer().expect_status(200).json();
        assert_eq!(listed.as_array().unwrap().len(), entries, "{form}");
    }
}

#[test]
fn long_answers_come_whole() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let large = long_text(LARGE_BYTES);
    let middle = long_text(256 << 10);
    project.save("main", "large.xml", &large);
    project.save("main", "middle.xml", &middle);
    let folder = tempfile::tempdir().unwrap();
    for number in 0..4000 {
        std::fs::write(folder.path().join(format!("{number}.xml")), "").unwrap();
    }
    let imported = folder.path().to_str().unwrap();
    daemon.run(&["import", &project.id, "main", imported], "");
    soon(|| reader.get(&project.raw("0.xml")).status == 200);
    let mut connection = daemon.connect();
    for _ in 0..3 {
        let tree = reader.request("GET", &project.read("/tree?recursive=1"));
        let listed = ask_again(&mut connection, &tree).json();
        assert_eq!(listed.as_array().unwrap().len(), 4004);
        let raw = |path: &str| reader.request("GET", &project.raw(path));
        ask_again(&mut connection, &raw("middle.xml")).assert_bytes(200, &middle);
        ask_again(&mut connection, &raw("large.xml")).assert_bytes(200, &large);
    }
}

#[test]
fn a_stop_lets_a_long_answer_end() {
    let mut daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let large = long_text(LARGE_BYTES);
    project.save("main", "large.xml", &large);
    let request = reader.request("GET", &project.raw("large.xml"));
    let mut connection = daemon.connect();
    ask_again(&mut connection, &request).assert_bytes(200, &large);
    connection.send(&request.to_bytes());
    let mut answer = connection.bytes(1 << 20);
    let address = daemon.address();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| daemon.stop());
        // It has heard of the stop when it takes nobody in any more.
        soon(|| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err());
        answer.extend(connection.rest());
        assert_eq!(stopped.join().unwrap().code(), Some(0));
    });
    assert!(answer.ends_with(&large), "it was cut short");
}

#[test]
fn who_has_said_all_is_answered_still() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let large = long_text(LARGE_BYTES);
    project.save("main", "large.xml", &large);
    for (path, body) in [("a.xml", &b"<a/>"[..]), ("large.xml", &large)] {
        let request = reader.request("GET", &project.raw(path));
        for asked_before in 0..3 {
            let mut connection = daemon.connect();
            for _ in 0..asked_before {
                ask(&mut connection, &request).assert_bytes(200, body);
            }
            connection.send(&request.to_bytes());
            connection.finish_sending();
            connection.answer().assert_bytes(200, body);
            assert!(connection.is_closed());
        }
    }
}

#[test]
fn who_wants_to_end_is_let_go() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let request = reader.request("GET", &project.raw("a.xml"));
    let last = request.clone().header("Connection", "close").to_bytes();
    let old = String::from_utf8(request.to_bytes()).unwrap();
    let old = old.replace("HTTP/1.1", "HTTP/1.0").into_bytes();
    for (bytes, told) in [(last, Some("close")), (old, None)] {
        for _ in 0..3 {
            let mut connection = daemon.connect();
            ask_again(&mut connection, &request).assert_bytes(200, b"<a/>");
            connection.send(&bytes);
            let answer = connection.answer();
            answer.assert_bytes(200, b"<a/>");
            assert_eq!(answer.header("Connection"), told);
            // On a connection that stays there would be an answer.
            connection.send(&request.to_bytes());
            assert!(connection.is_closed());
        }
    }
}

#[test]
fn a_walk_through_a_branch_that_was_made_again_goes_on() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    let same = json!({ "name": "same", "from": "main" });
    let make = || {
        let made = project.user.post(&project.admin("/branches"), &same);
        made.expect_status(201);
    };
    let target = project.read("/tree?ref=same&pagination=keyset&per_page=1");
    let request = reader.request("GET", &target);
    let mut connection = daemon.connect();
    for _ in 0..2 {
        make();
        let first = ask_again(&mut connection, &request);
        let link = first.header("Link").unwrap().to_owned();
        let next = link.split(['<', '>']).nth(1).unwrap();
        let next = &next[next.find("/site-builder").unwrap()..];
        let rest = reader.get(next).expect_status(200).json();
        assert_eq!(rest[0]["path"], "b.xml");
        let deleted = project.user.delete(&project.on("same", ""));
        deleted.expect_status(204);
    }
}
