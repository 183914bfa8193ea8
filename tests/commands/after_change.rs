//! Changes that were made, where what is told of them cannot be read any more, or something fails behind them.

use std::process::Output;
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Value, json};
use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::SystemClock;
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{Condition, ProjectWriter, Projects};
use siteconf::store::sqlite::SqliteStore;

use crate::stage::Stage;

const ON_MAIN: [&str; 2] = ["acme/shop.erp", "main"];

fn run(stage: &Stage, words: &[&str]) -> Output {
    stage.command(words).output().unwrap()
}

fn sql(stage: &Stage, change: &str) {
    let db = Connection::open(stage.path("data/store.db")).unwrap();
    db.execute_batch(change).unwrap();
}

/// Has the store refuse a change of its tables.
fn refuse(stage: &Stage, change: &str) {
    let refused =
        format!("CREATE TRIGGER planted BEFORE {change} BEGIN SELECT RAISE(ABORT, 'planted'); END");
    sql(stage, &refused);
}

/// Damages the node of a folder of `main`.
fn damage(stage: &Stage, folder: &str) {
    let tree = stage.done(&["debug", "manifest", "acme/shop.erp:main", "--json"]);
    let tree: Value = serde_json::from_str(&tree).unwrap();
    let mut nodes = tree["nodes"].as_array().unwrap().iter();
    let node = nodes.find(|node| node["folder"] == folder).unwrap();
    let id = node["node"].as_str().unwrap();
    let change = format!("UPDATE object SET bytes = zeroblob(size) WHERE id = x'{id}'");
    sql(stage, &change);
}

/// Saves so many states of a file.
fn save(stage: &Stage, branch: &str, states: u32) {
    let store = Arc::new(SqliteStore::open_beside(&stage.path("data")).unwrap());
    let projects = Projects::new(store, Arc::new(SystemClock));
    let repo_id = RepoId::parse("acme/shop.erp").unwrap();
    let writer = ProjectWriter::new(projects.project(&repo_id).unwrap(), "ann");
    let branch = BranchName::parse(branch).unwrap();
    let path = FilePath::parse("n").unwrap();
    for number in 0..states {
        let content = number.to_string().into_bytes();
        let file = projects.new_file(content.into()).unwrap();
        let saved = writer.save(&branch, &path, file, Condition::None);
        saved.unwrap();
    }
}

/// What an error says, behind the lines of the log.
fn said(output: &Output) -> &str {
    let err = std::str::from_utf8(&output.stderr).unwrap();
    err.lines().last().unwrap()
}

#[test]
fn a_change_is_told_without_what_cannot_be_read_any_more() {
    let stage = Stage::new();
    stage.lay("more", &[("c.xml", "<c/>"), ("d.xml", "<d/>")]);
    let (file, folder) = (stage.shown("more/c.xml"), stage.shown("more"));
    let (file, folder) = (file.as_str(), folder.as_str());
    damage(&stage, "conf/");
    // No state comes twice: of one that was there before, the short id is kept.
    for (command, rest, snapshot) in [
        ("put", &["a.xml", file][..], "v0002"),
        ("put", &["b.xml", file], "v0003"),
        ("rollback", &["v2", "--path=a.xml"], "v0004"),
        ("import", &[folder], "v0005"),
    ] {
        let words = [&[command], &ON_MAIN[..], rest, &["--json"]].concat();
        let output = run(&stage, &words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (told.get("short_id"), &told["snapshot"]),
            (Some(&Value::Null), &json!(snapshot)),
            "{words:?}"
        );
        if command == "rollback" {
            // What can be read is told.
            let changes = told["changes"].as_array().unwrap();
            assert_eq!((changes.len(), &changes[0]["path"]), (1, &json!("a.xml")));
        }
        // The log says why.
        let said = said(&output);
        assert!(said.contains(" is damaged: "), "{said}");
    }
    for (path, content) in [("a.xml", "<a/>"), ("b.xml", "<c/>"), ("d.xml", "<d/>")] {
        let cat = [&["cat"], &ON_MAIN[..], &[path]].concat();
        assert_eq!(stage.done(&cat), content);
    }
}

#[test]
fn what_was_pruned_before_an_error_is_told_with_it() {
    let stage = Stage::new();
    save(&stage, "dev", 3);
    // With that of the import more than one commit removes.
    save(&stage, "main", 105);
    refuse(
        &stage,
        "DELETE ON record WHEN old.key = 'snapshot/00000001/00000065'",
    );
    let output = run(&stage, &["prune", "--keep-snapshots", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        rows,
        json!([
            {"repo_id": "acme/shop.erp", "branch": "dev", "snapshots": 2},
            {"repo_id": "acme/shop.erp", "branch": "main", "snapshots": 100},
        ])
    );
    assert_eq!(
        said(&output),
        format!(
            "siteconf: {}: the store has stopped writing after a failed write; restart the service",
            stage.shown("data")
        )
    );
}

#[test]
fn what_was_forgotten_before_a_collection_that_fails_is_told_with_it() {
    let stage = Stage::new();
    stage.done(&["branch", "delete", "acme/shop.erp", "dev"]);
    refuse(&stage, "UPDATE ON collection");
    let output = run(&stage, &["gc", "--keep-deleted-days", "0"]);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(1), &b""[..]),
        "{output:?}"
    );
    assert_eq!(
        said(&output),
        format!(
            "siteconf: {}: the store has stopped writing after a failed write; restart the service; \
             before that, of what was deleted 0 projects and 1 branch were forgotten",
            stage.shown("data")
        )
    );
    let deleted = run(&stage, &["project", "list", "--deleted", "--json"]);
    assert_eq!(deleted.stdout, b"[]\n");
}
