//! Accounts that were renamed or removed here, and what was deleted so long ago that it is forgotten: none of
//! it comes again by itself.

use std::fs;

use serde_json::{Value, json};

use crate::model::{Model, Scene, counts, place};

const PASSWORD: &str = "three plain old words";
const ROLE: &str = "ROLE_SITEBUILDER_USER__acme";

/// Writes a map by which bob has a password and a role; its path.
fn map(scene: &Scene) -> String {
    let map = scene.tree().with_file_name("map.json");
    let bob = json!({ "account": "bob", "roles": [ROLE], "password": PASSWORD });
    fs::write(&map, json!({ "bob": bob }).to_string()).unwrap();
    map.display().to_string()
}

fn run(scene: &Scene, map: &str, flags: &[&str]) -> (i32, String, String) {
    scene.run(&[&["--owner-map", map], flags].concat())
}

fn login(scene: &Scene, name: &str) -> u16 {
    let login = json!({ "username": name, "password": PASSWORD });
    scene.daemon.again("").post("/user/login", &login).status
}

/// What a command lists, by this field.
fn listed(scene: &Scene, words: &[&str], field: &str) -> Vec<String> {
    let all = scene.json(words);
    let name = |one: &Value| one[field].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(name).collect()
}

fn users(scene: &Scene) -> Vec<String> {
    listed(scene, &["user", "list"], "name")
}

fn report(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

#[test]
fn an_account_that_was_removed_is_made_anew_with_renew_alone() {
    let mut model = Model::new(&["ann", "bob"], 2, 2, 4, 2);
    let scene = Scene::start(&model);
    let map = map(&scene);
    assert_eq!(run(&scene, &map, &[]).0, 0);
    assert_eq!(login(&scene, "bob"), 200);
    scene.done(&["project", "transfer", "acme/shop1.erp", "ann"]);
    scene.done(&["user", "remove", "bob"]);
    let here = users(&scene);
    assert_eq!(here, ["admin", "ann"]);
    let new = place("bob", "acme/new.erp", "main");
    let branch = model.branches[&place("bob", "acme/shop1.erp", "main")].clone();
    model.branches.insert(new, branch);
    scene.write(&model);

    let expected = "siteconf: owner \"bob\": its account was removed here; --renew makes it anew, an owner \
                    map gives the owner another account\n\
                    siteconf: user/bob/acme/new.erp: there is no account for its owner\n\
                    siteconf: user/bob/acme/shop1.erp: there is no account for its owner\n\
                    siteconf: /tokens.jsonl:2: there is no account for its owner\n";
    for flags in [&["--dry-run", "--json"][..], &["--json"]] {
        let (code, out, told) = run(&scene, &map, flags);
        assert_eq!((code, told.as_str()), (1, expected), "{flags:?}");
        assert_eq!(counts(&report(&out), "made"), [0; 5], "{out}");
        assert_eq!(users(&scene), here);
    }
    assert_eq!(login(&scene, "bob"), 401);
    let (code, _, told) = run(&scene, &map, &["--verify"]);
    assert_eq!(code, 1);
    assert!(
        told.starts_with("siteconf: owner \"bob\": there is no account bob\n"),
        "{told}"
    );

    let renewed = "siteconf: user/bob/acme/shop1.erp: project acme/shop1.erp is here already, and is not \
                   owned by bob\n\
                   siteconf: /tokens.jsonl:2: it was revoked here\n";
    for flags in [
        &["--renew", "--dry-run", "--json"][..],
        &["--renew", "--json"],
    ] {
        let (code, out, told) = run(&scene, &map, flags);
        assert_eq!((code, told.as_str()), (1, renewed), "{flags:?}");
        assert_eq!(counts(&report(&out), "made"), [1, 1, 1, 2, 0], "{out}");
    }
    assert_eq!(users(&scene), ["admin", "ann", "bob"]);
    assert_eq!(login(&scene, "bob"), 200);

    // One that somebody makes here under this name is the owner's.
    scene.done(&["project", "transfer", "acme/new.erp", "ann"]);
    scene.done(&["user", "remove", "bob"]);
    scene.done(&["user", "add", "bob"]);
    scene.done(&["project", "transfer", "acme/new.erp", "bob"]);
    let (_, out, _) = run(&scene, &map, &["--json"]);
    assert_eq!(counts(&report(&out), "made"), [0; 5], "{out}");
    assert_eq!(counts(&report(&out), "unchanged")[..2], [2, 2], "{out}");
    assert_eq!(login(&scene, "bob"), 401);
}

/// Writes the tree; of a branch of bob's it does not say who saved what.
fn write_without_authors(scene: &Scene, model: &Model) {
    scene.write(model);
    let history = scene.tree().join("user/bob/acme/shop1.erp/.snapshots/main");
    let branch = &model.branches[&place("bob", "acme/shop1.erp", "main")];
    for (number, snapshot) in (1..).zip(&branch.snapshots) {
        let notes = json!({ "created_at": snapshot.created_at });
        fs::write(
            history.join(format!("v{number:04}.json")),
            notes.to_string(),
        )
        .unwrap();
    }
}

#[test]
fn what_a_renamed_account_owns_goes_on() {
    let mut model = Model::new(&["ann", "bob"], 2, 4, 8, 4);
    let scene = Scene::start(&model);
    let map = map(&scene);
    write_without_authors(&scene, &model);
    assert_eq!(run(&scene, &map, &[]).0, 0);
    scene.done(&["user", "rename", "bob", "robert"]);
    let here = users(&scene);
    let main = place("bob", "acme/shop1.erp", "main");
    model.branches.get_mut(&main).unwrap().save(2, "later.xml");
    model.tokens[1].line["name"] = json!("another name");
    write_without_authors(&scene, &model);
    let remark = json!({ "at": "owner \"bob\"", "reason": "it is account robert here" });
    for flags in [&["--dry-run", "--json"][..], &["--json"]] {
        let (code, out, told) = run(&scene, &map, flags);
        assert_eq!((code, told.as_str()), (0, ""), "{flags:?}");
        let report = report(&out);
        assert_eq!(counts(&report, "made"), [0, 0, 0, 1, 0], "{report}");
        assert_eq!(counts(&report, "changed"), [0, 0, 1, 0, 1], "{report}");
        assert_eq!(report["remarks"], json!([remark]));
    }
    assert_eq!(users(&scene), here);
    let versions = scene.versions("acme/shop1.erp:main");
    assert_eq!(versions, ["v0001", "v0002", "v0003"]);
    assert_eq!(scene.json(&["token", "show", "2"])["owner"], "robert");

    let (code, _, told) = run(&scene, &map, &["--verify"]);
    assert_eq!((code, told.as_str()), (0, ""));

    // Another owner of the tree does not get the account whose name it has.
    let other = model.branches[&main].clone();
    let main = place("robert", "acme/other.erp", "main");
    model.branches.insert(main, other);
    scene.write(&model);
    let expected = "siteconf: owner \"robert\": the account of this name here is bob of the tree; an owner \
                    map gives the owner another account\n\
                    siteconf: user/robert/acme/other.erp: there is no account for its owner\n";
    for flags in [&["--dry-run"][..], &[]] {
        let (code, _, told) = run(&scene, &map, flags);
        assert_eq!((code, told.as_str()), (1, expected), "{flags:?}");
    }
    // A map may say that it is this one.
    let text = json!({ "bob": "robert", "robert": "robert" }).to_string();
    fs::write(&map, text).unwrap();
    let (code, _, told) = run(&scene, &map, &[]);
    assert_eq!((code, told.as_str()), (0, ""));
    assert_eq!(users(&scene), here);
}

#[test]
fn what_is_forgotten_comes_with_renew_alone() {
    let model = Model::new(&["ann"], 2, 4, 8, 2);
    let scene = Scene::start(&model);
    scene.moved();
    // Twice under one name: what was deleted first is renewed.
    for is_renewed in [true, false] {
        scene.done(&["project", "rename", "acme/shop0.erp", "acme/store.erp"]);
        scene.done(&["project", "delete", "acme/store.erp"]);
        scene.rename_branch("acme/shop1.erp", "test", "stage");
        scene.done(&["branch", "delete", "acme/shop1.erp", "stage"]);
        if is_renewed {
            scene.run(&["--renew"]);
        }
    }
    scene.done(&["gc", "--keep-deleted-days", "0"]);
    let expected = "siteconf: user/ann/acme/shop0.erp: it was deleted here; --renew makes it anew\n\
                    siteconf: user/ann/acme/shop1.erp/test: it was deleted here; --renew makes it anew\n";
    for flags in [&["--dry-run"][..], &[]] {
        let (code, _, told) = scene.run(flags);
        assert_eq!(code, 1);
        assert!(told.starts_with(expected), "{told}");
    }
    let projects = || listed(&scene, &["project", "list"], "repo_id");
    let branches = || listed(&scene, &["branch", "list", "acme/shop1.erp"], "name");
    assert_eq!(projects(), ["acme/shop1.erp"]);
    assert_eq!(branches(), ["main"]);
    scene.done(&["debug", "check"]);

    scene.run(&["--renew"]);
    assert_eq!(projects(), ["acme/shop0.erp", "acme/shop1.erp"]);
    assert_eq!(branches(), ["main", "test"]);
}
