//! Differences between two states of a branch: contract section 6.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, paths};

/// v0003 → head: one file each added, modified, deleted, and one left alone.
fn project(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "gone.xml", "old\n");
    project.save("main", "dir/kept.xml", "same\n");
    project.save("main", "dir/changed.xml", "one\ntwo\nthree\n");
    project.save("main", "dir/changed.xml", "one\n2\nthree\n");
    project.save("main", "new.xml", "new\n");
    project
        .user
        .delete(&project.file("main", "gone.xml"))
        .expect_status(200);
    project
}

fn diff(project: &Project, query: &str) -> Answer {
    let target = project.on("main", &format!("/diff?{query}"));
    project.user.get(&target)
}

/// Each change as `path change`.
#[track_caller]
fn changes(answer: &Answer) -> Vec<String> {
    let answer = answer.json();
    let text = |change: &Value| {
        format!(
            "{} {}",
            change["path"].as_str().unwrap(),
            change["change"].as_str().unwrap()
        )
    };
    answer.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn a_diff_names_what_changed_in_path_order() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let expected = [
        "dir/changed.xml modified",
        "gone.xml deleted",
        "new.xml added",
    ];
    for query in [
        "from=v0004&to=main",
        "from=main@v0004&to=main",
        "from=v0004&to=HEAD",
    ] {
        assert_eq!(changes(&diff(&project, query)), expected, "{query}");
    }
    assert_eq!(
        changes(&diff(&project, "from=main&to=v0004")),
        [
            "dir/changed.xml modified",
            "gone.xml added",
            "new.xml deleted"
        ]
    );
    diff(&project, "from=main&to=main").assert_json(200, &json!([]));
}

#[test]
fn a_change_shows_both_sides() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let changes = diff(&project, "from=v0004&to=main").json();
    let tree = project.tree("main");
    let new = tree.as_array().unwrap();
    let new = new.iter().find(|e| e["path"] == "new.xml").unwrap();
    assert_eq!(changes[2]["old"], Value::Null);
    for field in ["size", "md5", "id", "mode"] {
        assert_eq!(changes[2]["new"][field], new[field], "{field}");
        assert_ne!(changes[0]["old"][field], Value::Null, "{field}");
    }
    assert_eq!(changes[1]["new"], Value::Null);
    assert_eq!(changes[1]["old"]["size"], 4);
    for change in changes.as_array().unwrap() {
        let mut fields: Vec<_> = change.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["change", "new", "old", "path"]);
    }
}

#[test]
fn branches_can_be_compared() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let body = json!({ "name": "test", "from": "main" });
    project
        .user
        .post(&project.admin("/branches"), &body)
        .expect_status(201);
    project.save("test", "dir/kept.xml", "other\n");
    let changes = diff(&project, "from=main&to=test").json();
    assert_eq!(paths(&changes), ["dir/kept.xml"]);
}

#[test]
fn a_text_diff_shows_lines() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let answer = diff(
        &project,
        "from=v0004&to=main&unified=1&path=dir/changed.xml",
    );
    let answer = answer.expect_status(200);
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    let lines: Vec<_> = answer.text().lines().collect();
    assert!(
        lines.contains(&"-two") && lines.contains(&"+2"),
        "{lines:?}"
    );
    assert!(lines.contains(&" one") && lines.contains(&" three"));
    assert!(lines.iter().any(|line| line.starts_with("@@ ")));
}

#[test]
fn a_diff_needs_two_states_that_exist() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for malformed in [
        "from=v0001",
        "to=v0001",
        "",
        "from=v1&to=main",
        "from=v0001&to=main&unified=maybe&path=new.xml",
        "from=v0001&to=main&unified=1&path=../x",
    ] {
        let answer = diff(&project, malformed);
        assert!(
            matches!(answer.status, 400 | 404),
            "{malformed}: {answer:?}"
        );
    }
    for absent in [
        "from=v0009&to=main",
        "from=main&to=none",
        "from=main@v0009&to=main",
    ] {
        diff(&project, absent).assert_refused(404);
    }
    diff(&project, "from=v0004&to=main&unified=1&path=none.xml").assert_refused(404);
}
