//! What batches and checks of contents take that are small on their way.

use std::io::Cursor;
use std::thread;

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::client::{Client, segment};
use crate::daemon::{PROJECT, file, on_branch};
use crate::limited::{alone, assert_within, with_project};

/// Whoever finds no place is soon told.
const HASTY: [&str; 2] = ["--thread-wait-s-max", "1"];
const FILES: usize = 9_999;

/// Sends so many batches of one account at once, each by this type and body.
fn send_all(admin: &Client, count: usize, kind: &str, body: &(impl Fn(usize) -> Vec<u8> + Sync)) {
    thread::scope(|scope| {
        for number in 0..count {
            let mut client = admin.another();
            scope.spawn(move || {
                let sent = client.attempt("POST", &on_branch("/batch"), kind, &body(number));
                // It may have been refused before all of it was sent.
                if let Ok(answer) = sent {
                    assert!(matches!(answer.status, 200 | 429 | 503), "{answer:?}");
                }
            });
        }
    });
}

#[test]
fn batches_of_many_empty_files() {
    let _alone = alone();
    let (daemon, admin) = with_project(&HASTY);
    send_all(&admin, 100, "application/json", &|batch| {
        let create = |number| json!({ "action": "create", "file_path": format!("{batch}/{number}"), "content": "" });
        let actions: Vec<_> = (0..FILES).map(create).collect();
        json!({ "actions": actions }).to_string().into_bytes()
    });
    assert_within(&daemon);
}

#[test]
fn zips_of_many_empty_files() {
    let _alone = alone();
    let (daemon, admin) = with_project(&HASTY);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..FILES {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(number.to_string(), stored).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    send_all(&admin, 100, "application/zip", &|_| zip.clone());
    assert_within(&daemon);
}

#[test]
fn yaml_that_is_nested_or_in_brackets_without_end() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let rules = json!({ "rules": [{ "patterns": ["*.yaml"], "check": "yaml" }] }).to_string();
    let target = format!("/site-builder/api/projects/{}/validation", segment(PROJECT));
    let set = admin.attempt("PUT", &target, "application/json", rules.as_bytes());
    assert_eq!(set.unwrap().status, 200);
    for (begin, entry) in [
        ("", ": "),
        ("", "- "),
        ("", "? "),
        ("[", "0,"),
        ("[", "[],"),
    ] {
        let content = begin.to_owned() + &entry.repeat((8 << 20) / entry.len() - 1);
        let target = file("a.yaml");
        let refused = admin.attempt(
            "PUT",
            &target,
            "application/octet-stream",
            content.as_bytes(),
        );
        assert_eq!(refused.unwrap().status, 400, "{entry}");
    }
    assert_within(&daemon);
}
