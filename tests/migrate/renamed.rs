//! What was renamed here is known again: it is not made once more.

use serde_json::{Value, json};

use crate::model::{Model, Scene, counts, place};

fn repo_ids(scene: &Scene) -> Vec<String> {
    let projects = scene.json(&["project", "list"]);
    let id = |project: &Value| project["repo_id"].as_str().unwrap().to_owned();
    projects.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn what_is_new_there_follows_under_the_names_that_are_here() {
    let mut model = Model::new(&["ann"], 2, 4, 8, 4);
    let scene = Scene::start(&model);
    scene.moved();
    // One goes out of the other's way.
    scene.done(&["project", "rename", "acme/shop0.erp", "acme/store.erp"]);
    scene.done(&["project", "rename", "acme/shop1.erp", "acme/shop0.erp"]);
    scene.rename_branch("acme/store.erp", "test", "stage");
    let report = scene.moved();
    assert_eq!(counts(&report, "made"), [0; 5], "{report}");
    assert_eq!(counts(&report, "changed"), [0; 5], "{report}");
    assert_eq!(counts(&report, "unchanged"), [1, 2, 4, 0, 4], "{report}");
    assert_eq!(
        report["remarks"],
        json!([
            { "at": "user/ann/acme/shop0.erp", "reason": "it is project acme/store.erp here" },
            { "at": "user/ann/acme/shop0.erp/test", "reason": "it is branch stage here" },
            { "at": "user/ann/acme/shop1.erp", "reason": "it is project acme/shop0.erp here" },
        ])
    );
    scene.verified();

    for name in ["main", "test"] {
        let branch = model
            .branches
            .get_mut(&place("ann", "acme/shop0.erp", name));
        branch.unwrap().save(2, "later.xml");
    }
    model.tokens[0].line["name"] = json!("another name");
    scene.write(&model);
    let (code, out, told) = scene.run(&["--dry-run", "--json"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let said: Value = serde_json::from_str(&out).unwrap();
    let report = scene.moved();
    for report in [&said, &report] {
        assert_eq!(counts(report, "made"), [0, 0, 0, 2, 0], "{report}");
        assert_eq!(counts(report, "changed"), [0, 0, 2, 0, 1], "{report}");
    }
    assert_eq!(repo_ids(&scene), ["acme/shop0.erp", "acme/store.erp"]);
    for branch in ["acme/store.erp:main", "acme/store.erp:stage"] {
        assert_eq!(scene.versions(branch), ["v0001", "v0002", "v0003"]);
    }
    let token = scene.json(&["token", "show", "1"]);
    let seen = (&token["name"], &token["repos"]);
    assert_eq!(seen, (&json!("another name"), &json!(["acme/store.erp"])));
    scene.verified();
}

#[test]
fn another_project_or_branch_of_the_name_is_left_alone() {
    let mut model = Model::new(&["ann"], 1, 2, 4, 1);
    let scene = Scene::start(&model);
    scene.moved();
    scene.rename_branch("acme/shop0.erp", "test", "stage");
    scene.done(&["branch", "create", "acme/shop0.erp", "test"]);
    scene.done(&["project", "rename", "acme/shop0.erp", "acme/store.erp"]);
    scene.done(&["project", "create", "acme/shop0.erp", "--owner", "ann"]);
    scene.moved();
    scene.verified();
    assert_eq!(scene.json(&["branch", "list", "acme/shop0.erp"]), json!([]));
    assert_eq!(scene.versions("acme/store.erp:test"), [""; 0]);
    let token = scene.json(&["token", "show", "1"]);
    assert_eq!(token["repos"], json!(["acme/store.erp"]));

    // The tree has a project, and a branch, whose names are taken by those.
    let branch = model.branches[&place("ann", "acme/shop0.erp", "main")].clone();
    let taken = place("ann", "acme/store.erp", "main");
    model.branches.insert(taken, branch.clone());
    let taken = place("ann", "acme/shop0.erp", "stage");
    model.branches.insert(taken, branch);
    scene.write(&model);
    for flags in [&["--dry-run"][..], &[]] {
        let (code, _, told) = scene.run(flags);
        let expected = "siteconf: user/ann/acme/shop0.erp/stage: the branch of this name here is test of \
                        the tree; it stays as it is\n\
                        siteconf: user/ann/acme/store.erp: the project of this name here is \
                        acme/shop0.erp of the tree; it stays as it is\n";
        assert_eq!((code, told.as_str()), (1, expected), "{flags:?}");
    }
}

#[test]
fn what_was_renamed_and_deleted_here_comes_with_renew_alone() {
    let model = Model::new(&["ann"], 2, 4, 8, 0);
    let scene = Scene::start(&model);
    scene.moved();
    scene.done(&["project", "rename", "acme/shop0.erp", "acme/store.erp"]);
    scene.done(&["project", "delete", "acme/store.erp"]);
    scene.rename_branch("acme/shop1.erp", "test", "stage");
    scene.done(&["branch", "delete", "acme/shop1.erp", "stage"]);
    let (code, _, told) = scene.run(&[]);
    let expected = "siteconf: user/ann/acme/shop0.erp: it was deleted here; --renew makes it anew\n\
                    siteconf: user/ann/acme/shop1.erp/test: it was deleted here; --renew makes it anew\n";
    assert_eq!((code, told.as_str()), (1, expected));
    let (code, _, told) = scene.run(&["--renew"]);
    assert_eq!((code, told.as_str()), (0, ""));
    scene.verified();
    assert_eq!(repo_ids(&scene), ["acme/shop0.erp", "acme/shop1.erp"]);
}
