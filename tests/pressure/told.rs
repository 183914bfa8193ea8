//! What the answers to batches take: refusals of what is long, and tags of what was saved.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::json;
use tar::EntryType;

use crate::client::Client;
use crate::daemon::on_branch;
use crate::limited::{Crowd, alone, announce, assert_within, status, with_project};

/// As much of a batch as there is room for beside a few words.
const LONG: usize = 63 << 20;
/// No refusal that repeats little is longer.
const REFUSAL_BYTES_MAX: usize = 2 << 10;
/// Whoever takes nothing is waited for longer than a test takes.
const PATIENT: [&str; 2] = ["--write-s-max", "600"];

/// Sends a batch that is refused in few words.
#[track_caller]
fn assert_refused(admin: &mut Client, kind: &str, body: &[u8]) {
    let refused = admin.attempt("POST", &on_branch("/batch"), kind, body);
    let refused = refused.unwrap();
    assert_eq!(refused.status, 400);
    let length = refused.body.len();
    assert!(length < REFUSAL_BYTES_MAX, "{length} bytes");
}

#[test]
fn refusals_of_long_texts_of_json() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    // Soft hyphens take three times as much where they are shown as what is not seen.
    let long = "\u{ad}".repeat(LONG / 2);
    for (begin, end) in [
        ("{\"", "\":1}"),
        ("{\"actions\":\"", "\"}"),
        ("{\"actions\":[{\"action\":\"", "\",\"file_path\":\"a\"}]}"),
        (
            "{\"actions\":[{\"action\":\"delete\",\"file_path\":\"",
            "\"}]}",
        ),
    ] {
        let body = [begin, long.as_str(), end].concat();
        assert_refused(&mut admin, "application/json", body.as_bytes());
    }
    // These are short enough to be looked at.
    let long = "x".repeat(50 << 10);
    for (begin, end) in [
        ("{\"", "\":1}"),
        ("{\"actions\":[{\"action\":\"", "\",\"file_path\":\"a\"}]}"),
        (
            "{\"actions\":[{\"action\":\"delete\",\"file_path\":\"",
            "\"}]}",
        ),
    ] {
        let body = [begin, long.as_str(), end].concat();
        assert_refused(&mut admin, "application/json", body.as_bytes());
    }
    assert_within(&daemon);
}

#[test]
fn refusals_of_long_names_of_archives() {
    let _alone = alone();
    let (daemon, mut admin) = with_project(&[]);
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |kind: EntryType, content: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_path("a").unwrap();
        header.set_mode(0o644);
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content).unwrap();
    };
    // The line begins with its length, of which that is a part.
    let line = format!(" path={}\n", "x".repeat(LONG));
    let length = line.len() + line.len().to_string().len();
    add(EntryType::XHeader, format!("{length}{line}").as_bytes());
    add(EntryType::Regular, b"");
    let archive = archive.into_inner().unwrap();
    assert_refused(&mut admin, "application/x-tar", &archive);
    assert_within(&daemon);
}

#[test]
fn tags_that_nobody_takes() {
    let _alone = alone();
    let (daemon, admin) = with_project(&PATIENT);
    // The paths of as many as this take more than half of what one account may leave untaken.
    let folder = vec!["f".repeat(240); 16].join("/");
    let mut body = "{\"actions\":[".to_owned();
    for number in 0..6_200 {
        let comma = if number == 0 { "" } else { "," };
        write!(
            body,
            "{comma}{{\"action\":\"create\",\"file_path\":\"{folder}/{number:0>200}\",\"content\":\"\"}}"
        )
        .unwrap();
    }
    body.push_str("]}");
    let target = on_branch("/batch");
    let mut untaken = Crowd::of(&daemon).connect(0);
    announce(&mut untaken, "POST", &target, &admin.credential, body.len());
    untaken.write_all(body.as_bytes()).unwrap();
    assert_eq!(status(untaken.try_clone().unwrap()), 200);
    // It is told before anything is done: that the files are there already would be another refusal.
    let refused = admin
        .another()
        .attempt("POST", &target, "application/json", body.as_bytes());
    let refused = refused.unwrap();
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.json(),
        json!({ "message": "too many bytes of answers at once; try again in 1 s" })
    );
    assert_within(&daemon);
}
