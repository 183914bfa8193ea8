//! Parts of files: contract section 5.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::harness::{Answer, Daemon, Project, User};

fn ask(user: &User, target: &str, range: &str) -> Answer {
    user.request("GET", target).header("Range", range).send()
}

/// A project with the ten bytes of `digits`, and a body that lies in a file of its own in `large`.
fn saved(daemon: &Daemon) -> (Project, Vec<u8>) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let large: Vec<u8> = (0..1_000_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();
    project.save("main", "digits", "0123456789");
    project.save("main", "large", &large);
    project.save("main", "empty", "");
    (project, large)
}

#[test]
fn one_range_is_answered_alone() {
    let daemon = Daemon::start();
    let (project, large) = saved(&daemon);
    let reader = daemon.reader(&project);
    for (user, target) in [
        (&project.user, project.file("main", "digits")),
        (&reader, project.raw("digits")),
    ] {
        let whole = user.get(&target);
        assert_eq!(whole.header("Accept-Ranges"), Some("bytes"));
        for (range, answered, body) in [
            ("bytes=0-0", "bytes 0-0/10", "0"),
            ("bytes=2-5", "bytes 2-5/10", "2345"),
            ("bytes=7-", "bytes 7-9/10", "789"),
            ("bytes=7-99", "bytes 7-9/10", "789"),
            ("bytes=-3", "bytes 7-9/10", "789"),
            ("bytes=-99", "bytes 0-9/10", "0123456789"),
            ("bytes=0-18446744073709551615", "bytes 0-9/10", "0123456789"),
        ] {
            let answer = ask(user, &target, range);
            answer.assert_bytes(206, body.as_bytes());
            assert_eq!(answer.header("Content-Range"), Some(answered));
            assert_eq!(answer.header("ETag"), whole.header("ETag"));
        }
    }
    let answer = ask(
        &project.user,
        &project.file("main", "large"),
        "bytes=262100-600000",
    );
    answer.assert_bytes(206, &large[262_100..=600_000]);
}

#[test]
fn a_range_beyond_the_end_cannot_be_answered() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    for (path, range, size) in [
        ("digits", "bytes=10-", 10),
        ("digits", "bytes=10-20", 10),
        ("digits", "bytes=-0", 10),
        ("empty", "bytes=0-0", 0),
    ] {
        let answer = ask(&project.user, &project.file("main", path), range);
        answer.assert_refused(416);
        let whole = format!("bytes */{size}");
        assert_eq!(answer.header("Content-Range"), Some(whole.as_str()));
    }
}

#[test]
fn several_ranges_or_nonsense_get_the_whole_file() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let many = format!("bytes={}", vec!["0-1"; 1000].join(","));
    for range in [
        "bytes=0-1,3-4",
        &many,
        "bytes=9-1",
        "bytes=",
        "bytes=a-b",
        "lines=0-1",
        "0-1",
    ] {
        let answer = ask(&project.user, &project.file("main", "digits"), range);
        answer.assert_bytes(200, b"0123456789");
        assert_eq!(answer.header("Content-Range"), None);
    }
}

#[test]
fn a_range_of_a_file_that_changed_is_the_whole_new_file() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let target = project.file("main", "digits");
    let tag = project.user.get(&target).header("ETag").unwrap().to_owned();
    let resume = || {
        project
            .user
            .request("GET", &target)
            .header("Range", "bytes=5-")
            .header("If-Range", &tag)
            .send()
    };
    resume().assert_bytes(206, b"56789");
    project.save("main", "digits", "abcdefghij");
    resume().assert_bytes(200, b"abcdefghij");
}

/// Damage that comes while the daemon runs, to a file of which it has served a part before. The pieces
/// that it has in memory are right.
#[test]
fn a_large_file_that_is_damaged_after_its_first_read_is_cut_off_before_the_damage() {
    const PIECE: usize = 256 << 10;
    let daemon = Daemon::start();
    let (project, large) = saved(&daemon);
    let reader = daemon.reader(&project);
    let targets = [
        (&project.user, project.file("main", "large")),
        (&reader, project.raw("large")),
    ];
    let id = blake3::hash(&large).to_string();
    let file = daemon.data().join("blobs").join(&id[..2]).join(&id[2..]);
    let flip = |at: usize| {
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&file, bytes).unwrap();
    };

    // The first piece is read while there is still an answer to be chosen.
    flip(0);
    for (user, target) in &targets {
        user.get(target).assert_refused(500);
    }
    flip(0);
    for (user, target) in &targets {
        let last = ask(user, target, "bytes=-9");
        last.assert_bytes(206, &large[large.len() - 9..]);
    }
    flip(700_000);
    let sent = |user: &User, target: &str, range: Option<&str>| {
        let mut request = user.request("GET", target);
        if let Some(range) = range {
            request = request.header("Range", range);
        }
        let mut connection = daemon.connect();
        connection.send(&request.to_bytes());
        connection.finish_sending();
        let sent = connection.rest();
        if sent.is_empty() {
            // It was cut off before anything had left.
            return (String::new(), sent);
        }
        let end = sent.windows(4).position(|four| four == b"\r\n\r\n");
        let body = end.expect("a head comes") + 4;
        let status = std::str::from_utf8(&sent[9..12]).unwrap().to_owned();
        (status, sent[body..].to_vec())
    };
    for (user, target) in &targets {
        let (status, body) = sent(user, target, None);
        assert!(["200", ""].contains(&&*status), "{status}");
        assert!(
            body.len() <= 2 * PIECE && large.starts_with(&body),
            "{} bytes",
            body.len()
        );
        for (from, to) in [(0, 9), (1000, 2 * PIECE - 1), (3 * PIECE, large.len() - 1)] {
            let answer = ask(user, target, &format!("bytes={from}-{to}"));
            answer.assert_bytes(206, &large[from..=to]);
        }
        let (status, body) = sent(user, target, Some("bytes=500000-999999"));
        assert!(["206", ""].contains(&&*status), "{status}");
        let sound = &large[500_000..2 * PIECE];
        assert!(sound.starts_with(&body), "{} bytes", body.len());
        for range in [
            "bytes=600000-600009",
            "bytes=700001-700002",
            "bytes=-250000",
        ] {
            ask(user, target, range).assert_refused(500);
        }
    }
    let json = project.read("/files/large?ref=main");
    let (status, body) = sent(&reader, &json, None);
    assert!(["200", ""].contains(&&*status), "{status}");
    assert!(!body.ends_with(b"}"));

    flip(700_000);
    for (user, target) in &targets {
        user.get(target).assert_bytes(200, &large);
    }
    let whole = reader.get(&json).expect_status(200).json();
    let encoded = whole["content"].as_str().unwrap();
    assert!(BASE64_STANDARD.decode(encoded).unwrap() == large);
}
