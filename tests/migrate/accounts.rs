//! The accounts that owners of the tree become: each owner's own, whatever it is called here.

use std::fs;

use serde_json::{Value, json};

use crate::model::{Model, Scene, counts, place};

/// Writes an owner map; its path.
fn map(scene: &Scene, map: &Value) -> String {
    let path = scene.tree().with_file_name("map.json");
    fs::write(&path, map.to_string()).unwrap();
    path.display().to_string()
}

/// What a dry run says and a run does, which is the same: the exit code, the report, and what is told.
fn run(scene: &Scene, map: &str) -> (i32, Value, String) {
    let run = |dry: &[&str]| {
        let flags = [&["--owner-map", map, "--json"], dry].concat();
        let (code, out, told) = scene.run(&flags);
        (code, serde_json::from_str::<Value>(&out).unwrap(), told)
    };
    let said = run(&["--dry-run"]);
    let done = run(&[]);
    assert_eq!((said.0, &said.2), (done.0, &done.2));
    for what in ["made", "changed", "unchanged"] {
        assert_eq!(counts(&said.1, what), counts(&done.1, what), "{what}");
    }
    assert_eq!(said.1["remarks"], done.1["remarks"]);
    done
}

fn users(scene: &Scene) -> Vec<String> {
    let all = scene.json(&["user", "list"]);
    let name = |account: &Value| account["name"].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(name).collect()
}

fn owner(scene: &Scene, project: &str) -> Value {
    let all = scene.json(&["project", "list"]);
    let mut all = all.as_array().unwrap().iter();
    let found = all.find(|one| one["repo_id"] == project);
    found.map_or(Value::Null, |found| found["owner"].clone())
}

/// A tree in which bob has `acme/shop1.erp`, and another owner gets a copy of it under another name.
fn with_another(model: &mut Model, another: &str) {
    let branch = model.branches[&place("bob", "acme/shop1.erp", "main")].clone();
    let new = place(another, "acme/new.erp", "main");
    model.branches.insert(new, branch);
    let mut token = model.tokens[1].clone();
    let value = "0a".repeat(32);
    token.line =
        json!({ "owner": another, "name": "new", "value": value, "repos": ["acme/new.erp"] });
    token.value = value;
    model.tokens.push(token);
}

#[test]
fn an_account_that_the_map_calls_by_its_new_name_is_its_owners_alone() {
    let mut model = Model::new(&["ann", "bob"], 2, 2, 4, 2);
    let scene = Scene::start(&model);
    scene.moved();
    scene.done(&["user", "rename", "bob", "robert"]);
    with_another(&mut model, "robert");
    scene.write(&model);
    let map = map(&scene, &json!({ "bob": "robert" }));
    let expected = "siteconf: owner \"robert\": the account of this name here is bob of the tree; an owner \
                    map gives the owner another account\n\
                    siteconf: user/robert/acme/new.erp: there is no account for its owner\n\
                    siteconf: /tokens.jsonl:3: there is no account for its owner\n";
    for _ in 0..2 {
        let (code, report, told) = run(&scene, &map);
        assert_eq!((code, told.as_str()), (1, expected));
        assert_eq!(counts(&report, "made"), [0; 5], "{report}");
    }
    assert_eq!(owner(&scene, "acme/shop1.erp"), "robert");
    assert_eq!(owner(&scene, "acme/new.erp"), Value::Null);
    assert_eq!(users(&scene), ["admin", "ann", "robert"]);
}

#[test]
fn an_account_that_the_map_names_is_meant_whoever_had_the_name_before() {
    let mut model = Model::new(&["ann", "bob"], 2, 2, 4, 2);
    let scene = Scene::start(&model);
    scene.moved();
    scene.done(&["user", "rename", "bob", "bob-left"]);
    scene.done(&["user", "add", "bob"]);
    with_another(&mut model, "new.bob");
    scene.write(&model);
    let map = map(&scene, &json!({ "new.bob": "bob" }));
    let (code, report, told) = run(&scene, &map);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(counts(&report, "made"), [0, 1, 1, 2, 1], "{report}");
    assert_eq!(owner(&scene, "acme/new.erp"), "bob");
    assert_eq!(owner(&scene, "acme/shop1.erp"), "bob-left");
    assert_eq!(scene.json(&["token", "show", "3"])["owner"], "bob");

    // From then on it is known under every name.
    scene.done(&["user", "rename", "bob", "bobby"]);
    let (code, report, told) = run(&scene, &map);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(counts(&report, "unchanged"), [3, 3, 3, 0, 3], "{report}");
    assert_eq!(users(&scene), ["admin", "ann", "bob-left", "bobby"]);
}

#[test]
fn the_map_may_give_several_owners_one_account() {
    let mut model = Model::new(&["ann", "bob"], 2, 2, 4, 2);
    with_another(&mut model, "a/bob 1%");
    let branch = model
        .branches
        .remove(&place("a/bob 1%", "acme/new.erp", "main"));
    let new = place("a bob", "acme/new.erp", "main");
    model.branches.insert(new, branch.unwrap());
    let scene = Scene::start(&model);
    // One of them owns tokens alone, and has no name that a folder can have.
    let becomes = json!({ "a bob": "bob", "a/bob 1%": "bob" });
    let map = map(&scene, &becomes);
    let (code, report, told) = run(&scene, &map);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(counts(&report, "made"), [2, 3, 3, 6, 3], "{report}");
    assert_eq!(users(&scene), ["admin", "ann", "bob"]);
    scene.done(&["user", "rename", "bob", "robert"]);
    let (code, report, told) = run(&scene, &map);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(counts(&report, "made"), [0; 5], "{report}");
    assert_eq!(users(&scene), ["admin", "ann", "robert"]);
    scene.done(&["debug", "check"]);
}

#[test]
fn an_account_made_here_is_not_taken_for_one_that_was_removed() {
    let model = Model::new(&["ann", "bob"], 2, 2, 4, 0);
    let scene = Scene::start(&model);
    scene.moved();
    scene.done(&["project", "delete", "acme/shop1.erp"]);
    scene.done(&["gc", "--keep-deleted-days", "0"]);
    scene.done(&["user", "remove", "bob"]);
    scene.done(&["user", "add", "bob"]);
    let none = map(&scene, &json!({}));
    let (code, _, told) = run(&scene, &none);
    let expected = "siteconf: owner \"bob\": its account was removed here; --renew makes it anew, an owner map \
                    gives the owner another account\n\
                    siteconf: user/bob/acme/shop1.erp: there is no account for its owner\n";
    assert_eq!((code, told.as_str()), (1, expected));
    let (code, _, told) = scene.run(&["--renew"]);
    let expected = "siteconf: owner \"bob\": the user name \"bob\" is taken; an owner map gives the owner \
                    another account\n\
                    siteconf: user/bob/acme/shop1.erp: there is no account for its owner\n";
    assert_eq!((code, told.as_str()), (1, expected));
    let map = map(&scene, &json!({ "bob": "bob" }));
    let (code, _, told) = scene.run(&["--owner-map", &map, "--renew"]);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(owner(&scene, "acme/shop1.erp"), "bob");
}
