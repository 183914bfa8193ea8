//! Rows H: requests that are no requests, or that two readers could read differently. Over a raw socket.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Connection, Daemon, Project, READ, Request, soon};

/// What anybody may get.
const HEALTH: &str = "/site-builder/api/erp-config/health";
/// What memory may grow by while something is refused, in bytes.
const GROWTH_MAX: u64 = 32 << 20;

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.session("admin"), "acme/shop")
}

/// Bytes with `{host}` and `{health}` in them replaced.
fn filled(daemon: &Daemon, bytes: &str) -> String {
    let host = daemon.address().to_string();
    bytes.replace("{host}", &host).replace("{health}", HEALTH)
}

/// Sends such bytes.
fn connect(daemon: &Daemon, bytes: &str) -> Connection {
    let bytes = filled(daemon, bytes);
    let mut connection = daemon.connect();
    connection.send(bytes.as_bytes());
    connection
}

/// The statuses of all answers up to the end of the connection, to which nothing more is sent.
fn statuses(daemon: &Daemon, bytes: &str) -> Vec<String> {
    let mut connection = connect(daemon, bytes);
    connection.finish_sending();
    let answers = String::from_utf8_lossy(&connection.rest()).into_owned();
    let answers = answers.split("HTTP/1.1 ").skip(1);
    answers.map(|answer| answer[..3].to_owned()).collect()
}

/// A save of `a.xml` with these lines and this body as they stand.
fn save(project: &Project, lines: &str, body: &str) -> String {
    let request = project.user.request("PUT", &project.file("main", "a.xml"));
    let mut head = String::from_utf8(request.to_bytes()).unwrap();
    head.truncate(head.len() - 2);
    format!("{head}{lines}\r\n{body}")
}

#[track_caller]
fn assert_nothing_stored(project: &Project) {
    assert_eq!(project.tree("main"), json!([]));
}

#[test]
fn h12_versions_that_are_not_spoken() {
    let daemon = Daemon::start();
    for (bytes, expected) in [
        ("GET {health}\r\n\r\n", &["400"][..]),
        ("GET {health} HTTP/1.2\r\nHost: {host}\r\n\r\n", &["400"]),
        ("GET {health} HTTP/3.0\r\nHost: {host}\r\n\r\n", &["400"]),
        ("GET {health} http/1.1\r\nHost: {host}\r\n\r\n", &["400"]),
        // The preface of HTTP/2.
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[]),
    ] {
        assert_eq!(statuses(&daemon, bytes), expected, "{bytes:?}");
    }
}

#[test]
fn h16_a_number_sign_in_a_target_is_refused() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "config/prices", "kept");
    let delete = project.on("main", "/files/config%2Fprices#old.xml");
    let rollback = project.on("main", "/rollback?to=v0001&path=a#b&dry_run=1");
    for (method, target) in [("DELETE", &delete), ("POST", &rollback)] {
        let answer = project.user.request(method, target).send();
        let message = "the target holds a \"#\", which must be written %23";
        answer.assert_error(400, message);
        assert_eq!(answer.header("Connection"), Some("close"), "{target}");
    }
    let kept = project.user.get(&project.file("main", "config/prices"));
    kept.assert_bytes(200, b"kept");

    let fine = "GET {health} HTTP/1.1\r\nHost: {host}\r\nX-Number: #1\r\n\r\n";
    let cut = "GET {health}#part HTTP/1.1\r\nHost: {host}\r\n\r\n";
    let absolute = "GET http://{host}{health}#part HTTP/1.1\r\nHost: {host}\r\n\r\n";
    let chunked = save(&project, "Transfer-Encoding: chunked\r\n", "");
    let chunked = format!("{chunked}8\r\nA /# b\n\n\r\n0\r\nX: #\r\n\r\n");
    let whole = save(&project, "Content-Length: 8\r\n", "A /# b\n\n");
    for (bytes, expected) in [
        (cut.to_owned(), &["400"][..]),
        (absolute.to_owned(), &["400"]),
        (
            format!("{fine}\r\n{fine}{cut}{fine}"),
            &["200", "200", "400"],
        ),
        (
            format!("{chunked}{whole}{fine}{cut}"),
            &["201", "200", "200", "400"],
        ),
        (format!("{whole}{chunked}{cut}"), &["200", "200", "400"]),
    ] {
        assert_eq!(statuses(&daemon, &bytes), expected, "{bytes:?}");
    }
    // A line that comes in two pieces, the second time on a connection that has answered.
    for first in ["", fine] {
        let mut connection = connect(&daemon, first);
        if !first.is_empty() {
            connection.answer().expect_status(200);
        }
        let (start, end) = cut.split_at(cut.find('#').unwrap());
        connection.send(filled(&daemon, start).as_bytes());
        thread::sleep(Duration::from_millis(100));
        connection.send(filled(&daemon, end).as_bytes());
        connection.answer().assert_refused(400);
        assert!(connection.is_closed());
    }
}

#[test]
fn h20_lines_that_are_no_headers() {
    let daemon = Daemon::start();
    for line in [
        "X: a\0b",
        "X: a\u{1}b",
        "X: a\rb",
        "X: a\r\n folded",
        "X : a",
        "X\t: a",
        ": a",
        "X",
        "X y: a",
        "X\u{1}: a",
    ] {
        let bytes = format!("GET {{health}} HTTP/1.1\r\nHost: {{host}}\r\n{line}\r\n\r\n");
        assert_eq!(statuses(&daemon, &bytes), ["400"], "{line:?}");
    }
    let first = "GET {health} HTTP/1.1\r\n Host: {host}\r\n\r\n";
    assert_eq!(statuses(&daemon, first), ["400"]);
}

#[test]
fn h21_credentials_in_other_bytes() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let reader = daemon.reader(&project);
    let token = reader.credential();
    let target = project.read("/tree");
    let ask = |lines: &[u8]| {
        let mut connection = daemon.connect();
        let host = daemon.address();
        let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n");
        connection.send(&[head.as_bytes(), lines, b"\r\n\r\n"].concat());
        connection.answer()
    };
    ask(format!("PRIVATE-TOKEN: {token}").as_bytes()).expect_status(200);
    for bytes in [&b"\t"[..], b"\x80", b"\xff", "é".as_bytes()] {
        for (name, value) in [("PRIVATE-TOKEN", token), ("Cookie", "siteconf_session=")] {
            let (start, end) = value.split_at(7);
            let line = format!("{name}: {start}");
            let line = [line.as_bytes(), bytes, end.as_bytes()].concat();
            ask(&line).assert_error(401, "401 Unauthorized");
        }
        let line = format!("PRIVATE-TOKEN: {token}\r\nX-Instance-Id: a");
        // A token that is bound to no instance asks for none.
        ask(&[line.as_bytes(), bytes, b"b"].concat()).expect_status(200);
    }
}

#[test]
fn h22_lines_that_end_in_a_line_feed_alone() {
    let daemon = Daemon::start();
    let bytes = "GET {health} HTTP/1.1\nHost: {host}\n\n";
    assert_eq!(statuses(&daemon, bytes), ["200"]);
    // What one reader takes for the end of a head is it for the other.
    let bytes =
        "GET {health} HTTP/1.1\nHost: {host}\n\nGET {health} HTTP/1.1\r\nHost: {host}\r\n\r\n";
    assert_eq!(statuses(&daemon, bytes), ["200", "200"]);
}

#[test]
fn h23_lengths() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for lines in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 3\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 3 3\r\n",
        "Content-Length: \r\n",
        "Content-Length: 18446744073709551616\r\n",
    ] {
        let answers = statuses(&daemon, &save(&project, lines, "abc"));
        assert_eq!(answers, ["400"], "{lines:?}");
    }
    // Forgotten, and of before HTTP/1.1 cut off by the end of the connection.
    let forgotten = save(&project, "", "");
    assert_eq!(statuses(&daemon, &forgotten), ["400"]);
    let mut old = daemon.connect();
    let cut_off = save(&project, "", "abc").replace("HTTP/1.1", "HTTP/1.0");
    old.send(cut_off.as_bytes());
    old.answer().assert_refused(400);
    assert_nothing_stored(&project);
    let twice = "Content-Length: 3\r\nContent-Length: 3\r\n";
    assert_eq!(statuses(&daemon, &save(&project, twice, "abc")), ["201"]);
    let saved = project.user.get(&project.file("main", "a.xml"));
    saved.assert_bytes(200, b"abc");
}

#[test]
fn h24_a_giant_that_is_announced_takes_no_memory() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let before = daemon.resident_bytes();
    let batch = project.user.request("POST", &project.on("main", "/batch"));
    let batch = batch.header("Content-Type", "application/json");
    let put = project.user.request("PUT", &project.file("main", "a.xml"));
    let login = daemon.anonymous().request("POST", "/user/login");
    let login = login.header("Content-Type", "application/json");
    for request in [batch, put, login] {
        for length in [
            "18446744073709551612",
            "9223372036854775807",
            "9000000000000",
        ] {
            let bytes = request.clone().header("Content-Length", length).to_bytes();
            let mut connection = daemon.connect();
            connection.send(&bytes);
            connection.answer().assert_refused(413);
        }
    }
    let grown = daemon.resident_bytes().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{grown} bytes");
    assert_nothing_stored(&project);
}

#[test]
fn h27_a_length_beside_chunks() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let hidden = format!("0\r\n\r\nGET {HEALTH} HTTP/1.1\r\nHost: x\r\n\r\n");
    let length = format!("Content-Length: {}\r\n", hidden.len());
    let chunked = "Transfer-Encoding: chunked\r\n";
    for lines in [format!("{length}{chunked}"), format!("{chunked}{length}")] {
        // The chunks count, and nothing after them is a request.
        let answers = statuses(&daemon, &save(&project, &lines, &hidden));
        assert!(
            answers == ["201"] || answers == ["200"],
            "{lines:?}: {answers:?}"
        );
        let saved = project.user.get(&project.file("main", "a.xml"));
        saved.assert_bytes(200, b"");
    }
}

#[test]
fn h28_h29_h30_codings_of_the_transfer() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let chunk = "3\r\nabc\r\n0\r\n\r\n";
    for (lines, status) in [
        ("Transfer-Encoding: gzip\r\n", "400"),
        ("Transfer-Encoding: xchunked\r\n", "400"),
        ("Transfer-Encoding: chunked, identity\r\n", "400"),
        ("Transfer-Encoding: \u{b}chunked\r\n", "400"),
        ("Transfer-Encoding: gzip, chunked\r\n", "501"),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "400",
        ),
        ("Transfer-Encoding: chunked, chunked\r\n", "400"),
    ] {
        let answers = statuses(&daemon, &save(&project, lines, chunk));
        assert_eq!(answers, [status], "{lines:?}");
    }
    let old = save(&project, "Transfer-Encoding: chunked\r\n", chunk);
    let old = old.replace(" HTTP/1.1\r\n", " HTTP/1.0\r\n");
    assert_eq!(statuses(&daemon, &old), ["400"]);
    assert_nothing_stored(&project);
}

#[test]
fn h31_chunks_that_are_none() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let extension = format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(20 << 10));
    for body in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        "a\r\nabc",
        "3\r\nabc\r\n",
        "3\r\nabc\r\n0\r\n",
        &extension,
    ] {
        let answers = statuses(
            &daemon,
            &save(&project, "Transfer-Encoding: chunked\r\n", body),
        );
        assert_eq!(answers, ["400"], "{:?}", &body[..body.len().min(40)]);
    }
    assert_nothing_stored(&project);
}

#[test]
fn h35_other_expectations() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for expected in ["foo", "100-continue, foo", "200-ok", ""] {
        let lines = format!("Expect: {expected}\r\nContent-Length: 3\r\n");
        let answers = statuses(&daemon, &save(&project, &lines, "abc"));
        assert_eq!(answers, ["417"], "{expected:?}");
    }
    assert_nothing_stored(&project);
}

#[test]
fn h36_a_refused_upload_that_goes_on_reads_why() {
    let daemon = Daemon::start_with(&["--file-bytes-max", "1000000"]);
    let project = project(&daemon);
    let body = vec![b'x'; 3 << 20];
    let target = project.file("main", "a.xml");
    let stranger = daemon.user("bob", &[]);
    for (user, status) in [
        (&daemon.anonymous(), 401),
        (&stranger, 403),
        (&project.user, 413),
    ] {
        user.put(&target, &body).assert_refused(status);
    }
    // In chunks nothing announces how much it is.
    let mut chunked = save(&project, "Transfer-Encoding: chunked\r\n", "300000\r\n").into_bytes();
    chunked.extend(&body);
    chunked.extend(b"\r\n0\r\n\r\n");
    let mut connection = daemon.connect();
    connection.send(&chunked);
    connection.answer().assert_refused(413);
    assert_nothing_stored(&project);
}

#[test]
fn h37_many_requests_in_one_write() {
    const REQUESTS: usize = 1000;
    let daemon = Daemon::start();
    let project = project(&daemon);
    for path in ["0.xml", "1.xml", "2.xml"] {
        project.save("main", path, path);
    }
    let ask = |number: usize| -> Request {
        let path = format!("{}.xml", number % 3);
        project.user.request("GET", &project.file("main", &path))
    };
    let before = daemon.resident_bytes();
    let pipeline: Vec<u8> = (0..REQUESTS)
        .flat_map(|number| ask(number).to_bytes())
        .collect();
    let mut connection = daemon.connect();
    let mut sending = TcpStream::connect(daemon.address()).unwrap();
    // One reads its answers, the other takes none of them.
    thread::scope(|scope| {
        let mut end = connection.another_end();
        let pipeline = &pipeline;
        scope.spawn(move || end.send(pipeline));
        sending
            .set_write_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        drop(sending.write_all(pipeline));
        let asked = Instant::now();
        daemon.anonymous().get(HEALTH).expect_status(200);
        // The one that takes nothing is given up 30 s after it was to take something.
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?}");
        for number in 0..REQUESTS {
            let answer = connection.answer();
            answer.assert_bytes(200, format!("{}.xml", number % 3).as_bytes());
        }
    });
    let grown = daemon.resident_bytes().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{grown} bytes");
}

#[test]
fn h38_bodies_where_none_belongs() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a.xml", "kept");
    let reader = daemon.reader(&project);
    let file = project.file("main", "a.xml");
    for method in ["GET", "HEAD", "DELETE"] {
        let answer = project.user.request(method, &file).body(b"abc").send();
        assert_eq!(answer.status, 400, "{method}");
    }
    project.user.get(&file).assert_bytes(200, b"kept");
    // Clients of the Read API send bodies that say nothing.
    let raw = reader.request("GET", &project.raw("a.xml")).body(b"abc");
    raw.send().assert_bytes(200, b"kept");
    // Bytes that nobody announced are the next request, and none that does anything.
    let bytes = "GET {health} HTTP/1.1\r\nHost: {host}\r\n\r\nabcGET {health} HTTP/1.1\r\nHost: {host}\r\n\r\n";
    assert_eq!(statuses(&daemon, bytes), ["200", "501"]);
}

/// How long clients that say nothing are waited for, unless a setting says otherwise.
const USUAL_WAIT: Duration = Duration::from_secs(20);

/// All that is said over a connection until its end to who says this, and nothing where it was said too late: who is
/// kept from its core between its connection and its request finds the one ended, or reset.
fn heard(daemon: &Daemon, bytes: &str) -> String {
    let bytes = filled(daemon, bytes);
    let mut stream = TcpStream::connect(daemon.address()).unwrap();
    stream.set_read_timeout(Some(2 * USUAL_WAIT)).unwrap();
    drop(stream.write_all(bytes.as_bytes()));
    let mut heard = Vec::new();
    drop(stream.read_to_end(&mut heard));
    String::from_utf8(heard).unwrap()
}

#[test]
fn h39_connections_that_say_nothing() {
    let daemon = Daemon::start_with(&["--head-s-max", "1"]);
    let begun = Instant::now();
    let once = "GET {health} HTTP/1.1\r\nHost: {host}\r\n\r\n";
    let mut silent = [
        connect(&daemon, ""),
        connect(&daemon, "GET {hea"),
        connect(&daemon, "GET {health} HTTP/1.1\r\nHost: {host}\r\nX-Part: "),
    ];
    for (row, connection) in silent.iter_mut().enumerate() {
        assert!(connection.is_closed(), "{row}: an answer to nothing");
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(took < USUAL_WAIT, "{took:?}");
    // Those that say something first.
    for bytes in [once, &format!("{once}GET ")] {
        let (mut said, mut took) = (String::new(), Duration::ZERO);
        soon(|| {
            let begun = Instant::now();
            said = heard(&daemon, bytes);
            took = begun.elapsed();
            !said.is_empty()
        });
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        assert!(took < USUAL_WAIT, "{took:?}");
    }
    // And one that sends a byte now and then.
    let mut slow = connect(&daemon, "GET ");
    let begun = Instant::now();
    thread::scope(|scope| {
        let mut end = slow.another_end();
        scope.spawn(move || {
            for _ in 0..8 {
                end.send(b"/");
                thread::sleep(Duration::from_millis(200));
            }
        });
        assert!(slow.is_closed());
    });
    let took = begun.elapsed();
    assert!(took < USUAL_WAIT, "{took:?}");
    daemon
        .anonymous()
        .get(&format!("{READ}/health"))
        .expect_status(200);
}
