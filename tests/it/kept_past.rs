//! Files of the past that were asked for before: what a pruning removes, no kept answer tells.

use serde_json::Value;
use siteconf::base::id::ManifestId;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Body, Expect, NewBody, NewObject, Scan, Store as _};

use crate::harness::Daemon;
use crate::kept_answers::{ask, ask_again, stage};

#[test]
fn a_file_of_a_snapshot_that_was_pruned_is_gone() {
    let mut daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    project.save("main", "a.xml", "<old/>");
    let commits = reader.get(&project.read("/commits?ref_name=main")).json();
    let commit = commits[0]["id"].as_str().unwrap().to_owned();
    for body in ["<new/>", "<newest/>"] {
        project.save("main", "a.xml", body);
    }
    let newest = project.versions("main").len();
    // So nothing is on its way into the index that a pruning is to remove from it.
    daemon.stop();
    daemon.restart();
    let reader = daemon.token(reader.credential());
    let raw = |reference: &str| {
        let target = project.read(&format!("/files/a.xml/raw?ref={reference}"));
        reader.request("GET", &target)
    };
    let pruned = [
        raw(&format!("main@v{:04}", newest - 1)),
        raw(&commit),
        raw(&commit[..12].to_ascii_uppercase()),
    ];
    let mut connection = daemon.connect();
    for request in &pruned {
        ask_again(&mut connection, request).assert_bytes(200, b"<old/>");
    }
    daemon.run(&["prune", "--keep-snapshots", "1"], "");
    for request in &pruned {
        ask(&mut connection, request).assert_error(404, "404 Commit Not Found");
    }
    let kept = raw(&format!("main@v{newest:04}"));
    ask_again(&mut connection, &kept).assert_bytes(200, b"<new/>");
}

#[test]
fn a_file_by_a_commit_id_does_not_name_a_change_that_was_pruned() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    project.save("main", "x", "1");
    project
        .user
        .delete(&project.file("main", "x"))
        .expect_status(200);
    project.save("main", "y", "1");
    let commits = reader.get(&project.read("/commits?ref_name=main")).json();
    let id = |number: usize| commits[number]["id"].as_str().unwrap().to_owned();
    // Before the last save the branch was in the same state twice, and in another between.
    let (head, with_x, without) = (id(0), id(2), id(1));
    let target = project.read(&format!("/files/a.xml/raw?ref={head}"));
    let last_commit = |keep: &str| {
        daemon.run(&["prune", "--keep-snapshots", keep], "");
        let answer = ask_again(&mut daemon.connect(), &reader.request("GET", &target));
        answer.assert_bytes(200, b"<a/>");
        answer.header("X-Gitlab-Last-Commit-Id").map(str::to_owned)
    };
    assert_eq!(last_commit("3"), Some(without));
    assert_eq!(last_commit("2"), Some(with_x));
}

/// Prunes a state, and leaves of it its manifest and its commit id alone, as a collection may that has not come to its
/// end.
fn collect_half(daemon: &Daemon, commit: &str) {
    let open = || SqliteStore::open_locked(&daemon.data()).unwrap();
    let store = open();
    let entries = store.scan(Scan::prefix("commit/")).unwrap();
    let mut entries = entries.iter();
    let entry = entries.find(|entry| entry.key.contains(commit)).unwrap();
    let state: Value = serde_json::from_slice(&entry.value).unwrap();
    let id: ManifestId = state["manifest"].as_str().unwrap().parse().unwrap();
    let manifest = store.object(id.into()).unwrap().unwrap();
    let Body::Inline(bytes) = manifest.body else {
        panic!("a manifest lies in a file");
    };
    drop(store);
    daemon.run(&["prune", "--keep-snapshots", "1"], "");
    daemon.run(&["gc"], "");
    let store = open();
    assert!(store.object(id.into()).unwrap().is_none());
    let mut batch = Batch::default();
    batch.objects.push(NewObject {
        id: id.into(),
        kind: manifest.kind,
        size: manifest.size,
        sha256: None,
        body: NewBody::Inline(bytes),
    });
    batch.write(entry.key.clone(), Expect::Absent, &state);
    store.commit(batch).unwrap();
}

#[test]
fn a_state_of_which_a_collection_has_left_a_part_is_not_found() {
    let mut daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    project.save("main", "a.xml", "<old/>");
    let commits = reader.get(&project.read("/commits?ref_name=main")).json();
    let commit = commits[0]["id"].as_str().unwrap();
    for body in ["<new/>", "<newest/>"] {
        project.save("main", "a.xml", body);
    }
    daemon.stop();
    collect_half(&daemon, commit);
    daemon.restart();
    let reader = reader.at(daemon.address());
    for (target, what) in [
        (format!("/files/a.xml/raw?ref={commit}"), "Commit"),
        (format!("/files/a.xml?ref={commit}"), "Commit"),
        (format!("/tree?ref={commit}"), "Tree"),
        (format!("/archive.zip?sha={commit}"), "File"),
        (format!("/compare?from={commit}&to=main"), "Ref"),
        (format!("/compare?from=main&to={commit}"), "Ref"),
        (format!("/commits?ref_name={commit}"), "Commit"),
        (format!("/commits?ref_name={commit}..main"), "Commit"),
        (format!("/commits?ref_name=main..{commit}"), "Commit"),
        (format!("/commits/{commit}"), "Commit"),
        (format!("/commits/{commit}/diff"), "Commit"),
    ] {
        let answer = reader.get(&project.read(&target));
        answer.assert_error(404, &format!("404 {what} Not Found"));
    }
    let user = project.user.at(daemon.address());
    for ends in [
        format!("from={commit}&to=main"),
        format!("from=main&to={commit}"),
    ] {
        let answer = user.get(&project.on("main", &format!("/diff?{ends}")));
        answer.assert_error(404, "Revision not found");
    }
    let kept = reader.get(&project.read("/files/a.xml/raw?ref=main"));
    kept.assert_bytes(200, b"<newest/>");
}
