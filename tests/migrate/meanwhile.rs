//! What is deleted or renamed here while a move goes on is not made anew, and ends nothing else.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::Value;

use crate::model::{Model, Scene, place};

/// So many lines of findings are more than a pipe holds.
const LINKS: usize = 3000;

/// Puts links into the branch that comes first: each is named when the branch was brought.
fn plant(scene: &Scene) {
    let main = scene.tree().join("user/ann/acme/shop0.erp/main");
    for number in 0..LINKS {
        symlink("nowhere", main.join(format!("link{number}"))).unwrap();
    }
}

/// An old system of three projects with two branches each, which was moved.
fn moved() -> (Model, Scene) {
    let model = Model::new(&["ann"], 3, 6, 12, 0);
    let scene = Scene::start(&model);
    plant(&scene);
    assert_eq!(scene.run(&[]).0, 1);
    (model, scene)
}

/// Moves, and acts once when the first branch was brought, before any other is looked at. Gives the exit code and
/// what was said.
fn moved_beside(scene: &Scene, act: impl FnOnce()) -> (Option<i32>, String) {
    let mut command = scene.command(&[]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut said = BufReader::new(process.stderr.take().unwrap());
    let mut told = String::new();
    said.read_line(&mut told).unwrap();
    // The command waits in the middle of its lines until these are read.
    act();
    said.read_to_string(&mut told).unwrap();
    (process.wait().unwrap().code(), told)
}

/// What was said of other things than links.
fn beside_links(told: &str) -> Vec<&str> {
    let lines = told.lines();
    let beside = lines.filter(|line| !line.ends_with(": it is a symbolic link"));
    beside.collect()
}

fn listed(scene: &Scene, words: &[&str], field: &str) -> Vec<String> {
    let all = scene.json(words);
    let name = |one: &Value| one[field].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn what_is_deleted_meanwhile_comes_with_renew_alone() {
    let (_, scene) = moved();
    let (code, told) = moved_beside(&scene, || {
        scene.done(&["branch", "delete", "acme/shop1.erp", "test"]);
        scene.done(&["project", "delete", "acme/shop2.erp"]);
    });
    assert_eq!(code, Some(1));
    assert_eq!(
        beside_links(&told),
        [
            "siteconf: user/ann/acme/shop1.erp/test: it was deleted here; --renew makes it anew",
            "siteconf: user/ann/acme/shop2.erp: it was deleted here; --renew makes it anew",
        ]
    );
    let projects = || listed(&scene, &["project", "list"], "repo_id");
    let branches = || listed(&scene, &["branch", "list", "acme/shop1.erp"], "name");
    assert_eq!(projects(), ["acme/shop0.erp", "acme/shop1.erp"]);
    assert_eq!(branches(), ["main"]);
    scene.run(&["--renew"]);
    assert_eq!(projects().len(), 3);
    assert_eq!(branches(), ["main", "test"]);
}

#[test]
fn a_branch_that_is_renamed_meanwhile_gets_no_second_one_under_its_old_name() {
    let (_, scene) = moved();
    let (code, told) = moved_beside(&scene, || {
        scene.rename_branch("acme/shop0.erp", "test", "stage");
    });
    assert_eq!((code, beside_links(&told)), (Some(1), Vec::new()));
    let branches = listed(&scene, &["branch", "list", "acme/shop0.erp"], "name");
    assert_eq!(branches, ["main", "stage"]);
}

#[test]
fn a_project_that_is_deleted_while_it_comes_is_left_out_alone() {
    let (mut model, scene) = moved();
    for (project, name) in [("acme/shop0.erp", "test"), ("acme/shop1.erp", "main")] {
        let branch = model.branches.get_mut(&place("ann", project, name));
        branch.unwrap().save(2, "later.xml");
    }
    scene.write(&model);
    plant(&scene);
    let (code, told) = moved_beside(&scene, || {
        scene.done(&["project", "delete", "acme/shop0.erp"]);
    });
    assert_eq!(code, Some(1));
    assert_eq!(
        beside_links(&told),
        ["siteconf: user/ann/acme/shop0.erp: the project was deleted here meanwhile"]
    );
    let came = scene.versions("acme/shop1.erp:main");
    assert_eq!(came, ["v0001", "v0002", "v0003"]);
    scene.done(&["project", "restore", "acme/shop0.erp"]);
    let as_before = scene.versions("acme/shop0.erp:test");
    assert_eq!(as_before, ["v0001", "v0002"]);
}
