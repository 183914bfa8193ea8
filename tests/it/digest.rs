//! The branch digest as clients see it: specification section 9, contract section 4.

use crate::harness::{Daemon, Project, User, branch_digest};

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

/// What the Read API says of `main`.
#[track_caller]
fn assert_digest(reader: &User, project: &Project, files: &[(&str, &[u8])]) {
    let digest = branch_digest(files);
    let branches = reader.get(&project.read("/branches")).json();
    let commit = &branches[0]["commit"];
    assert_eq!(commit["id"], digest[..40], "{files:?}");
    assert_eq!(commit["short_id"], digest[..8], "{files:?}");
    assert_eq!(project.short_id("main"), digest[..8]);
}

#[test]
fn an_empty_branch_has_the_digest_of_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    assert_eq!(project.short_id("main"), "e3b0c442");
    assert_digest(&daemon.reader(&project), &project, &[]);
}

#[test]
fn the_digest_is_that_of_paths_sizes_and_md5s_in_the_order_of_bytes() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let reader = daemon.reader(&project);
    let files: [(&str, &[u8]); 10] = [
        ("я.xml", "кириллица".as_bytes()),
        ("a/z", b"1"),
        ("a.d/x", b"22"),
        ("a-c", b"333"),
        ("a/B", b""),
        ("ab/c/d", b"\xff\x00"),
        ("a0", b"4"),
        ("Z", b"z"),
        ("with|pipe", b"p"),
        ("a b", b"s"),
    ];
    for (index, (path, body)) in files.iter().enumerate() {
        project.save("main", path, body);
        assert_digest(&reader, &project, &files[..=index]);
    }
}

#[test]
fn the_digest_follows_content_and_not_history() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a.xml", "one");
    project.save("main", "b.xml", "b");
    let before = project.short_id("main");
    project.save("main", "a.xml", "two");
    assert_ne!(project.short_id("main"), before);
    project.save("main", "a.xml", "one");
    assert_eq!(project.short_id("main"), before);
    project.save("main", "c.xml", "c");
    project
        .user
        .delete(&project.file("main", "c.xml"))
        .expect_status(200);
    assert_eq!(project.short_id("main"), before);
}

#[test]
fn a_rollback_to_the_same_content_has_the_same_digest() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let reader = daemon.reader(&project);
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "two");
    let target = project.on("main", "/rollback?to=v0002");
    project
        .user
        .request("POST", &target)
        .send()
        .expect_status(200);
    assert_digest(&reader, &project, &[("a.xml", b"one")]);
    project
        .user
        .request("POST", &target)
        .send()
        .expect_status(200);
    assert_digest(&reader, &project, &[("a.xml", b"one")]);
}

#[test]
fn equal_branches_have_equal_digests_whatever_their_project() {
    let daemon = Daemon::start();
    let one = project(&daemon);
    let two = Project::create(&one.user, "other");
    two.add_branch("test");
    for path in ["a.xml", "b/c.xml"] {
        one.save("main", path, path);
    }
    for path in ["b/c.xml", "a.xml"] {
        two.save("test", path, path);
    }
    assert_eq!(one.short_id("main"), two.short_id("test"));
}

#[test]
fn the_digest_is_the_same_after_a_restart() {
    let mut daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a.xml", "one");
    daemon.kill();
    daemon.restart();
    let project = project.seen_by(&daemon.session("alice"));
    let digest = branch_digest(&[("a.xml", b"one")]);
    assert_eq!(project.short_id("main"), digest[..8]);
}
