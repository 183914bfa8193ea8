//! Compressed answers, and their tags: contract section 5.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::harness::{Answer, Daemon, Project, READ, User};

fn project(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for number in 0..40 {
        project.save("main", &format!("file {number}"), "x".repeat(200));
    }
    let reader = daemon.reader(&project);
    (project, reader)
}

fn ask(reader: &User, target: &str, coding: &str) -> Answer {
    reader
        .request("GET", target)
        .header("Accept-Encoding", coding)
        .send()
}

#[track_caller]
fn decoded(answer: &Answer) -> Vec<u8> {
    let mut body = Vec::new();
    GzDecoder::new(answer.body.as_slice())
        .read_to_end(&mut body)
        .expect("gzip");
    body
}

#[test]
fn large_answers_are_compressed_for_who_takes_it() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    for target in [
        project.read("/tree?recursive=1"),
        project.read("/tree?per_page=30"),
        project.read("/commits?per_page=30"),
        project.read("/compare?from=main@v0001&to=main"),
    ] {
        let plain = reader.get(&target).expect_status(200);
        let packed = ask(&reader, &target, "br, gzip;q=0.8").expect_status(200);
        assert_eq!(plain.header("Content-Encoding"), None);
        assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
        assert!(packed.body.len() * 2 < plain.body.len(), "{target}");
        assert!(decoded(&packed) == plain.body, "{target}");
        let (tag, other) = (
            plain.header("ETag").unwrap(),
            packed.header("ETag").unwrap(),
        );
        assert_ne!(tag, other, "two forms have two tags");
        assert_eq!(packed.header("Link"), plain.header("Link"));
        for answer in [&plain, &packed] {
            let vary = answer.header("Vary").unwrap();
            assert!(
                vary.split(", ").any(|name| name == "Accept-Encoding"),
                "{vary}"
            );
        }
        for coding in ["identity", "gzip;q=0", "deflate", "*;q=0"] {
            let answer = ask(&reader, &target, coding);
            assert_eq!(answer.header("Content-Encoding"), None, "{coding}");
            assert_eq!(answer.header("ETag"), Some(tag), "{coding}");
        }
        let known = |tag: &str, coding: &str| {
            let request = reader.request("GET", &target).header("If-None-Match", tag);
            request.header("Accept-Encoding", coding).send()
        };
        known(other, "gzip").assert_empty(304);
        known(tag, "identity").assert_empty(304);
        known(tag, "gzip").expect_status(200);
        let head = reader
            .request("HEAD", &target)
            .header("Accept-Encoding", "gzip")
            .send();
        assert_eq!(head.lasting_headers(), packed.lasting_headers());
    }
}

#[test]
fn small_answers_errors_and_files_are_not() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let long = "text\n".repeat(10_000);
    project.save("main", "long", &long);
    for (target, status) in [
        (format!("{READ}/version"), 200),
        (project.read("/tree?per_page=2"), 200),
        (project.read("/tree?ref=none"), 404),
        (project.raw("long"), 200),
    ] {
        let answer = ask(&reader, &target, "gzip").expect_status(status);
        assert_eq!(answer.header("Content-Encoding"), None, "{target}");
    }
}

#[test]
fn the_tag_of_a_page_knows_of_the_list_around_it() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let target = project.read("/tree?per_page=2");
    let first = reader.get(&target);
    project.save("main", "zzz", "more");
    let request = reader.request("GET", &target);
    let second = request
        .header("If-None-Match", first.header("ETag").unwrap())
        .send();
    let second = second.expect_status(200);
    assert_eq!(second.body, first.body, "the page itself is as it was");
    assert_ne!(second.header("X-Total"), first.header("X-Total"));
}
