//! Tokens of the old system, from run to run.

use std::fs;

use serde_json::{Value, json};

use crate::model::{Model, Scene, counts};

fn model() -> Model {
    Model::new(&["ann"], 1, 1, 0, 5)
}

/// The line of a file of tokens in which one is named.
fn at(line: usize, reason: &str) -> String {
    format!("siteconf: /tokens.jsonl:{line}: {reason}\n")
}

/// Rotates a token, and lets its old value count on.
fn rotate(scene: &Scene, id: &str) {
    scene.done(&["token", "rotate", id, "--grace", "7d"]);
}

#[test]
fn a_revocation_there_ends_what_is_as_it_came() {
    let mut model = model();
    let scene = Scene::start(&model);
    scene.moved();
    rotate(&scene, "1");
    scene.done(&["token", "update", "2", "--name", "mine"]);
    scene.done(&["token", "revoke", "3"]);
    for token in &mut model.tokens[..4] {
        token.line["state"] = json!("revoked");
    }
    scene.write(&model);
    let expected = at(
        1,
        "it is revoked there, and has another value here: \"siteconf token revoke 1\" ends it",
    ) + &at(
        2,
        "it is revoked there, and was changed here since it came: \"siteconf token revoke 2\" ends it",
    );
    for flags in [&["--dry-run", "--json"][..], &["--json"]] {
        let (code, out, told) = scene.run(flags);
        assert_eq!((code, told), (1, expected.clone()), "{flags:?}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["revoked"]["tokens"], 1, "{report}");
        assert_eq!(counts(&report, "unchanged"), [1, 1, 1, 0, 2], "{report}");
    }
    let listed = scene.json(&["token", "list"]);
    let ids: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["tokenId"])
        .collect();
    assert_eq!(ids, ["1", "2", "5"]);
}

#[test]
fn no_value_is_told_of_a_line_that_is_none() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 1, 0, 0));
    let value = "0123456789abcdef".repeat(4);
    let whole = "it must be an object with owner, name, repos and value or sha256, at column";
    let line = |field: &str, value: Value| {
        let mut line = json!({ "owner": "ann", "name": "n", "repos": ["*"] });
        line[field] = value;
        line.to_string()
    };
    let lines = [
        (json!(value).to_string(), format!("{whole} 66")),
        (
            format!("{{\"{value}\":{{\"owner\":\"ann\"}}}}"),
            format!("{whole} 67"),
        ),
        (line("repos", json!(value)), format!("{whole} 100")),
        (
            line("expires_at", json!(value)),
            "a time must be RFC 3339, YYYY-MM-DD or a number of Unix \
            seconds at column 80"
                .to_owned(),
        ),
        (line("state", json!(value)), format!("{whole} 114")),
        (
            line("fingerprint_required", json!(value)),
            format!("{whole} 90"),
        ),
        (line("value", json!([value])), format!("{whole} 48")),
        (
            format!("[\"ann\",\"n\",\"{value}\"]"),
            format!("{whole} 78"),
        ),
        (
            format!("{{{value}"),
            "key must be a string at column 2".to_owned(),
        ),
        (format!("{value}x"), "invalid number at column 2".to_owned()),
        (
            line("repos", json!([value])),
            "it needs either value or sha256".to_owned(),
        ),
    ];
    let text: Vec<_> = lines.iter().map(|(line, _)| line.as_str()).collect();
    fs::write(scene.tokens(), text.join("\n")).unwrap();
    for flags in [&["--dry-run"][..], &[], &["--verify"]] {
        let (code, out, told) = scene.run(flags);
        assert_eq!(code, 1);
        assert!(!told.contains(&value), "{told}");
        assert!(!out.contains(&value), "{out}");
        if flags != ["--verify"] {
            let expected = lines.iter().enumerate();
            let expected: String = expected
                .map(|(index, (_, reason))| at(index + 1, reason))
                .collect();
            assert_eq!(told, expected, "{flags:?}");
        }
    }
}

#[test]
fn accounts_are_made_for_owners_of_the_tree_and_the_map_alone() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 1, 0, 0));
    scene.done(&["user", "add", "here"]);
    let map = scene.tree().with_file_name("map.json");
    fs::write(&map, "{\"old.bob\": \"bob\", \"old.cyd\": \"cyd\"}").unwrap();
    let line = |owner: &str, digit: &str, state: &str| {
        json!({ "owner": owner, "name": "n", "repos": ["*"], "value": digit.repeat(64), "state": state })
            .to_string()
    };
    let lines = [
        line("ann", "a", "active"),
        line("old.bob", "b", "active"),
        line("old.cyd", "c", "revoked"),
        line("gone", "d", "revoked"),
        line("nobody", "e", "active"),
        line("here", "f", "active"),
    ];
    fs::write(scene.tokens(), lines.join("\n")).unwrap();
    let flag = map.display().to_string();
    let expected = at(
        5,
        "\"nobody\" owns nothing in the tree; name it in the owner map",
    ) + "siteconf: owner map: \"old.cyd\" owns nothing in the tree\n";
    for flags in [&["--dry-run", "--json"][..], &["--json"]] {
        let (code, out, told) = scene.run(&[flags, &["--owner-map", &flag]].concat());
        assert_eq!((code, told), (1, expected.clone()), "{flags:?}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(counts(&report, "made"), [2, 1, 1, 0, 3], "{report}");
    }
    let users = scene.json(&["user", "list"]);
    let names: Vec<_> = users
        .as_array()
        .unwrap()
        .iter()
        .map(|user| &user["name"])
        .collect();
    assert_eq!(names, ["admin", "here", "ann", "bob"]);
}

#[test]
fn a_comparison_goes_both_ways_and_knows_a_rotated_token() {
    let mut model = Model::new(&["ann"], 2, 4, 4, 5);
    for token in &mut model.tokens {
        token.line["last_used_at"] = json!("2025-01-01");
    }
    let scene = Scene::start(&model);
    scene.moved();
    scene.verified();
    rotate(&scene, "1");
    for branch in ["main", "test"] {
        let branch = crate::model::place("ann", "acme/shop1.erp", branch);
        model.branches.remove(&branch);
    }
    model.tokens[2].line["created_at"] = json!("2023-01-01");
    model.tokens[3].line["last_used_at"] = json!("2026-01-01");
    model.tokens.pop();
    fs::remove_dir_all(scene.tree()).unwrap();
    let test = crate::model::place("ann", "acme/shop0.erp", "test");
    model.branches.remove(&test);
    scene.write(&model);
    // What was made here is no business of the old system.
    scene.done(&["project", "create", "acme/own.erp", "--owner", "ann"]);
    scene.done(&["branch", "create", "acme/shop0.erp", "own"]);
    scene.done(&["token", "create", "--user", "ann", "--name", "own", "--all"]);
    let (code, _, told) = scene.run(&["--verify"]);
    let expected = "siteconf: acme/shop0.erp:test: the branch is only here\n\
                    siteconf: project acme/shop1.erp: it is only here\n"
        .to_owned()
        + &at(1, "it has another value here")
        + &at(3, "it was made at another time here")
        + &at(4, "it was used there after it was used here")
        + "siteconf: token 5 (\"client 4\" of ann): it is only here\n";
    assert_eq!((code, told), (1, expected));
}

#[test]
fn the_last_use_there_comes_with_each_run() {
    let mut model = model();
    let scene = Scene::start(&model);
    let mut used = |second: &str| {
        for token in &mut model.tokens {
            token.line["last_used_at"] = json!("2025-01-01");
        }
        model.tokens[1].line["last_used_at"] = json!(second);
        scene.write(&model);
        scene.moved();
        let shown = |id: &str| scene.json(&["token", "show", id])["last_used_at"].clone();
        assert_eq!(shown("1"), "2025-01-01T00:00:00.000Z");
        scene.verified();
        shown("2")
    };
    assert_eq!(used("2025-01-01"), "2025-01-01T00:00:00.000Z");
    assert_eq!(used("2025-02-03"), "2025-02-03T00:00:00.000Z");
}

#[test]
fn a_value_that_was_revoked_here_is_not_given_again() {
    let model = model();
    let scene = Scene::start(&model);
    scene.moved();
    scene.done(&["token", "revoke", "1"]);
    let flags = [
        "token",
        "create",
        "--user",
        "ann",
        "--name",
        "n",
        "--all",
        "--value-stdin",
    ];
    let mut command = scene.daemon.command(&flags);
    command.stdin(
        fs::File::open({
            let path = scene.tokens().with_file_name("value");
            fs::write(&path, &model.tokens[0].value).unwrap();
            path
        })
        .unwrap(),
    );
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), told.as_str()),
        (
            Some(1),
            "siteconf: a token with this value came from an older system and was revoked here: it needs \
             another value\n"
        )
    );
}
