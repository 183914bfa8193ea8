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
        let expected = [
            "additions",
            "binary",
            "change",
            "deletions",
            "new",
            "old",
            "path",
            "renamed_from",
        ];
        assert_eq!(fields, expected);
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
fn a_carriage_return_alone_ends_no_line() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for text in ["[a]\r\r\nb=1\rc=1\r\r\nd=\r", "[a]\r\r\nb=2\rc=2\r\r\nd=\r"] {
        project.save("main", "a.ini", text);
    }
    let changes = diff(&project, "from=v0002&to=main").json();
    let counts = [&changes[0]["additions"], &changes[0]["deletions"]];
    assert_eq!(counts, [1, 1]);
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

#[test]
fn a_difference_says_how_many_lines_and_whether_it_was_moved() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let many = vec![b'\n'; (1 << 20) + 1];
    project.save("main", "changed.xml", "one\ntwo\nthree\n");
    project.save("main", "here/moved.xml", "a\nb\n");
    project.save("main", "here/empty", "");
    project.save("main", "image", b"\0\x01");
    project.save("main", "large", &many);
    project.save("main", "changed.xml", "one\n2\nthree\nfour\n");
    let user = &project.user;
    for gone in ["here/moved.xml", "here/empty", "image", "large"] {
        user.delete(&project.file("main", gone)).expect_status(200);
    }
    project.save("main", "elsewhere.xml", "a\nb\n");
    project.save("main", "there/empty", "");
    project.save("main", "there/moved.xml", "a\nb\n");
    let list = diff(&project, "from=v0006&to=main")
        .expect_status(200)
        .json();
    let shown = |fields: [&str; 6]| -> Vec<Value> {
        let list = list.as_array().unwrap().iter();
        list.map(|it| fields.iter().map(|field| it[*field].clone()).collect())
            .collect()
    };
    let fields = [
        "path",
        "change",
        "additions",
        "deletions",
        "binary",
        "renamed_from",
    ];
    assert_eq!(
        json!(shown(fields)),
        json!([
            ["changed.xml", "modified", 2, 1, false, null],
            ["elsewhere.xml", "added", 2, 0, false, null],
            ["here/empty", "deleted", 0, 0, false, null],
            ["here/moved.xml", "deleted", 0, 2, false, null],
            ["image", "deleted", null, null, true, null],
            ["large", "deleted", null, null, null, null],
            ["there/empty", "added", 0, 0, false, null],
            ["there/moved.xml", "added", 2, 0, false, "here/moved.xml"],
        ])
    );
    // Where it came from is told though that lies elsewhere.
    let there = diff(&project, "from=v0006&to=main&path=there").json();
    assert_eq!(paths(&there), ["there/empty", "there/moved.xml"]);
    assert_eq!(there[1]["renamed_from"], "here/moved.xml");
    // Without the name, the first deleted one is taken.
    user.delete(&project.file("main", "there/moved.xml"))
        .expect_status(200);
    let list = diff(&project, "from=v0006&to=main").json();
    assert_eq!(list[1]["renamed_from"], "here/moved.xml");
}

#[test]
fn a_diff_is_read_page_by_page() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let whole = diff(&project, "from=v0001&to=main").expect_status(200);
    assert_eq!(whole.header("Link"), None);
    let whole = whole.json();
    let expected = ["dir/changed.xml", "dir/kept.xml", "new.xml"];
    assert_eq!(paths(&whole), expected);
    let mut found = Vec::new();
    let mut target = project.on("main", "/diff?from=v0001&to=main&limit=1&after=");
    loop {
        let page = project.user.get(&target).expect_status(200);
        let entries = page.json();
        assert_eq!(entries.as_array().unwrap().len(), 1);
        assert_eq!(entries[0], whole[found.len()]);
        found.push(entries[0]["path"].as_str().unwrap().to_owned());
        let Some(link) = page.header("Link") else {
            break;
        };
        let address = link.strip_prefix('<').unwrap();
        let address = address.strip_suffix(">; rel=\"next\"").unwrap();
        target = address[address.find("/site-builder").unwrap()..].to_owned();
    }
    assert_eq!(found, expected);
    for (query, expected) in [
        (
            "after=dir/changed.xml",
            &["dir/kept.xml", "new.xml"] as &[&str],
        ),
        ("after=dir/d.xml", &["dir/kept.xml", "new.xml"]),
        ("after=z", &[]),
        ("path=dir&limit=1", &["dir/changed.xml"]),
        ("path=dir&limit=1&after=dir/changed.xml", &["dir/kept.xml"]),
    ] {
        let page = diff(&project, &format!("from=v0001&to=main&{query}"));
        assert_eq!(paths(&page.json()), expected, "{query}");
    }
    // A page knows of no file that another page has.
    project.save("main", "a.xml", "<moved/>");
    project.save("main", "z.xml", "<moved/>");
    let gone = project.user.delete(&project.file("main", "a.xml"));
    gone.expect_status(200);
    let versions = project.versions("main");
    let from = &versions[1];
    for (query, expected) in [
        ("", json!("a.xml")),
        ("&limit=2", json!("a.xml")),
        ("&after=a.xml", json!(null)),
        ("&path=z.xml", json!("a.xml")),
        ("&path=z.xml&limit=1", json!(null)),
    ] {
        let list = diff(&project, &format!("from={from}&to=main{query}")).json();
        let last = list.as_array().unwrap().last().unwrap();
        assert_eq!(last["renamed_from"], expected, "{query} {list}");
    }
    for query in ["limit=0", "limit=1001", "limit=x", "after=../x"] {
        diff(&project, &format!("from=v0001&to=main&{query}")).assert_refused(400);
    }
}
