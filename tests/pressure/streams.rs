//! Streams of what changes in many branches.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read as _};
use std::net::TcpStream;

use serde_json::Value;
use siteconf::base::limits::EVENT_BYTES_MAX;

use crate::client::Client;
use crate::limited::{Crowd, alone, assert_within, open_files, put, with_project};
use crate::lists::{
    CLIENTS, PATIENT, QUOTES, ask, make_branches, of_project, say_much, with_branches,
};

/// No branch with a long message takes more bytes.
const BRANCH_BYTES_MAX: usize = 5 * QUOTES;

/// A stream that was begun, of which nothing but the status was read.
fn begun(crowd: &Crowd, number: usize, client: &Client) -> BufReader<TcpStream> {
    let mut stream = BufReader::new(ask(crowd, number, client, &of_project("/events")));
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 200 OK\r\n");
    stream
}

#[test]
fn streams_that_tell_of_many_branches() {
    let _alone = alone();
    open_files(2_000);
    // More than memory keeps of one project.
    let (daemon, admin) = with_branches(6_500);
    let crowd = Crowd::of(&daemon);
    let begun = |number| begun(&crowd, number, &admin);
    let mut held: Vec<_> = (0..300).map(begun).collect();
    // Its own connection was not used for long.
    put(&mut admin.another(), "a.xml", b"<a/>");
    for stream in &mut held {
        let told = stream.lines().map(Result::unwrap);
        let mut told = told.filter(|line| line.starts_with("data: "));
        assert!(told.next().unwrap().contains("\"name\":\"main\""));
    }
    assert_within(&daemon);
}

#[test]
fn streams_that_are_read_late_and_tell_of_branches_with_long_messages() {
    const COUNT: usize = 1_500;
    let _alone = alone();
    open_files(2_000);
    let (daemon, admin) = with_project(&PATIENT);
    make_branches(&admin, COUNT);
    let crowd = Crowd::of(&daemon);
    let begun = |number| begun(&crowd, number, &admin);
    let mut held: Vec<_> = (0..CLIENTS).map(begun).collect();
    let last = held.pop().unwrap();
    say_much(&admin, 0..COUNT, "a.xml");
    // More than was made for each before it was left standing, so that it is looked at the branches once more.
    let mut some = vec![0; 512 << 10];
    for stream in &mut held {
        stream.read_exact(&mut some).unwrap();
    }
    assert_within(&daemon);
    let told = last.lines().map(Result::unwrap);
    let mut told = told.filter(|line| line.starts_with("data: {"));
    let mut names = BTreeSet::new();
    while names.len() < COUNT {
        let event = told.next().unwrap();
        let length = event.len();
        assert!(length < EVENT_BYTES_MAX + BRANCH_BYTES_MAX, "{length}");
        let event: Value = serde_json::from_str(&event["data: ".len()..]).unwrap();
        for branch in event["branches"].as_array().unwrap() {
            let name = branch["name"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is told twice");
            assert_eq!(branch["commit"]["message"], "\"".repeat(QUOTES));
        }
    }
    assert_within(&daemon);
}

#[test]
fn streams_that_stand_still_each_in_another_state_of_many_branches() {
    const COUNT: usize = 2_000;
    // More than is told of them before somebody takes it.
    const CHANGED: usize = 16;
    let _alone = alone();
    let (daemon, admin) = with_project(&PATIENT);
    make_branches(&admin, COUNT);
    say_much(&admin, 0..COUNT, "a.xml");
    let crowd = Crowd::of(&daemon);
    let mut held = Vec::new();
    for number in 0..10 {
        let mut stream = begun(&crowd, number, &admin);
        say_much(&admin, 0..CHANGED, &format!("{number}.xml"));
        // It was looked at them before this is told.
        let mut told = stream.by_ref().lines().map(Result::unwrap);
        assert!(told.any(|line| line.starts_with("data: {")));
        held.push(stream);
    }
    assert_within(&daemon);
}
