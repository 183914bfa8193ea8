//! What the service makes of request bodies and their framing: contract sections 1 and 2. Nothing
//! that is refused or cut short is stored.

use serde_json::json;

use crate::harness::{Answer, Connection, Daemon, Project, soon};

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.session("admin"), "acme/shop")
}

/// The head of a PUT of `a.xml` with these header lines, each ended by CR LF.
fn head(project: &Project, lines: &str) -> Vec<u8> {
    let request = project.user.request("PUT", &project.file("main", "a.xml"));
    let mut bytes = request.to_bytes();
    bytes.truncate(bytes.len() - 2);
    bytes.extend_from_slice(lines.as_bytes());
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Sends a PUT of `a.xml` with these header lines and this body, as they stand.
fn put(daemon: &Daemon, project: &Project, lines: &str, body: &[u8]) -> (Connection, Answer) {
    let mut connection = daemon.connect();
    let mut bytes = head(project, lines);
    bytes.extend_from_slice(body);
    connection.send(&bytes);
    let answer = connection.answer();
    (connection, answer)
}

/// Asserts that nothing was stored, not even for a while.
#[track_caller]
fn assert_nothing_stored(daemon: &Daemon, project: &Project) {
    assert_eq!(project.tree("main"), json!([]));
    assert_eq!(project.versions("main"), [""; 0]);
    // A client that is gone does not see its upload being removed.
    soon(|| daemon.uploads_under_way() == 0);
}

#[test]
fn lengths_that_contradict_are_refused() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for lines in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
    ] {
        let (_, answer) = put(&daemon, &project, lines, b"abc");
        assert_eq!(answer.status, 400, "{lines}: {answer:?}");
    }
    let (_, answer) = put(
        &daemon,
        &project,
        "Transfer-Encoding: gzip, chunked\r\n",
        b"3\r\nabc\r\n0\r\n\r\n",
    );
    answer.assert_refused(501);
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn an_announced_giant_is_refused_before_it_is_read() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for length in [
        "18446744073709551612",
        "9223372036854775807",
        "6000000000000",
    ] {
        let lines = format!("Content-Length: {length}\r\n");
        let (_, answer) = put(&daemon, &project, &lines, b"");
        answer.assert_refused(413);
    }
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn a_body_that_ends_early_is_not_stored() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let long = vec![b'x'; 300_000];
    for (lines, body) in [
        ("Content-Length: 100\r\n", b"abc" as &[u8]),
        ("Content-Length: 1000000\r\n", &long),
        ("Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n"),
        ("Transfer-Encoding: chunked\r\n", b"a\r\nabc"),
    ] {
        let mut connection = daemon.connect();
        connection.send(&head(&project, lines));
        connection.send(body);
        connection.finish_sending();
        // The daemon may answer 400 or just close; once it did, it is done with the body.
        while !connection.is_closed() {}
    }
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn broken_chunks_are_not_stored() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for body in [
        b"zz\r\nabc\r\n0\r\n\r\n" as &[u8],
        b"FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
    ] {
        let (_, answer) = put(&daemon, &project, "Transfer-Encoding: chunked\r\n", body);
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn a_request_hidden_in_a_body_is_not_answered() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let hidden = "0\r\n\r\nGET /site-builder/api/erp-config/health HTTP/1.1\r\nHost: x\r\n\r\n";
    let lines = format!(
        "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n",
        hidden.len()
    );
    let (mut connection, answer) = put(&daemon, &project, &lines, hidden.as_bytes());
    assert!(matches!(answer.status, 201 | 400), "{answer:?}");
    assert!(connection.is_closed(), "a second request was answered");
}

#[test]
fn compressed_bodies_are_refused() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for coding in ["gzip", "deflate", "br", "identity, gzip"] {
        let lines = format!("Content-Encoding: {coding}\r\nContent-Length: 3\r\n");
        let (_, answer) = put(&daemon, &project, &lines, b"abc");
        answer.assert_refused(415);
    }
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let lines = "Content-Length: 3\r\nExpect: 100-continue\r\n";
    let mut connection = daemon.connect();
    connection.send(&head(&project, lines));
    assert_eq!(connection.answer().status, 100);
    connection.send(b"abc");
    connection.answer().expect_status(201);
}

#[test]
fn a_client_that_asks_first_is_refused_without_sending() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let bob = daemon.user("bob", &[]);
    let nobody = daemon.anonymous().with("X-Nobody", "1");
    let lines = "Content-Length: 1000000\r\nExpect: 100-continue\r\n";
    for (project, status) in [
        (project.seen_by(&bob), 403),
        (project.seen_by(&nobody), 401),
    ] {
        let mut connection = daemon.connect();
        connection.send(&head(&project, lines));
        connection.answer().assert_refused(status);
    }
    let giant = "Content-Length: 9000000000000\r\nExpect: 100-continue\r\n";
    let mut connection = daemon.connect();
    connection.send(&head(&project, giant));
    connection.answer().assert_refused(413);
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn a_refused_upload_sees_its_answer() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let bob = daemon.user("bob", &[]);
    let body = vec![b'x'; 200_000];
    let target = project.file("main", "a.xml");
    bob.put(&target, &body).assert_refused(403);
    daemon.anonymous().put(&target, &body).assert_refused(401);
    project
        .user
        .put(&project.file("none", "a.xml"), &body)
        .assert_refused(404);
    assert_nothing_stored(&daemon, &project);
}

#[test]
fn a_file_above_the_limit_is_refused_however_it_comes() {
    let daemon = Daemon::start_with(&["--file-bytes-max", "1000"]);
    let project = project(&daemon);
    let target = project.file("main", "a.xml");
    project.user.put(&target, &[b'x'; 1001]).assert_refused(413);
    let mut chunked = b"3e9\r\n".to_vec();
    chunked.extend([b'x'; 1001]);
    chunked.extend(b"\r\n0\r\n\r\n");
    let (_, answer) = put(
        &daemon,
        &project,
        "Transfer-Encoding: chunked\r\n",
        &chunked,
    );
    answer.assert_refused(413);
    assert_nothing_stored(&daemon, &project);
    project.user.put(&target, &[b'x'; 1000]).expect_status(201);
}
