//! Rolling back: specification section 4.2, contract section 6.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, branch_digest, paths};

/// A branch whose states v0001 … v0005 differ; the head holds three files.
fn project(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "a one");
    project.save("main", "dir/b.xml", "b one");
    project.save("main", "a.xml", "a two");
    project.save("main", "dir/b.xml", "b two");
    project.save("main", "dir/c.xml", "c one");
    project
}

fn rollback(project: &Project, query: &str) -> Answer {
    let target = project.on("main", &format!("/rollback?{query}"));
    project.user.request("POST", &target).send()
}

/// The branch's files with their text.
#[track_caller]
fn files(project: &Project) -> Vec<(String, String)> {
    let tree = project.tree("main");
    let is_file = |path: &&str| path.contains(".xml");
    let read = |path: &str| {
        let answer = project.user.get(&project.file("main", path));
        (path.to_owned(), answer.text().to_owned())
    };
    paths(&tree).into_iter().filter(is_file).map(read).collect()
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    files.iter().map(owned).collect()
}

#[test]
fn a_rollback_restores_a_snapshot_and_keeps_what_was() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let before = files(&project);
    let digest = branch_digest(&[("a.xml", b"a one"), ("dir/b.xml", b"b one")]);
    rollback(&project, "to=v0003").assert_json(
        200,
        &json!({
            "restored": "v0003", "snapshot": "v0006",
            "commit_id": digest[..40], "short_id": digest[..8], "unchanged": false,
        }),
    );
    assert_eq!(
        files(&project),
        owned(&[("a.xml", "a one"), ("dir/b.xml", "b one")])
    );
    assert_eq!(project.versions("main")[0], "v0006");
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["operation"], "rollback");
    assert_eq!(history[0]["path"], Value::Null);
    assert_eq!(history[0]["files"], 3);

    rollback(&project, "to=v0006").expect_status(200);
    assert_eq!(files(&project), before);
    assert_eq!(project.versions("main").len(), 7);
}

#[test]
fn a_rollback_to_the_first_snapshot_empties_the_branch() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    rollback(&project, "to=v0001").assert_json(
        200,
        &json!({
            "restored": "v0001", "snapshot": "v0006",
            "commit_id": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4",
            "short_id": "e3b0c442", "unchanged": false,
        }),
    );
    assert_eq!(project.tree("main"), json!([]));
}

#[test]
fn a_rehearsal_says_what_would_change_and_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let (before, versions) = (files(&project), project.versions("main"));
    let target = project.on("main", "/diff?from=main&to=v0002");
    let diff = project.user.get(&target).expect_status(200).json();
    assert_eq!(paths(&diff), ["a.xml", "dir/b.xml", "dir/c.xml"]);
    rollback(&project, "to=v0002&dry_run=1").assert_json(200, &diff);
    assert_eq!(files(&project), before);
    assert_eq!(project.versions("main"), versions);
    rollback(&project, "to=v0002&dry_run=perhaps").assert_refused(400);
    assert_eq!(project.versions("main"), versions);
    rollback(&project, "to=v0002&dry_run=0").expect_status(200);
    assert_eq!(files(&project), owned(&[("a.xml", "a one")]));
}

#[test]
fn one_file_can_be_rolled_back_alone() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    rollback(&project, "to=v0003&path=a.xml").expect_status(200);
    assert_eq!(
        files(&project),
        owned(&[
            ("a.xml", "a one"),
            ("dir/b.xml", "b two"),
            ("dir/c.xml", "c one")
        ])
    );
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["operation"], "rollback");
    assert_eq!(history[0]["path"], "a.xml");
}

#[test]
fn several_paths_are_rolled_back_as_one() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let digest = branch_digest(&[("a.xml", b"a one"), ("dir/b.xml", b"b one")]);
    let paths = "to=v0003&path=a.xml&path=dir%2Fb.xml&path=dir%2Fc.xml";
    let rehearsed = rollback(&project, &format!("{paths}&dry_run=1")).json();
    assert_eq!(
        crate::harness::paths(&rehearsed),
        ["a.xml", "dir/b.xml", "dir/c.xml"]
    );
    rollback(&project, paths).assert_json(
        200,
        &json!({
            "restored": "v0003", "snapshot": "v0006",
            "commit_id": digest[..40], "short_id": digest[..8], "unchanged": false,
        }),
    );
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["operation"], "rollback");
    assert_eq!(history[0]["path"], Value::Null);
    // A folder, and a file in it that both states lack by then.
    rollback(&project, "to=v0001&path=dir&path=dir%2Fb.xml").expect_status(200);
    assert_eq!(files(&project), owned(&[("a.xml", "a one")]));
    rollback(&project, "to=v0002&path=a.xml&path=none.xml").assert_error(404, "File not found");
    rollback(&project, "to=v0002&path=a.xml&path=..%2Fx").assert_refused(400);
    assert_eq!(project.versions("main").len(), 7);
}

#[test]
fn who_may_only_read_may_rehearse() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let reader = project.seen_by(&daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]));
    let shown = rollback(&project, "to=v0002&dry_run=1").json();
    rollback(&reader, "to=v0002&dry_run=1").assert_json(200, &shown);
    rollback(&reader, "to=v0002").assert_refused(403);
    let stranger = project.seen_by(&daemon.user("stranger", &[]));
    rollback(&stranger, "to=v0002&dry_run=1").assert_refused(403);
}

#[test]
fn one_folder_can_be_rolled_back_alone() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    rollback(&project, "to=v0003&path=dir").expect_status(200);
    assert_eq!(
        files(&project),
        owned(&[("a.xml", "a two"), ("dir/b.xml", "b one")])
    );
    rollback(&project, "to=v0001&path=dir%2F").expect_status(200);
    assert_eq!(files(&project), owned(&[("a.xml", "a two")]));
    // The root is everything, beside a part of it, too.
    rollback(&project, "to=v0003&path=a.xml&path=%2F").expect_status(200);
    let restored = files(&project);
    rollback(&project, "to=v0001").expect_status(200);
    rollback(&project, "to=v0003").expect_status(200);
    assert_eq!(files(&project), restored);
    assert!(restored.len() > 1, "{restored:?}");
}

#[test]
fn a_file_that_did_not_exist_yet_is_taken_away() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    rollback(&project, "to=v0004&path=dir/c.xml").expect_status(200);
    assert_eq!(
        files(&project),
        owned(&[("a.xml", "a two"), ("dir/b.xml", "b two")])
    );
}

#[test]
fn a_rollback_needs_a_snapshot_that_exists() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let before = files(&project);
    for malformed in [
        "",
        "to=",
        "to=v1",
        "to=3",
        "to=V0001",
        "to=main",
        "path=a.xml",
    ] {
        rollback(&project, malformed).assert_refused(400);
    }
    for absent in ["to=v0006", "to=v0000", "to=v9999"] {
        rollback(&project, absent).assert_refused(404);
    }
    rollback(&project, "to=v0003&path=none.xml").assert_refused(404);
    rollback(&project, "to=v0003&path=../x").assert_refused(400);
    let elsewhere = project.on("none", "/rollback?to=v0001");
    project
        .user
        .request("POST", &elsewhere)
        .send()
        .assert_refused(404);
    assert_eq!(files(&project), before);
    assert_eq!(project.versions("main").len(), 5);
}

#[test]
fn a_path_that_meets_a_file_on_its_way_is_refused() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a/b.xml", "in a folder");
    project
        .user
        .delete(&project.file("main", "a/b.xml"))
        .expect_status(200);
    project.save("main", "a", "now a file");
    rollback(&project, "to=v0002&path=a/b.xml").assert_refused(400);
    let answer = project.user.get(&project.file("main", "a"));
    answer.assert_bytes(200, b"now a file");
    assert_eq!(project.versions("main").len(), 3);
}

#[test]
fn rolling_back_is_not_reading() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let answer = project.user.get(&project.on("main", "/rollback?to=v0001"));
    answer.assert_refused(405);
    assert_eq!(answer.header("Allow"), Some("POST, OPTIONS"));
    assert_eq!(project.versions("main").len(), 5);
}

#[test]
fn a_file_comes_back_where_a_folder_lies_and_the_reverse() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "conf.xml", "a file");
    project.user.delete(&project.file("main", "conf.xml"));
    project.save("main", "conf.xml/a.xml", "in a folder");
    project.save("main", "conf.xml/b/c.xml", "deep");
    project.save("main", "other.xml", "other");
    let before = project.short_id("main");
    let as_file = [("conf.xml", "a file"), ("other.xml", "other")];
    let shown = rollback(&project, "to=v0002&path=conf.xml&dry_run=1");
    let shown = shown.expect_status(200).json();
    assert_eq!(paths(&shown).len(), 3, "{shown}");
    rollback(&project, "to=v0002&path=conf.xml").expect_status(200);
    assert_eq!(files(&project), owned(&as_file));
    rollback(&project, "to=v0006&path=conf.xml").expect_status(200);
    assert_eq!(project.short_id("main"), before);
    // What is below a file that is there now is still refused.
    rollback(&project, "to=v0002&path=conf.xml").expect_status(200);
    let refused = rollback(&project, "to=v0006&path=conf.xml/a.xml");
    refused.assert_error(400, "\"conf.xml\" is a file, not a folder");
    assert_eq!(files(&project), owned(&as_file));
}
