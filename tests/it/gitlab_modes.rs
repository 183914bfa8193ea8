//! A commit id says nothing of the modes of files: what shows them follows the branch all the same.

use serde_json::{Value, json};

use crate::batch::{Entry, FILE, archive, unpack};
use crate::gitlab_archive::untar;
use crate::gitlab_walk::elements;
use crate::harness::{Daemon, Project, User};

/// Gives `run.sh` a mode by a batch; the answer has the version of the snapshot before it.
fn lay(project: &Project, mode: u32) -> Value {
    let body = archive(&[("run.sh", mode, FILE, b"#!/bin/sh\n")]);
    unpack(project, "", &body).expect_status(200).json()
}

fn commit_id(reader: &User, project: &Project) -> String {
    let branch = reader.get(&project.read("/branches/main")).json();
    branch["commit"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_archive_is_another_where_only_a_mode_changed() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    lay(&project, 0o644);
    let reader = daemon.reader(&project);
    let id = commit_id(&reader, &project);
    let targets = [
        (&reader, project.read("/archive.tar?sha=main")),
        (&reader, project.read("/archive.tar?path=run.sh")),
        (&reader, project.read(&format!("/archive.tar?sha={id}"))),
        (&project.user, project.on("main", "/archive.tar")),
    ];
    let before: Vec<_> = targets
        .iter()
        .map(|(user, target)| user.get(target).expect_status(200))
        .collect();
    lay(&project, 0o755);
    assert_eq!(commit_id(&reader, &project), id);
    for ((user, target), before) in targets.iter().zip(before) {
        let known = user.with("If-None-Match", before.header("ETag").unwrap());
        let now = known.get(target).expect_status(200);
        let mode = |bytes: &[u8]| untar(bytes)[&format!("shop.erp-{id}/run.sh")].0;
        assert_eq!((mode(&before.body), mode(&now.body)), (0o644, 0o755));
        let known = user.with("If-None-Match", now.header("ETag").unwrap());
        known.get(target).assert_empty(304);
    }
}

#[test]
fn the_id_of_a_head_names_its_modes() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    // In so large a branch a change computes no id: it is the branch that gives it out.
    let paths: Vec<_> = (0..10_001).map(|number| format!("d/{number}")).collect();
    let files: Vec<Entry<'_>> = paths
        .iter()
        .map(|path| (path.as_str(), 0o644, FILE, b"x" as &[u8]))
        .collect();
    for some in files.chunks(6000) {
        unpack(&project, "", &archive(some)).expect_status(200);
    }
    let reader = daemon.reader(&project);
    let mut known = None;
    for (mode, shown) in [
        (0o644, "100644"),
        (0o755, "100755"),
        (0o644, "100644"),
        (0o755, "100755"),
    ] {
        lay(&project, mode);
        let id = commit_id(&reader, &project);
        assert_eq!(*known.get_or_insert_with(|| id.clone()), id);
        // What tells the ids of older states does not make them those of the head.
        let history = project.user.get(&project.on("main", "/history?limit=100"));
        history.expect_status(200);
        for reference in ["main", &id, &id[..8]] {
            let target = project.read(&format!("/tree?ref={reference}"));
            let run = &elements(&reader.get(&target))[1];
            assert_eq!(run["mode"], shown, "{reference}");
        }
        let file = reader.get(&project.read(&format!("/files/run.sh?ref={id}")));
        assert_eq!(file.json()["execute_filemode"], json!(mode == 0o755));
    }
}

#[test]
fn a_comparison_ends_at_its_base_where_a_mode_changed() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in ["a", "b", "c"] {
        project.save("main", path, "x");
    }
    lay(&project, 0o644);
    let base = lay(&project, 0o755)["snapshot"]
        .as_str()
        .unwrap()
        .to_owned();
    project.save("main", "last", "x");
    let reader = daemon.reader(&project);
    let target = project.read(&format!("/compare?from=main@{base}&to=main"));
    let shown = reader.get(&target).expect_status(200).json();
    let commits = shown["commits"].as_array().unwrap().iter();
    let titles: Vec<_> = commits.map(|commit| &commit["title"]).collect();
    assert_eq!(titles, ["save last"]);
    let diffs = shown["diffs"].as_array().unwrap().iter();
    let modes: Vec<_> = diffs
        .map(|diff| (&diff["new_path"], &diff["b_mode"]))
        .collect();
    assert_eq!(
        modes,
        [
            (&json!("last"), &json!("100644")),
            (&json!("run.sh"), &json!("100755"))
        ]
    );
}
