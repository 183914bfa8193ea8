//! Branches in the Admin API: specification section 2, contract sections 3 and 6.

use serde_json::json;

use crate::harness::{Daemon, Project, masked, segment};

/// A fresh project of a fresh user, without a branch.
fn project(daemon: &Daemon) -> Project {
    Project::create(&daemon.user("alice", &[]), "acme/shop")
}

/// The names of a project's branches in the order listed.
#[track_caller]
fn names(project: &Project) -> Vec<String> {
    let branches = project.user.get(&project.admin("/branches")).json();
    let name = |branch: &serde_json::Value| branch["name"].as_str().unwrap().to_owned();
    branches.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_new_branch_is_an_empty_folder() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project
        .user
        .get(&project.admin("/branches"))
        .assert_json(200, &json!([]));
    let created = project.add_branch("main").json();
    for (field, value) in [
        ("name", json!("main")),
        ("default", json!(true)),
        ("protected", json!(true)),
        ("merged", json!(false)),
        ("files", json!(0)),
        ("bytes", json!(0)),
        ("snapshots", json!(0)),
    ] {
        assert_eq!(created[field], value, "{field}");
    }
    assert_eq!(created["commit"]["short_id"], "e3b0c442");
    assert_eq!(masked(created.clone())["updated_at"], "<time>");
    let branches = project.user.get(&project.admin("/branches"));
    branches.assert_json(200, &json!([created]));
    assert_eq!(project.tree("main"), json!([]));
    assert_eq!(project.versions("main"), [""; 0]);
}

#[test]
fn a_branch_counts_what_it_holds() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("main");
    project.save("main", "a.xml", "12345");
    project.save("main", "b/c.xml", "678");
    project.save("main", "a.xml", "1");
    let item = project.branch_item("main");
    assert_eq!(item["files"], 2);
    assert_eq!(item["bytes"], 4);
    assert_eq!(item["snapshots"], 3);
}

#[test]
fn one_branch_is_shown_as_the_list_shows_it_with_its_tag() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("feature/x");
    project.save("feature/x", "a.xml", "12345");
    let target = project.on("feature/x", "");
    let answer = project.user.get(&target).expect_status(200);
    let item = project.branch_item("feature/x");
    assert_eq!(answer.json(), item);
    let tag = format!("\"{}\"", item["commit"]["id"].as_str().unwrap());
    assert_eq!(answer.header("ETag"), Some(tag.as_str()));
    assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"));
    let head = project.user.head(&target);
    assert_eq!(head.lasting_headers(), answer.lasting_headers());
    let ask = |known: &str| project.user.with("If-None-Match", known).get(&target);
    for known in [&tag, "*", &format!("\"x\", W/{tag}")] {
        let unchanged = ask(known);
        unchanged.assert_empty(304);
        for header in ["ETag", "Cache-Control", "Vary"] {
            assert_eq!(unchanged.header(header), answer.header(header));
        }
    }
    ask("\"x\"").assert_json(200, &item);
    project.save("feature/x", "b.xml", "x");
    let renewed = ask(&tag).expect_status(200);
    assert_ne!(renewed.header("ETag"), Some(tag.as_str()));
    assert_eq!(renewed.json()["files"], 2);
    // It is the tag that changes name.
    let delete = |tag: &str| project.user.with("If-Match", tag).delete(&target);
    delete(&tag).assert_refused(412);
    delete(renewed.header("ETag").unwrap()).assert_empty(204);

    let refused = project
        .user
        .get(&format!("{target}?x=1"))
        .assert_refused(400);
    assert_eq!(refused, "unknown query parameter \"x\"");
    let body = project.user.request("GET", &target).body(b"{}").send();
    body.assert_refused(400);
    project.user.get(&target).assert_refused(404);
    daemon.anonymous().get(&target).assert_refused(401);
    let options = project.user.request("OPTIONS", &target).send();
    assert_eq!(
        options.header("Allow"),
        Some("GET, HEAD, PATCH, DELETE, OPTIONS")
    );
}

#[test]
fn branches_are_listed_by_the_bytes_of_their_names() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for name in ["б", "main", "Z", "a-b", "a/b", "v10", "v9"] {
        project.add_branch(name);
    }
    assert_eq!(
        names(&project),
        ["Z", "a-b", "a/b", "main", "v10", "v9", "б"]
    );
}

#[test]
fn one_branch_is_the_default() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let default = || {
        let branches = project.user.get(&project.admin("/branches")).json();
        let branches = branches.as_array().unwrap().clone();
        let marked: Vec<_> = branches.iter().filter(|b| b["default"] == true).collect();
        assert_eq!(marked.len(), 1);
        assert_eq!(marked[0]["protected"], true);
        marked[0]["name"].as_str().unwrap().to_owned()
    };
    for (branch, expected) in [
        ("b", "b"),
        ("a", "a"),
        ("Z", "Z"),
        ("main", "main"),
        ("Master", "main"),
        ("master", "master"),
    ] {
        project.add_branch(branch);
        assert_eq!(default(), expected);
    }
    for (gone, expected) in [("master", "main"), ("main", "Master"), ("Master", "Z")] {
        project.user.delete(&project.on(gone, "")).assert_empty(204);
        assert_eq!(default(), expected);
    }
}

#[test]
fn a_branch_can_start_from_a_revision() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("main");
    project.save("main", "a.xml", "one");
    let one = project.branch_item("main")["commit"]["id"].clone();
    project.save("main", "a.xml", "two");
    let from = |name: &str, from: serde_json::Value| {
        let body = json!({ "name": name, "from": from });
        project.user.post(&project.admin("/branches"), &body)
    };
    for (name, revision, body) in [
        ("of-head", json!("main"), "two"),
        ("of-snapshot", json!("main@v0002"), "one"),
        ("of-commit", one.clone(), "one"),
        ("of-default", json!("HEAD"), "two"),
        ("of-short", json!(one.as_str().unwrap()[..8]), "one"),
    ] {
        let created = from(name, revision).expect_status(201).json();
        assert_eq!(created["files"], 1);
        assert_eq!(created["snapshots"], 0);
        let answer = project.user.get(&project.file(name, "a.xml"));
        answer.assert_bytes(200, body.as_bytes());
    }
    project.save("of-head", "a.xml", "three");
    let main = project.user.get(&project.file("main", "a.xml"));
    main.assert_bytes(200, b"two");
    for absent in ["none", "main@v0009", "0123456789", &"0".repeat(40)] {
        from("x", json!(absent)).assert_refused(404);
    }
    let malformed = "from: malformed branch name: it holds \"..\" or \"@{\", or ends with \".\"";
    from("x", json!("a..b")).assert_error(400, malformed);
    from("null", json!(null)).expect_status(201);
    assert_eq!(project.tree("null"), json!([]));
    for malformed in [json!(1), json!("a..b")] {
        from("x", malformed).assert_refused(400);
    }
    assert!(!names(&project).contains(&"x".to_owned()));
}

#[test]
fn a_branch_name_is_taken_once() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("main");
    project.save("main", "a.xml", "kept");
    let again = json!({ "name": "main" });
    project
        .user
        .post(&project.admin("/branches"), &again)
        .assert_refused(400);
    let answer = project.user.get(&project.file("main", "a.xml"));
    answer.assert_bytes(200, b"kept");
}

#[test]
fn names_that_git_refuses_are_refused() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let (hex40, hex64, long) = ("a".repeat(40), "0F".repeat(32), "x".repeat(256));
    for name in [
        "",
        ".git",
        "a/../b",
        "refs/heads/x",
        "refs",
        "HEAD",
        "@",
        "a@{1}",
        "-x",
        "--help",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.",
        "a.lock",
        "a/b.lock",
        "a..b",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a\tb",
        "a\u{0}b",
        "a\u{7f}",
        "main@v0001",
        "x@v1",
        &hex40,
        &hex64,
        &long,
    ] {
        let body = json!({ "name": name });
        project
            .user
            .post(&project.admin("/branches"), &body)
            .assert_refused(400);
        if !matches!(name, "" | "HEAD" | "main@v0001") && name != hex40 {
            let target = project.on(name, "/tree");
            project.user.get(&target).assert_refused(400);
        }
    }
    assert_eq!(names(&project), [""; 0]);
}

#[test]
fn names_that_git_takes_are_taken_as_they_are() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let longest = "x".repeat(255);
    for name in [
        "feature/x",
        "a+b",
        "v1.0",
        "ветка",
        "a@b",
        "x#1",
        "a%2Fb",
        "0123abcd",
        &longest,
    ] {
        project.add_branch(name);
        project.save(name, "a.xml", name);
        let answer = project.user.get(&project.file(name, "a.xml"));
        answer.assert_bytes(200, name.as_bytes());
    }
}

#[test]
fn a_branch_with_a_slash_is_one_encoded_segment() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("feature/x+y");
    for spelling in ["feature%2Fx%2By", "feature%2fx+y", "%66eature%2Fx+y"] {
        let target = project.admin(&format!("/branches/{spelling}/tree"));
        project.user.get(&target).assert_json(200, &json!([]));
    }
    let twice = segment(&segment("feature/x+y"));
    let target = project.admin(&format!("/branches/{twice}/tree"));
    project.user.get(&target).assert_refused(404);
}

#[test]
fn a_deleted_branch_is_gone_and_others_stay() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("main");
    project.add_branch("test");
    project.save("main", "a.xml", "a");
    project.save("test", "a.xml", "a");
    project
        .user
        .delete(&project.on("main", ""))
        .assert_empty(204);
    for target in [
        project.on("main", ""),
        project.on("main", "/tree"),
        project.on("main", "/history"),
        project.on("main", "/snapshots/v0001/tree"),
        project.file("main", "a.xml"),
    ] {
        project.user.get(&target).assert_refused(404);
    }
    project
        .user
        .delete(&project.on("main", ""))
        .assert_refused(404);
    project
        .user
        .put(&project.file("main", "a.xml"), b"x")
        .assert_refused(404);
    assert_eq!(names(&project), ["test"]);
    let answer = project.user.get(&project.file("test", "a.xml"));
    answer.assert_bytes(200, b"a");
}

#[test]
fn what_was_pruned_is_not_counted() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("main");
    project.add_branch("other");
    for text in ["1", "2", "3", "4", "5", "6"] {
        project.save("main", "a", text);
    }
    let listed = |arguments: &[&str], place: &str| {
        let output = daemon.command(&[arguments, &["--json"]].concat(), "");
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        shown.pointer(place).unwrap().clone()
    };
    let counts = || {
        let listed_by_service = project.user.get(&project.admin("/branches")).json();
        [
            listed_by_service[0]["snapshots"].clone(),
            project.branch_item("main")["snapshots"].clone(),
            listed(&["branch", "list", &project.id], "/0/snapshots"),
            listed(&["project", "show", &project.id], "/snapshots"),
            listed(&["debug", "refs"], "/0/snapshots"),
        ]
    };
    assert_eq!(json!(counts()), json!([6, 6, 6, 6, 6]));
    daemon.run(&["prune", "--keep-snapshots", "2"], "");
    assert_eq!(json!(counts()), json!([2, 2, 2, 2, 2]));
    project.save("main", "a", "7");
    assert_eq!(json!(counts()), json!([3, 3, 3, 3, 3]));
    assert_eq!(project.versions("main"), ["v0007", "v0006", "v0005"]);
    daemon.run(&["prune", "--keep-snapshots", "1"], "");
    assert_eq!(json!(counts()), json!([1, 1, 1, 1, 1]));
    assert_eq!(project.branch_item("other")["snapshots"], 0);
}
