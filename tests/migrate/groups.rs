//! A folder with a dot in its name is a project, or a part of the names of those in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::model::{Branch, Model, Scene, place};

/// A model with these branches of ann, each with so many old snapshots.
fn model(branches: &[(&str, &str, usize)]) -> Model {
    let mut model = Model::default();
    for (project, name, snapshots) in branches {
        let mut branch = Branch::default();
        let path = "conf/main.d/a.xml".to_owned();
        branch.head.insert(path, String::new());
        for save in 0..*snapshots {
            branch.save(save, "conf/main.d/b.xml");
        }
        model.branches.insert(place("ann", project, name), branch);
    }
    model
}

/// The branches that are here, with the numbers of their snapshots.
fn branches(scene: &Scene) -> Vec<(String, u64)> {
    let refs = scene.json(&["debug", "refs"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let refs = refs.as_array().unwrap().iter().map(|branch| {
        let name = format!("{}:{}", text(&branch["repo_id"]), text(&branch["branch"]));
        let versions = scene.versions(&name).len();
        (name, u64::try_from(versions).unwrap())
    });
    refs.collect()
}

#[track_caller]
fn assert_branches(scene: &Scene, expected: &[(&str, u64)]) {
    let expected = expected
        .iter()
        .map(|(name, snapshots)| ((*name).to_owned(), *snapshots));
    assert_eq!(branches(scene), expected.collect::<Vec<_>>());
}

#[test]
fn old_snapshots_tell_a_project_from_a_part_of_its_name() {
    let scene = Scene::start(&model(&[
        ("acme.com/shop.erp", "main", 2),
        ("acme.com/sales.eu/tills/shop.erp", "v1.2", 1),
        ("acme.com/sales.eu/tills/shop.erp", "v1.3", 0),
        ("plain.erp", "main", 0),
        ("plain.erp", "v1.2", 0),
    ]));
    scene.moved();
    assert_branches(
        &scene,
        &[
            ("acme.com/sales.eu/tills/shop.erp:v1.2", 1),
            ("acme.com/sales.eu/tills/shop.erp:v1.3", 0),
            ("acme.com/shop.erp:main", 2),
            ("plain.erp:main", 0),
            ("plain.erp:v1.2", 0),
        ],
    );
    scene.verified();
}

#[test]
fn what_may_be_a_project_or_hold_some_is_named_and_left_out() {
    let model = model(&[
        ("acme.com/shop.erp", "main", 0),
        ("other.com", "main", 1),
        ("other.com/shop.erp", "main", 1),
        ("shop.erp", "v1.2", 0),
    ]);
    let scene = Scene::start(&model);
    let expected = [
        "user/ann/acme.com: it is either project acme.com or a group with project acme.com/shop.erp: put an \
         empty folder .snapshots into the one that is a project",
        "user/ann/other.com: it holds old snapshots of project other.com, and in it are some of project \
         other.com/shop.erp: move the folder of other.com/shop.erp out, and call it other.com%2Fshop.erp",
        "user/ann/shop.erp: it is either project shop.erp or a group with project shop.erp/v1.2: put an \
         empty folder .snapshots into the one that is a project",
    ];
    let expected = expected.map(|line| format!("siteconf: {line}"));
    for flags in [&["--dry-run"][..], &[]] {
        let (code, _, told) = scene.run(flags);
        assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{flags:?}");
        assert_eq!(code, 1);
    }
    assert_branches(&scene, &[]);

    let ann = scene.tree().join("user/ann");
    for project in ["acme.com/shop.erp", "shop.erp"] {
        fs::create_dir(ann.join(project).join(".snapshots")).unwrap();
    }
    let whole = ann.join("other.com%2Fshop.erp");
    fs::rename(ann.join("other.com/shop.erp"), whole).unwrap();
    scene.moved();
    assert_branches(
        &scene,
        &[
            ("acme.com/shop.erp:main", 0),
            ("other.com:main", 1),
            ("other.com/shop.erp:main", 1),
            ("shop.erp:v1.2", 0),
        ],
    );
    scene.verified();
}

#[test]
fn an_empty_or_closed_folder_makes_no_project_of_a_group() {
    let scene = Scene::start(&model(&[
        ("acme.com/shop.erp", "main", 0),
        ("closed.com/shop.erp", "main", 0),
        ("empty.com/shop.erp", "main", 0),
        ("plain.erp", "main", 0),
    ]));
    let ann = scene.tree().join("user/ann");
    for empty in [
        "acme.com/till.erp",
        "closed.com/till.erp",
        "empty.com/tills",
        "plain.erp/v1.2",
        "test.erp/main",
    ] {
        fs::create_dir_all(ann.join(empty)).unwrap();
    }
    // Whoever is root finds it empty.
    let closed = ann.join("closed.com/till.erp");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let (code, _, told) = scene.run(&[]);
    let expected = ["acme.com", "closed.com", "empty.com"].map(|name| {
        format!(
            "siteconf: user/ann/{name}: it is either project {name} or a group with project \
             {name}/shop.erp: put an empty folder .snapshots into the one that is a project"
        )
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    assert_eq!(code, 1);
    assert_branches(
        &scene,
        &[
            ("plain.erp:main", 0),
            ("plain.erp:v1.2", 0),
            ("test.erp:main", 0),
        ],
    );
}
