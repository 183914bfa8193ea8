//! The Read API's list of branches: specification section 4.1, contract section 5.

use serde_json::{Value, json};

use crate::harness::{Daemon, Project, READ, READ_V4, User, branch_digest, masked, segment};

/// A project with these branches, and somebody who reads it.
fn with_branches(daemon: &Daemon, branches: &[&str]) -> (Project, User) {
    let project = Project::create(&daemon.user("alice", &[]), "acme/shop");
    for branch in branches {
        project.add_branch(branch);
    }
    let reader = daemon.reader(&project);
    (project, reader)
}

#[track_caller]
fn names(reader: &User, project: &Project, query: &str) -> Vec<String> {
    let answer = reader.get(&project.read(&format!("/branches{query}")));
    let name = |branch: &Value| branch["name"].as_str().unwrap().to_owned();
    let branches = answer.expect_status(200).json();
    branches.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_branch_has_every_field_that_a_client_reads() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["main"]);
    project.save("main", "a.xml", "one");
    let digest = branch_digest(&[("a.xml", b"one")]);
    let answer = reader.get(&project.read("/branches")).expect_status(200);
    let branch = masked(answer.json())[0].clone();
    for (field, value) in [
        ("name", json!("main")),
        ("default", json!(true)),
        ("protected", json!(true)),
        ("merged", json!(false)),
        ("developers_can_push", json!(false)),
        ("developers_can_merge", json!(false)),
        ("can_push", json!(false)),
    ] {
        assert_eq!(branch[field], value, "{field}");
    }
    let commit = &branch["commit"];
    assert_eq!(commit["id"], digest[..40]);
    assert_eq!(commit["short_id"], digest[..8]);
    for field in ["created_at", "authored_date", "committed_date"] {
        assert_eq!(commit[field], "<time>", "{field}");
    }
    for field in ["trailers", "extended_trailers"] {
        assert_eq!(commit[field], json!({}), "{field}");
    }
    for field in ["title", "message", "author_name", "author_email", "web_url"] {
        assert!(commit[field].is_string(), "{field}");
    }
    assert!(commit["parent_ids"].is_array());
    assert!(branch["web_url"].is_string());
}

#[test]
fn a_project_without_branches_has_an_empty_list() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &[]);
    reader
        .get(&project.read("/branches"))
        .assert_json(200, &json!([]));
}

#[test]
fn one_branch_is_the_default_by_the_rule() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    let reader = daemon.token(token["tokenString"].as_str().unwrap());
    for (number, (branches, expected)) in [
        (&["main", "master", "a"] as &[&str], "master"),
        (&["z", "main", "a"], "main"),
        (&["b", "a-b", "a/b", "Z", "б"], "Z"),
        (&["MASTER", "mainx", "Main"], "MASTER"),
        (&["only"], "only"),
    ]
    .iter()
    .enumerate()
    {
        let project = Project::create(&alice, &format!("p{number}"));
        for branch in *branches {
            project.add_branch(branch);
        }
        let listed = reader.get(&project.read("/branches")).json();
        for branch in listed.as_array().unwrap() {
            let is_default = branch["name"] == *expected;
            assert_eq!(branch["default"], is_default, "{branch}");
            assert_eq!(branch["protected"], is_default, "{branch}");
        }
    }
}

#[test]
fn branches_are_sorted_by_name() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["б", "main", "Z", "a-b", "a/b", "v10", "v9"]);
    assert_eq!(
        names(&reader, &project, ""),
        ["Z", "a-b", "a/b", "main", "v10", "v9", "б"]
    );
}

#[test]
fn a_search_finds_parts_of_names_whatever_their_case() {
    let daemon = Daemon::start();
    let all = [
        "Feature/shop",
        "feature",
        "main",
        "new-feature",
        "x.y",
        "ветка",
    ];
    let (project, reader) = with_branches(&daemon, &all);
    for (search, expected) in [
        ("shop", &["Feature/shop"] as &[&str]),
        ("SHOP", &["Feature/shop"]),
        ("FEATURE", &["feature", "Feature/shop", "new-feature"]),
        ("ВЕТ", &["ветка"]),
        ("none", &[]),
        ("^feature", &["Feature/shop", "feature"]),
        ("feature$", &["feature", "new-feature"]),
        ("^feature$", &["feature"]),
        ("f*e", &["Feature/shop", "feature", "new-feature"]),
        ("^n*re$", &["new-feature"]),
        ("x.y", &["x.y"]),
        ("x?y", &[]),
        (".*", &["x.y"]),
        ("e/s", &["Feature/shop"]),
        ("", &all),
    ] {
        let query = format!("?search={}", segment(search));
        assert_eq!(names(&reader, &project, &query), expected, "{search}");
    }
}

#[test]
fn the_list_is_the_same_at_both_mounts_and_by_number() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["main", "test"]);
    let by_name = reader.get(&project.read("/branches")).json();
    for (mount, id) in [
        (READ, project.number.to_string()),
        (READ_V4, project.number.to_string()),
        (READ_V4, segment(&project.id)),
    ] {
        let target = format!("{mount}/projects/{id}/repository/branches");
        let listed = reader.get(&target).expect_status(200).json();
        for (index, branch) in by_name.as_array().unwrap().iter().enumerate() {
            assert_eq!(listed[index]["name"], branch["name"]);
            assert_eq!(listed[index]["commit"]["id"], branch["commit"]["id"]);
        }
        assert_eq!(listed.as_array().unwrap().len(), 2);
    }
}

#[test]
fn unknown_parameters_are_ignored() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["main"]);
    let plain = reader.get(&project.read("/branches")).json();
    for query in [
        "?",
        "?id=1",
        "?statistics=true&x[]=1",
        "?SEARCH=none",
        "?search[]=none",
        "?&&",
    ] {
        reader
            .get(&project.read(&format!("/branches{query}")))
            .assert_json(200, &plain);
    }
}
