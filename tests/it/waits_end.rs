//! Many who wait, and those who leave, are too many or are sent away.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::waits::{AT_ONCE, Stage, lawful, waiting, with_wait};

#[test]
fn a_crowd_is_told_the_same() {
    let stage = Stage::set();
    let target = stage.project.read("/branches/main");
    let request = waiting(&stage.reader, &target, 60).to_bytes();
    let mut crowd: Vec<_> = (0..500).map(|_| stage.daemon.connect()).collect();
    for connection in &mut crowd {
        connection.send(&request);
    }
    stage.wait_until(500);
    stage.project.save("main", "a.xml", "<b/>");
    let asked = stage.reader.get(&target);
    for connection in crowd {
        let answer = lawful(connection).expect_status(200);
        assert_eq!(answer.lasting_headers(), asked.lasting_headers());
        assert!(answer.body == asked.body);
    }
    stage.wait_until(0);
}

#[test]
fn who_leaves_frees_the_place_at_once_and_who_only_stops_sending_is_answered() {
    let stage = Stage::set_with(&["--waiting-max", "1"]);
    let target = stage.project.read("/branches/main");
    for _ in 0..3 {
        let connection = stage.waits_for_main();
        drop(connection);
        stage.wait_until(0);
    }
    let connection = stage.waits_for_main();
    let since = Instant::now();
    connection.finish_sending();
    lawful(connection).assert_empty(304);
    assert!(since.elapsed() < AT_ONCE);
    // So is one that sends much behind, and then leaves.
    let behind = stage.reader.request("GET", &target);
    let behind = behind.header("X-Padding", &"x".repeat(2000)).to_bytes();
    let mut connection = stage.waits_for_main();
    connection.send(&behind);
    connection.answer().assert_empty(304);
    stage.wait_until(0);
    connection.answer().expect_status(200);
    // Behind a little it waits as ever.
    connection.send(&waiting(&stage.reader, &target, 60).to_bytes());
    stage.wait_until(1);
    connection.send(&behind);
    drop(connection);
    stage.wait_until(0);
    // What is sent meanwhile is answered after it.
    let mut connection = stage.waits_for_main();
    connection.send(&stage.reader.request("GET", &target).to_bytes());
    stage.project.save("main", "a.xml", "<b/>");
    let first = connection.answer().expect_status(200);
    assert!(connection.answer().body == first.body);
}

#[test]
fn so_many_may_wait() {
    let limits = ["--waiting-max", "4", "--waiting-credential-max", "2"];
    let stage = Stage::set_with(&[&limits[..], &["--waiting-address-max", "0"]].concat());
    let Stage {
        daemon,
        project,
        reader,
    } = &stage;
    let target = project.read("/branches/main");
    let mut own: Vec<_> = (0..2).map(|_| stage.begin(reader, &target, 60)).collect();
    stage.wait_until(2);
    let refused = waiting(reader, &target, 60).send();
    refused.assert_error(
        429,
        "too many requests of one token or account wait; try again in 5 s",
    );
    assert_eq!(refused.header("Retry-After"), Some("5"));
    let other = daemon.reader(project);
    let _third = stage.begin(&other, &target, 60);
    stage.wait_until(3);
    // One is kept for people.
    let _fourth = stage.begin(&project.user, &project.on("main", ""), 60);
    stage.wait_until(4);
    let refused = waiting(&project.user, &project.on("main", ""), 60).send();
    refused.assert_error(503, "too many requests wait; try again in a moment");
    assert_eq!(refused.header("Retry-After"), Some("1"));
    // Whom there is something for does not wait.
    reader.get(&with_wait(&target, 60)).expect_status(200);
    waiting(reader, &target, 0).send().assert_empty(304);
    drop(own.pop());
    stage.wait_until(3);
    own.push(stage.begin(reader, &target, 60));
    stage.wait_until(4);

    let stage = Stage::set_with(&["--waiting-address-max", "1", "--trusted-proxies=127.0.0.1"]);
    let target = stage.project.read("/branches/main");
    let from = |address: &str| stage.reader.with("X-Forwarded-For", address);
    let _first = stage.begin(&from("192.0.2.66"), &target, 60);
    stage.wait_until(1);
    let refused = waiting(&from("192.0.2.66"), &target, 60).send();
    refused.assert_error(
        429,
        "too many requests of one address wait; try again in 5 s",
    );
    let _second = stage.begin(&from("192.0.2.1"), &target, 60);
    stage.wait_until(2);
}

#[test]
fn who_waits_leaves_connections_to_others_whatever_the_settings_say() {
    let stage = Stage::set_with(&["--connections-max", "3", "--waiting-max", "9000"]);
    let target = stage.project.on("main", "");
    let _waiting: Vec<_> = (1..=2)
        .map(|count| {
            let begun = stage.begin(&stage.project.user, &target, 60);
            stage.wait_until(count);
            begun
        })
        .collect();
    let refused = waiting(&stage.project.user, &target, 60).send();
    refused.assert_error(503, "too many requests wait; try again in a moment");
}

#[test]
fn tokens_of_one_account_leave_places_to_those_of_others_and_all_of_them_to_people() {
    // Of 8 places one is kept for people, and the tokens of one account take 6 at most.
    let stage = Stage::set_with(&["--waiting-max", "8"]);
    let (daemon, project) = (&stage.daemon, &stage.project);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let of_alice = [stage.reader.clone(), daemon.reader(project)];
    let of_bob = daemon.reader(&project.seen_by(&bob));
    let target = project.read("/branches/main");
    let _own: Vec<_> = (0..6)
        .map(|number| stage.begin(&of_alice[number % 2], &target, 60))
        .collect();
    stage.wait_until(6);
    for token in &of_alice {
        waiting(token, &target, 1).send().assert_error(
            429,
            "too many requests of one token or account wait; try again in 5 s",
        );
    }
    let _of_bob = stage.begin(&of_bob, &target, 60);
    stage.wait_until(7);
    let refused = waiting(&of_bob, &target, 1).send();
    refused.assert_error(503, "too many requests wait; try again in a moment");
    let _person = stage.begin(&project.user, &project.on("main", ""), 60);
    stage.wait_until(8);
}

#[test]
fn a_stop_answers_all_who_wait() {
    let mut stage = Stage::set();
    let places = stage.places();
    let waits: Vec<_> = (0..30)
        .map(|turn| {
            let (user, target) = &places[turn % places.len()];
            stage.begin(user, target, 60)
        })
        .collect();
    drop(places);
    stage.wait_until(30);
    let since = Instant::now();
    assert_eq!(stage.daemon.stop().code(), Some(0));
    assert!(since.elapsed() < AT_ONCE);
    for connection in waits {
        lawful(connection).assert_empty(304);
    }
}

#[test]
fn a_wait_goes_over_a_unix_socket_too() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let stage = Stage::set_with(&["--unix-listen", socket.to_str().unwrap()]);
    let target = stage.project.read("/branches/main");
    let request = waiting(&stage.reader, &target, 60).header("Connection", "close");
    let mut left = UnixStream::connect(&socket).unwrap();
    left.write_all(&request.to_bytes()).unwrap();
    stage.wait_until(1);
    drop(left);
    stage.wait_until(0);
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&request.to_bytes()).unwrap();
    stage.wait_until(1);
    stage.project.save("main", "a.xml", "<b/>");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}
