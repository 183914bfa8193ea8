//! Rules of projects for which snapshots stay, beside the rule that somebody who makes room gives.

use serde_json::{Value, json};

use crate::stage::Stage;

/// More than any disk has; what the log says of it is for others.
const TOO_MUCH: [&str; 4] = ["--disk-free-min", "1000000000000000000", "--log", "off"];

/// A store whose project has four snapshots of `main`.
fn four_snapshots() -> Stage {
    let stage = Stage::new();
    let file = stage.shown("in/a.xml");
    for name in ["c.xml", "d.xml", "e.xml"] {
        stage.done(&["put", "acme/shop.erp", "main", name, &file]);
    }
    stage
}

#[test]
fn below_disk_free_min_a_project_can_be_told_to_keep_more_or_less() {
    let stage = four_snapshots();
    let with_little_room = |words: &[&str]| stage.done(&[words, &TOO_MUCH].concat());
    let file = stage.shown("in/a.xml");
    let put = ["put", "acme/shop.erp", "main", "f.xml", &file];
    let refused = stage.command(&[&put[..], &TOO_MUCH].concat()).output();
    let said = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(
        said.contains("less free room than disk_free_min, so nothing is added"),
        "{said}"
    );

    for (rule, keeps) in [
        (&["--all"][..], "all"),
        (&["--as-service"], "what the settings say"),
        (&["--snapshots", "2"], "2 snapshots"),
    ] {
        let keep = [&["project", "keep", "acme/shop.erp"], rule].concat();
        let told = with_little_room(&keep);
        assert_eq!(told, format!("acme/shop.erp keeps {keeps}\n"));
    }
    let pruned: Value = serde_json::from_str(&with_little_room(&["prune", "--json"])).unwrap();
    assert_eq!(
        pruned,
        json!([{"repo_id": "acme/shop.erp", "branch": "main", "snapshots": 2}])
    );
}

#[test]
fn a_pruning_says_which_projects_keep_more_by_a_rule_of_their_own() {
    let stage = four_snapshots();
    stage.done(&["project", "create", "acme/new.erp", "--owner", "ann"]);
    let keep = |repo_id: &str, rule: &[&str]| {
        stage.done(&[&["project", "keep", repo_id], rule].concat());
    };
    // What a pruning says behind the table of what it removes.
    let said = |rule: &[&str]| {
        let told = stage.done(&[&["prune", "--dry-run"], rule].concat());
        let last = told.lines().last().unwrap_or_default();
        last.contains("may keep more by").then(|| last.to_owned())
    };
    let more =
        "\"siteconf project show\" tells the rule of one, \"siteconf project keep\" changes it";

    keep("acme/shop.erp", &["--all"]);
    assert_eq!(
        said(&["--keep-days", "90"]),
        Some(format!(
            "1 project may keep more by its own rule: \"acme/shop.erp\"; {more}"
        ))
    );
    keep("acme/new.erp", &["--snapshots", "9", "--days", "30"]);
    assert_eq!(
        said(&["--keep-snapshots", "1", "--keep-days", "90"]),
        Some(format!(
            "2 projects may keep more by their own rules: \"acme/new.erp\", \"acme/shop.erp\"; {more}"
        ))
    );
    // What keeps less goes before the rule of all as well, and nobody waits for room then.
    keep("acme/shop.erp", &["--snapshots", "2"]);
    for rule in [&["--keep-snapshots", "9", "--keep-days", "30"][..], &[]] {
        assert_eq!(said(rule), None, "{rule:?}");
    }
}
