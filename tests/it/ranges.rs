//! Parts of files: contract section 5.

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
