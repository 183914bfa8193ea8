//! How much of the service's memory bodies may take while they come, and who may take it.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::batch::{FILE, archive};
use crate::crowds::{begin, drip, wait_for_body};
use crate::harness::{Answer, Connection, Daemon, Project, Request, User, soon};

/// A batch of JSON that somebody sends.
fn batch(project: &Project, user: &User) -> Request {
    user.request("POST", &project.on("main", "/batch"))
        .header("Content-Type", "application/json")
}

/// A batch that makes one file.
fn small_batch(path: &str) -> Vec<u8> {
    let action = json!({ "action": "create", "file_path": path, "content": "<a/>" });
    json!({ "actions": [action] }).to_string().into_bytes()
}

/// Room for what two accounts may take, but for a part of it.
const LITTLE_MEMORY: [&str; 4] = [
    "--bodies-bytes-max",
    "1000000",
    "--bodies-bytes-account-max",
    "600000",
];

/// Announces a batch of so many bytes, and waits until the daemon wants it.
fn announce(daemon: &Daemon, project: &Project, user: &User, bytes: usize) -> Connection {
    let mut connection = daemon.connect();
    let waiting = batch(project, user).header("Expect", "100-continue");
    begin(&mut connection, &waiting, bytes);
    wait_for_body(&mut connection);
    connection
}

/// The status of a batch of so many bytes that is announced: 100 where there is room for it. Nothing of it is
/// sent, so that it takes none.
fn announced(daemon: &Daemon, project: &Project, user: &User, bytes: usize) -> u16 {
    let mut connection = daemon.connect();
    let waiting = batch(project, user).header("Expect", "100-continue");
    begin(&mut connection, &waiting, bytes);
    let line = connection.bytes("HTTP/1.1 100".len());
    let status = String::from_utf8(line).expect("a status line");
    status["HTTP/1.1 ".len()..].parse().expect("a status")
}

#[test]
fn bodies_have_so_much_memory_and_each_account_a_part_of_it() {
    let daemon = Daemon::start_with(&LITTLE_MEMORY);
    let role = ["ROLE_SITEBUILDER_EDITOR__ROOT"];
    let project = Project::with_main(&daemon.user("alice", &role), "acme/shop");
    let batch = |user: &User| batch(&project, user);
    let mut body = vec![b' '; 500_000];
    body.splice(0..0, small_batch("a.xml"));
    let mut first = announce(&daemon, &project, &project.user, body.len());
    let (most, last) = body.split_at(body.len() - 1);
    first.send(most);
    soon(|| announced(&daemon, &project, &project.user, body.len()) == 429);
    let refused = batch(&project.user).body(&body).send();
    refused.assert_error(429, "too many bytes of bodies at once; try again in 1 s");
    assert_eq!(refused.header("Retry-After"), Some("1"));

    let bob = daemon.user("bob", &role);
    let refused = batch(&bob).body(&body).send();
    refused.assert_error(
        503,
        "too many bytes of bodies at once; try again in a moment",
    );
    assert_eq!(refused.header("Retry-After"), Some("1"));
    // What is small has room, and what was held is free again.
    batch(&bob)
        .body(&small_batch("b.xml"))
        .send()
        .expect_status(200);
    first.send(last);
    first.answer().expect_status(200);
    // It fits now, and is refused for what it says: the file is there already.
    batch(&bob).body(&body).send().assert_refused(400);
    daemon.logged("\"status\":400");
    // Over PostgreSQL a service that stood still says that nothing was committed meanwhile.
    let log = daemon.log();
    let mut errors = log
        .lines()
        .filter(|line| line.contains("\"level\":\"ERROR\""));
    let failed = errors.find(|line| !line.contains("siteconf::store::postgres"));
    assert_eq!(failed, None);
}

/// Holds half of what alice may, and sends a batch of a third: it is refused, as one that takes as much again for its
/// files is, until the other half is free.
fn assert_takes_twice(kind: &str, body: &[u8]) {
    let daemon = Daemon::start_with(&LITTLE_MEMORY);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let (held, send) = beside_a_half(&daemon, &project, kind, body);
    send().assert_error(429, "too many bytes of bodies at once; try again in 1 s");
    assert_eq!(project.versions("main"), [""; 0]);
    drop(held);
    soon(|| send().status == 200);
}

/// A body that holds half of what the account may, until it is dropped, and what sends a batch beside it.
fn beside_a_half(
    daemon: &Daemon,
    project: &Project,
    kind: &str,
    body: &[u8],
) -> (Connection, impl Fn() -> Answer) {
    let user = &project.user;
    let mut held = announce(daemon, project, user, 300_000);
    held.send(&vec![b' '; 299_999]);
    soon(|| announced(daemon, project, user, 500_000) == 429);
    let send = move || {
        let request = user.request("POST", &project.on("main", "/batch"));
        request.header("Content-Type", kind).body(body).send()
    };
    (held, send)
}

#[test]
fn a_form_takes_the_memory_of_its_files_beside_its_own() {
    let mut form =
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n".to_vec();
    form.extend_from_slice(&vec![b'x'; 200_000]);
    form.extend_from_slice(b"\r\n--b--\r\n");
    assert_takes_twice("multipart/form-data; boundary=b", &form);
}

#[test]
fn a_batch_of_json_takes_the_memory_of_its_contents_beside_its_own() {
    let content = "x".repeat(200_000);
    let action = json!({ "action": "create", "file_path": "a", "content": content });
    let body = json!({ "actions": [action] }).to_string();
    assert_takes_twice("application/json", body.as_bytes());
}

#[test]
fn files_of_a_tar_are_parts_of_it_and_take_no_memory_beside_its_own() {
    let daemon = Daemon::start_with(&LITTLE_MEMORY);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let content = vec![b'x'; 200_000];
    let body = archive(&[("a", 0o644, FILE, &content)]);
    let (_held, send) = beside_a_half(&daemon, &project, "application/x-tar", &body);
    send().expect_status(200);
    project
        .user
        .get(&project.file("main", "a"))
        .assert_bytes(200, &content);
}

#[test]
fn who_announces_much_and_sends_nothing_keeps_nobody_out() {
    let daemon = Daemon::start();
    let role = ["ROLE_SITEBUILDER_EDITOR__ROOT"];
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| daemon.user(name, &role));
    let project = Project::with_main(&carol, "acme/shop");
    let _batches = [&alice, &bob].map(|user| announce(&daemon, &project, user, 64 << 20));
    let file = |name: String| project.file("main", &name);
    let _files: Vec<_> = (0..64)
        .map(|number| {
            let mut connection = daemon.connect();
            let save = alice.request("PUT", &file(format!("{number}.bin")));
            begin(
                &mut connection,
                &save.header("Expect", "100-continue"),
                1 << 30,
            );
            wait_for_body(&mut connection);
            connection
        })
        .collect();
    let saved = batch(&project, &carol).body(&small_batch("a.xml")).send();
    saved.expect_status(200);
    let large = vec![b'x'; 3 << 20];
    project.save("main", "large.bin", &large).expect_status(201);
    project.save("main", "b.xml", "<b/>").expect_status(201);
}

#[test]
fn what_is_small_does_not_wait_for_what_is_large() {
    let daemon = Daemon::start_with(&LITTLE_MEMORY);
    let role = ["ROLE_SITEBUILDER_EDITOR__ROOT"];
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| daemon.user(name, &role));
    let project = Project::with_main(&carol, "acme/shop");
    let mut first = announce(&daemon, &project, &alice, 600_000);
    let mut second = announce(&daemon, &project, &bob, 400_000);
    let probe = vec![b' '; 350_000];
    first.send(&probe);
    soon(|| announced(&daemon, &project, &carol, probe.len()) == 503);
    // A quarter is kept for what is small: of the rest there is not enough for this one any more.
    second.send(&probe);
    second.answer().assert_error(
        503,
        "too many bytes of bodies at once; try again in a moment",
    );
    for (user, path) in [(&alice, "a.xml"), (&bob, "b.xml"), (&carol, "c.xml")] {
        let saved = batch(&project, user).body(&small_batch(path)).send();
        saved.expect_status(200);
    }
    drop(first);
    soon(|| batch(&project, &carol).body(&probe).send().status == 400);
}

#[test]
fn what_holds_much_memory_must_come_fast() {
    let daemon = Daemon::start_with(&["--upload-grace-s", "1"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let slow = announce(&daemon, &project, &project.user, 60 << 20);
    // 20 KB a second, of which a smaller batch may be.
    let took = drip(slow, 1000, 408);
    assert!(took < Duration::from_secs(15), "{took:?}");
    // A small one only as fast as an upload, here for longer than the grace.
    let daemon = Daemon::start_with(&["--upload-grace-s", "5"]);
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let mut small = announce(&daemon, &project, &project.user, 75_000);
    let body = small_batch("a.xml");
    small.send(&body);
    for _ in 0..60 {
        thread::sleep(Duration::from_millis(100));
        small.send(&[b' '; 1000]);
    }
    small.send(&vec![b' '; 15_000 - body.len()]);
    small.answer().expect_status(200);
}
