//! A dry run says what the run does, also of what it refuses.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::model::{Model, Scene, counts, place};

/// What both say: the findings, and the report of each.
#[track_caller]
fn said_by_both(scene: &Scene, flags: &[&str]) -> (Vec<String>, [Value; 2]) {
    let run = |more: &[&str]| {
        let (code, out, told) = scene.run(&[flags, more].concat());
        assert_eq!(code, 1, "{told}");
        let lines: Vec<_> = told.lines().map(str::to_owned).collect();
        (lines, serde_json::from_str::<Value>(&out).unwrap())
    };
    let (said, would) = run(&["--dry-run", "--json"]);
    let (told, done) = run(&["--json"]);
    assert_eq!(said, told);
    for kind in ["made", "changed", "unchanged"] {
        assert_eq!(counts(&would, kind), counts(&done, kind), "{kind}");
    }
    (told, [would, done])
}

#[test]
fn owners_and_projects_that_are_refused_are_refused_before() {
    let mut model = Model::new(&["ann", "bob"], 4, 4, 4, 0);
    let odd = model.branches[&place("ann", "acme/shop0.erp", "main")].clone();
    model
        .branches
        .insert(place("b b", "acme/odd.erp", "main"), odd.clone());
    model
        .branches
        .insert(place("cyd", "acme/cyd.erp", "main"), odd);
    let scene = Scene::start(&model);
    scene.done(&["user", "add", "other"]);
    scene.done(&["project", "create", "acme/shop0.erp", "--owner", "other"]);
    scene.done(&["project", "create", "acme/shop1.erp", "--owner", "other"]);
    scene.done(&["project", "delete", "acme/shop1.erp"]);
    let map = scene.tree().with_file_name("map.json");
    let text = json!({ "cyd": { "account": "cyd", "password": "short" } });
    fs::write(&map, text.to_string()).unwrap();
    let flag = map.display().to_string();
    let (told, [_, done]) = said_by_both(&scene, &["--owner-map", &flag]);
    let expected = [
        "owner \"b b\": malformed user name: it must be 1 to 64 letters, digits, \".\", \"_\", \"-\", \
         \"@\" and start with a letter or digit; an owner map gives the owner another account",
        "owner map: \"cyd\": malformed password: it must have 12 to 1024 bytes",
        "user/cyd/acme/cyd.erp: there is no account for its owner",
        "user/b b/acme/odd.erp: there is no account for its owner",
        "user/ann/acme/shop0.erp: project acme/shop0.erp is here already, and is not owned by ann",
        "user/bob/acme/shop1.erp: it was deleted here; --renew makes it anew",
    ];
    let expected = expected.map(|line| format!("siteconf: {line}"));
    assert_eq!(told, expected);
    assert_eq!(counts(&done, "made"), [2, 2, 2, 2, 0]);
}

#[test]
fn tokens_that_are_refused_are_refused_before() {
    let scene = Scene::start(&Model::new(&["ann", "bob"], 2, 2, 0, 0));
    let mut lines = String::new();
    let mut line = |number: u64, name: &str, repos: Value| {
        let value = format!("{number:064x}");
        let line = json!({ "owner": "ann", "name": name, "repos": repos, "value": value });
        lines = format!("{lines}{line}\n");
    };
    line(1, " ", json!(["*"]));
    line(2, "n", json!(["*", "acme/shop0.erp"]));
    line(3, "n", json!(["acme"]));
    line(4, "n", json!(["acme/none.erp"]));
    line(5, "n", json!(["acme/shop0.erp", "acme/shop1.erp"]));
    line(6, "n", json!(vec!["acme/shop0.erp"; 101]));
    for number in 7..=1_007 {
        line(number, "n", json!(["acme/shop0.erp"]));
    }
    fs::write(scene.tokens(), &lines).unwrap();
    let (told, [_, done]) = said_by_both(&scene, &[]);
    let expected = [
        "1: malformed name: it must have 1 to 255 bytes, no control characters, and not be blank",
        "2: malformed repos: \"*\" covers all your projects and must stand alone",
        "3: malformed repos: it must be a name, a dot and a type, as in acme/shop.erp",
        "4: malformed repos: there is no project \"acme/none.erp\"",
        "5: ann may not read acme/shop1.erp; give it a role for that first, as with \"siteconf user role add \
         ann ROLE_SITEBUILDER_USER__acme/shop1.erp\"",
        "6: malformed repos: it must have at most 100 entries",
        "1007: you have 1000 tokens, the most allowed: revoke one first",
    ];
    let expected = expected.map(|line| format!("siteconf: /tokens.jsonl:{line}"));
    assert_eq!(told, expected);
    assert_eq!(counts(&done, "made"), [2, 2, 2, 0, 1_000]);
}

#[test]
fn a_branch_whose_old_snapshots_cannot_be_listed_waits() {
    let scene = Scene::start(&Model::new(&["ann"], 2, 4, 8, 4));
    let projects = scene.tree().join("user/ann/acme");
    let all = projects.join("shop0.erp/.snapshots");
    let of_test = projects.join("shop1.erp/.snapshots/test");
    let elsewhere = scene.tree().with_file_name("elsewhere");
    let aside = scene.tree().with_file_name("aside");
    fs::rename(&all, &elsewhere).unwrap();
    symlink(&elsewhere, &all).unwrap();
    fs::rename(&of_test, &aside).unwrap();
    fs::write(&of_test, "").unwrap();
    let (told, [_, done]) = said_by_both(&scene, &[]);
    let expected = [
        "user/ann/acme/shop0.erp/.snapshots: it is a symbolic link",
        "user/ann/acme/shop1.erp/.snapshots/test: it is no branch's folder of snapshots",
        "user/ann/acme/shop0.erp/main: its old snapshots cannot be listed; nothing of the \
         branch is brought before they can",
        "user/ann/acme/shop0.erp/test: its old snapshots cannot be listed; nothing of the \
         branch is brought before they can",
        "user/ann/acme/shop1.erp/test: its old snapshots cannot be listed; nothing of the \
         branch is brought before they can",
    ];
    let expected = expected.map(|line| format!("siteconf: {line}"));
    assert_eq!(told, expected);
    assert_eq!(counts(&done, "made"), [1, 2, 1, 2, 4]);

    for (file, folder) in [(&all, &elsewhere), (&of_test, &aside)] {
        fs::remove_file(file).unwrap();
        fs::rename(folder, file).unwrap();
    }
    assert_eq!(counts(&scene.moved(), "made"), [0, 0, 3, 6, 0]);
    scene.verified();
}

#[test]
fn a_branch_that_is_not_wanted_waits_for_no_old_snapshots() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 3, 3, 0));
    scene.moved();
    scene.done(&["branch", "delete", "acme/shop0.erp", "test"]);
    scene.done(&["branch", "delete", "acme/shop0.erp", "feature/x"]);
    scene.done(&["branch", "create", "acme/shop0.erp", "feature/x"]);
    let all = scene.tree().join("user/ann/acme/shop0.erp/.snapshots");
    fs::rename(&all, scene.tree().with_file_name("elsewhere")).unwrap();
    fs::write(&all, "").unwrap();
    let (told, _) = said_by_both(&scene, &[]);
    let expected = [
        "user/ann/acme/shop0.erp/.snapshots: it is no folder of old snapshots",
        "user/ann/acme/shop0.erp/feature%2Fx: there is a branch of this name that was made here; it stays as it is",
        "user/ann/acme/shop0.erp/main: its old snapshots cannot be listed; nothing of the \
         branch is brought before they can",
        "user/ann/acme/shop0.erp/test: it was deleted here; --renew makes it anew",
    ];
    let expected = expected.map(|line| format!("siteconf: {line}"));
    assert_eq!(told, expected);
}
