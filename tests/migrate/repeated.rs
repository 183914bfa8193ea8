//! Moving in again: what is new there comes, what was changed here stays.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Client, segment};
use crate::model::{Model, Scene, counts, place};

fn small() -> Model {
    Model::new(&["ann"], 2, 6, 12, 8)
}

fn branch_target(project: &str, branch: &str, rest: &str) -> String {
    let (project, branch) = (segment(project), segment(branch));
    format!("/site-builder/api/projects/{project}/branches/{branch}{rest}")
}

fn versions(admin: &mut Client, project: &str, branch: &str) -> Vec<String> {
    let history = admin
        .get(&branch_target(project, branch, "/history"))
        .json();
    let history = history.as_array().unwrap();
    let version = |snapshot: &Value| snapshot["version"].as_str().unwrap().to_owned();
    history.iter().rev().map(version).collect()
}

#[track_caller]
fn assert_unchanged(report: &Value, unchanged: [u64; 5]) {
    assert_eq!(counts(report, "made"), [0; 5], "{report}");
    assert_eq!(counts(report, "changed"), [0; 5], "{report}");
    assert_eq!(counts(report, "unchanged"), unchanged, "{report}");
}

#[test]
fn only_what_is_new_there_comes() {
    let mut model = small();
    let scene = Scene::start(&model);
    let report = scene.moved();
    assert_eq!(counts(&report, "made"), [1, 2, 6, 12, 8]);
    assert_unchanged(&scene.moved(), [1, 2, 6, 0, 8]);

    // Two saves there, and a change without an old snapshot.
    let main = place("ann", "acme/shop0.erp", "main");
    let branch = model.branches.get_mut(&main).unwrap();
    branch.save(2, "conf/0/new.xml");
    branch.save(3, "later.xml");
    let test = place("ann", "acme/shop0.erp", "test");
    let unsaved = model.branches.get_mut(&test).unwrap();
    unsaved
        .head
        .insert("by hand.xml".to_owned(), "x".to_owned());
    // A new project, a new token, one that ends, and one that is revoked.
    let first = model.branches[&main].clone();
    let new = place("bob", "acme/new.erp", "main");
    model.branches.insert(new, first);
    model.tokens[0].line["expires_at"] = json!("2021-01-01");
    model.tokens[1].line["state"] = json!("revoked");
    let mut more = model.tokens[4].clone();
    more.value = "f".repeat(64);
    more.line["value"] = json!(more.value);
    more.line["name"] = json!("more");
    model.tokens.push(more);
    scene.write(&model);

    let (code, out, told) = scene.run(&["--dry-run", "--json"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let said: Value = serde_json::from_str(&out).unwrap();
    let report = scene.moved();
    for report in [&said, &report] {
        assert_eq!(counts(report, "made"), [1, 1, 1, 6, 1], "{report}");
        assert_eq!(counts(report, "changed"), [0, 0, 2, 0, 1], "{report}");
        assert_eq!(counts(report, "unchanged"), [1, 2, 4, 0, 6], "{report}");
        assert_eq!(report["revoked"]["tokens"], 1);
    }
    let mut admin = scene.daemon.admin();
    let main = versions(&mut admin, "acme/shop0.erp", "main");
    assert_eq!(main, ["v0001", "v0002", "v0003", "v0004"]);
    let test = versions(&mut admin, "acme/shop0.erp", "test");
    assert_eq!(test, ["v0001", "v0002", "v0003"]);
    let state = |number: usize| {
        let read = "/site-builder/api/erp-config/projects/acme%2Fshop0.erp/repository/branches";
        let token = format!("PRIVATE-TOKEN: {}\r\n", model.tokens[number].value);
        scene.daemon.again(&token).get(read).status
    };
    assert_eq!((state(0), state(4), state(8)), (401, 200, 200));
    let (code, _, told) = scene.run(&["--verify"]);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_unchanged(&scene.moved(), [2, 3, 7, 0, 9]);
}

#[test]
fn what_was_changed_here_stays_and_is_named() {
    let mut model = small();
    let scene = Scene::start(&model);
    scene.moved();
    let mut admin = scene.daemon.admin();
    let mut save = |project: &str, branch: &str| {
        let target = branch_target(project, branch, "/files/here.xml");
        let saved = admin.attempt("PUT", &target, "application/octet-stream", b"here");
        assert_eq!(saved.unwrap().status, 201);
    };
    save("acme/shop0.erp", "main");
    save("acme/shop1.erp", "main");
    // Of these only one was changed there, too.
    let main = place("ann", "acme/shop0.erp", "main");
    model.branches.get_mut(&main).unwrap().save(2, "there.xml");
    // A branch that is deleted here, one that is made here, and a token that is revoked here.
    let test = branch_target("acme/shop1.erp", "test", "");
    let deleted = admin.attempt("DELETE", &test, "", b"").unwrap();
    assert_eq!(deleted.status, 204);
    let branches = "/site-builder/api/projects/acme%2Fshop1.erp/branches";
    let made = admin.post(branches, &json!({ "name": "own" }));
    assert_eq!(made.status, 201);
    let own = place("ann", "acme/shop1.erp", "own");
    let other = model.branches[&main].clone();
    model.branches.insert(own, other);
    let revoked = scene
        .daemon
        .command(&["token", "revoke", "1"])
        .output()
        .unwrap();
    assert!(revoked.status.success(), "{revoked:?}");
    let listed = scene.json(&["token", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 7);
    scene.write(&model);

    let expected = [
        "siteconf: user/ann/acme/shop0.erp/main: the branch was changed here since it came, and the tree \
         has something else; it stays as it is here",
        "siteconf: user/ann/acme/shop1.erp/own: there is a branch of this name that was made here; it \
         stays as it is",
        "siteconf: user/ann/acme/shop1.erp/test: it was deleted here; --renew makes it anew",
        "siteconf: /tokens.jsonl:1: it was revoked here",
    ];
    for flags in [&["--dry-run"][..], &[]] {
        let (code, out, told) = scene.run(flags);
        assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{flags:?}");
        assert_eq!(code, 1);
        assert!(out.ends_with("\n4 findings\n"), "{out}");
    }
    let listed = scene.json(&["token", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 7);
    let kept = admin.get(&branch_target("acme/shop0.erp", "main", "/files/here.xml"));
    assert_eq!(kept.body, b"here");
    assert_eq!(
        admin
            .get(&branch_target("acme/shop0.erp", "main", "/files/there.xml"))
            .status,
        404
    );

    let (code, _, told) = scene.run(&["--renew"]);
    assert_eq!((code, told.lines().count()), (1, 3), "{told}");
    assert_eq!(
        versions(&mut admin, "acme/shop1.erp", "test"),
        ["v0001", "v0002"]
    );
}

#[test]
fn old_snapshots_that_do_not_follow_are_named() {
    let mut model = small();
    let scene = Scene::start(&model);
    scene.moved();
    let main = place("ann", "acme/shop0.erp", "main");
    let branch = model.branches.get_mut(&main).unwrap();
    branch.save(2, "a.xml");
    branch.snapshots[2]
        .state
        .insert("never.xml".to_owned(), String::new());
    scene.write(&model);
    let (code, _, told) = scene.run(&[]);
    let expected = "siteconf: user/ann/acme/shop0.erp/main: its old snapshot v0003 does not follow: the \
                    first that is new must hold the state which was moved in last\n";
    assert_eq!((code, told.as_str()), (1, expected));
}

#[test]
fn owners_become_what_the_map_says() {
    let model = small();
    let scene = Scene::start(&model);
    let map = scene.tree().with_file_name("map.json");
    let flag = map.display().to_string();
    for (text, refused) in [
        (
            "[]",
            "/map.json: invalid type: sequence, expected an object with the old owners at line 1",
        ),
        (
            "{\"ann\": 3}",
            "/map.json: an entry must be the name of an account, or an object with",
        ),
        ("{\"ann\": \"a b\"}", "/map.json: malformed user name"),
        (
            "{\"ann\": \"x\",\n\"ann\": \"y\"}",
            "/map.json: \"ann\" is there twice at line 2",
        ),
        (
            "{\"ann\": {\"account\": \"x\", \"roles\": [\"ROLE_ADMIN\"]}}",
            "/map.json: unknown role \"ROLE_ADMIN\"",
        ),
    ] {
        fs::write(&map, text).unwrap();
        let (code, out, told) = scene.run(&["--owner-map", &flag]);
        assert_eq!((code, out.as_str()), (1, ""), "{text}");
        assert!(told.starts_with(&format!("siteconf: {refused}")), "{told}");
    }
    let role = "ROLE_SITEBUILDER_USER__acme";
    let password = "three plain old words";
    let entry = json!({ "account": "anna", "roles": [role], "password": password });
    fs::write(&map, json!({ "ann": entry, "zed": "z" }).to_string()).unwrap();
    let (code, _, told) = scene.run(&["--owner-map", &flag]);
    let expected = "siteconf: owner map: \"zed\" owns nothing in the tree\n";
    assert_eq!((code, told.as_str()), (1, expected));
    let login = json!({ "username": "anna", "password": password });
    let answer = scene.daemon.again("").post("/user/login", &login);
    let shown = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!(
        (&shown["username"], &shown["roles"]),
        (&json!("anna"), &json!([role]))
    );
}
