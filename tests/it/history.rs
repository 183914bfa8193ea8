//! Snapshots and the listing of them: specification sections 2 and 9, contract section 6.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, branch_digest, masked, paths, soon};

/// A branch with one save, one more, one of another file, and a deletion.
fn project(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "four");
    project.save("main", "b/c.xml", "x");
    project
        .user
        .delete(&project.file("main", "a.xml"))
        .expect_status(200);
    project
}

fn history(project: &Project, query: &str) -> Answer {
    let target = project.on("main", &format!("/history{query}"));
    project.user.get(&target)
}

/// The versions of a page.
#[track_caller]
fn versions(page: &Answer) -> Vec<String> {
    let text = |entry: &Value| entry["version"].as_str().unwrap().to_owned();
    page.json().as_array().unwrap().iter().map(text).collect()
}

/// The files of a state, each with its bytes.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// The digest of a state as the history spells it.
fn ids(files: Files<'_>) -> (String, String) {
    let digest = branch_digest(files);
    (digest[..40].to_owned(), digest[..8].to_owned())
}

#[test]
fn every_change_leaves_the_state_before_it_newest_first() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let states: [(&str, &str, &str, Files<'_>); 4] = [
        (
            "v0004",
            "delete",
            "a.xml",
            &[("a.xml", b"four"), ("b/c.xml", b"x")],
        ),
        ("v0003", "save", "b/c.xml", &[("a.xml", b"four")]),
        ("v0002", "save", "a.xml", &[("a.xml", b"one")]),
        ("v0001", "save", "a.xml", &[]),
    ];
    let expected = states.map(|(version, operation, path, files)| {
        let (commit_id, short_id) = ids(files);
        // Each changed one file.
        let changed = match version {
            "v0004" => json!({ "added": 0, "modified": 0, "deleted": 1 }),
            "v0002" => json!({ "added": 0, "modified": 1, "deleted": 0 }),
            _ => json!({ "added": 1, "modified": 0, "deleted": 0 }),
        };
        json!({
            "version": version,
            "created_at": "<time>",
            "created_by": "alice",
            "operation": operation,
            "path": path,
            "changed": changed,
            "commit_id": commit_id,
            "short_id": short_id,
            "files": files.len(),
            "bytes": files.iter().map(|(_, body)| body.len()).sum::<usize>(),
        })
    });
    let page = history(&project, "?limit=100").expect_status(200).json();
    assert_eq!(masked(page), json!(expected));
}

#[test]
fn a_digest_that_nobody_asked_for_is_null_until_a_page_does() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let all = history(&project, "").expect_status(200).json();
    for entry in all.as_array().unwrap() {
        let (commit, short) = (&entry["commit_id"], &entry["short_id"]);
        assert_eq!(commit.is_null(), short.is_null(), "{entry}");
        assert!(
            commit.is_null()
                || commit
                    .as_str()
                    .unwrap()
                    .starts_with(short.as_str().unwrap())
        );
    }
    history(&project, "?limit=100").expect_status(200);
    for entry in history(&project, "").json().as_array().unwrap() {
        assert!(entry["commit_id"].is_string(), "{entry}");
    }
}

#[test]
fn a_history_is_read_page_by_page() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for (query, expected) in [
        ("?limit=2", &["v0004", "v0003"] as &[&str]),
        ("?limit=2&before=v0003", &["v0002", "v0001"]),
        ("?before=v0002", &["v0001"]),
        ("?before=v0001", &[]),
        ("?before=v0009", &["v0004", "v0003", "v0002", "v0001"]),
        ("?limit=100", &["v0004", "v0003", "v0002", "v0001"]),
    ] {
        assert_eq!(versions(&history(&project, query)), expected, "{query}");
    }
    for query in [
        "?limit=0",
        "?limit=-1",
        "?limit=101",
        "?limit=x",
        "?before=v1",
        "?before=1",
    ] {
        history(&project, query).assert_refused(400);
    }
}

/// The address of the page after this one, as its `Link` has it.
fn next(page: &Answer) -> Option<String> {
    let link = page.header("Link")?;
    let address = link
        .strip_prefix('<')
        .and_then(|link| link.strip_suffix(">; rel=\"next\""));
    let address = address.unwrap_or_else(|| panic!("{link}"));
    Some(address[address.find("/site-builder").unwrap()..].to_owned())
}

#[test]
fn a_page_names_the_one_after_it() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let first = history(&project, "?limit=3&before=");
    let second = project.user.get(&next(&first).unwrap());
    assert_eq!(versions(&first), ["v0004", "v0003", "v0002"]);
    assert_eq!(versions(&second), ["v0001"]);
    assert_eq!(next(&second), None);
    assert_eq!(next(&history(&project, "?limit=4")), None);
    assert_eq!(next(&history(&project, "")), None);
}

#[test]
fn the_history_of_a_path_has_what_touched_it_whatever_did() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let actions = json!({ "message": "two", "actions": [
        { "action": "create", "file_path": "a.xml", "content": "five" },
        { "action": "create", "file_path": "b/d.xml", "content": "y" },
    ] });
    let user = &project.user;
    user.post(&project.on("main", "/batch"), &actions)
        .expect_status(200);
    project.save("main", "b/c.xml", "z");
    user.post(&project.on("main", "/rollback?to=v0005"), &json!({}))
        .expect_status(200);
    for (path, expected) in [
        (
            "a.xml",
            &["v0007", "v0005", "v0004", "v0002", "v0001"] as &[&str],
        ),
        ("b/c.xml", &["v0007", "v0006", "v0003"]),
        ("b/d.xml", &["v0007", "v0005"]),
        ("b", &["v0007", "v0006", "v0005", "v0003"]),
        ("b%2F", &["v0007", "v0006", "v0005", "v0003"]),
        ("none.xml", &[]),
        ("a.xm", &[]),
    ] {
        let whole = history(&project, &format!("?path={path}")).expect_status(200);
        assert_eq!(versions(&whole), expected, "{path}");
        assert_eq!(next(&whole), None);
        // Page by page it is the same.
        let (mut found, mut target) = (Vec::new(), None::<String>);
        loop {
            let page = match &target {
                None => history(&project, &format!("?limit=2&path={path}")),
                Some(target) => user.get(target),
            };
            found.extend(versions(&page));
            target = next(&page);
            if target.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{path} in pages");
    }
    let of_file = || history(&project, "?path=b/d.xml").json();
    let counted = [
        json!({ "added": 0, "modified": 1, "deleted": 2 }),
        json!({ "added": 2, "modified": 0, "deleted": 0 }),
    ];
    // Changes are counted as far as there is time.
    soon(|| {
        let entries = of_file();
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| &entry["changed"]).eq(&counted)
    });
    assert_eq!(of_file()[1]["message"], "two");
    // An empty path was not given.
    assert_eq!(versions(&history(&project, "?path=")).len(), 7);
    history(&project, "?path=../x").assert_refused(400);
}

#[test]
fn what_a_batch_changed_is_counted_by_a_page_alone() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let put = |path: &str| json!({ "action": "create", "file_path": path, "content": "x" });
    let actions = json!({ "actions": [put("a"), put("b")] });
    let user = &project.user;
    user.post(&project.on("main", "/batch"), &actions)
        .expect_status(200);
    assert_eq!(history(&project, "").json()[0]["changed"], Value::Null);
    let counted = json!({ "added": 2, "modified": 0, "deleted": 0 });
    // As far as there is time.
    soon(|| history(&project, "?limit=1").json()[0]["changed"] == counted);
    assert_eq!(history(&project, "").json()[0]["changed"], Value::Null);
}

#[test]
fn a_client_that_has_the_history_is_told_so() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let first = history(&project, "?limit=2");
    let tag = first.header("ETag").expect("a tag");
    assert_eq!(first.header("Cache-Control"), Some("private, no-cache"));
    let target = project.on("main", "/history?limit=2");
    let again = project.user.with("If-None-Match", tag).get(&target);
    again.assert_empty(304);
    project.save("main", "a.xml", "five");
    let again = project.user.with("If-None-Match", tag).get(&target);
    assert_eq!(versions(&again.expect_status(200)), ["v0005", "v0004"]);
}

#[test]
fn versions_are_padded_to_four_digits_and_never_skip() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for number in 1..=12 {
        let saved = project.save("main", "a.xml", number.to_string()).json();
        assert_eq!(saved["snapshot"], format!("v{number:04}"));
    }
    let mut all = project.versions("main");
    all.reverse();
    let expected: Vec<_> = (1..=12).map(|number| format!("v{number:04}")).collect();
    assert_eq!(all, expected);
}

#[test]
fn each_branch_counts_its_own_versions() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.add_branch("test");
    let saved = project.save("test", "a.xml", "x").json();
    assert_eq!(saved["snapshot"], "v0001");
    assert_eq!(project.versions("test"), ["v0001"]);
    assert_eq!(project.versions("main").len(), 4);
}

#[test]
fn a_refused_change_leaves_no_snapshot() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let user = &project.user;
    user.put(&project.file("main", "b"), b"x")
        .assert_refused(400);
    user.put(&project.file("main", "../x"), b"x")
        .assert_refused(400);
    user.delete(&project.file("main", "none"))
        .assert_refused(404);
    assert_eq!(project.versions("main").len(), 4);
}

#[test]
fn a_snapshot_is_listed_and_read_like_a_branch() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let tree = |version: &str, query: &str| {
        let target = project.on("main", &format!("/snapshots/{version}/tree{query}"));
        project.user.get(&target).expect_status(200).json()
    };
    assert_eq!(tree("v0001", "?recursive=1"), json!([]));
    assert_eq!(paths(&tree("v0002", "?recursive=1")), ["a.xml"]);
    assert_eq!(
        paths(&tree("v0004", "?recursive=1")),
        ["a.xml", "b", "b/c.xml"]
    );
    assert_eq!(paths(&tree("v0004", "?path=b")), ["b/c.xml"]);
    assert_eq!(tree("v0002", "")[0]["size"], 3);
    for (version, body) in [("v0002", "one"), ("v0003", "four"), ("v0004", "four")] {
        let target = project.on("main", &format!("/snapshots/{version}/files/a.xml"));
        project.user.get(&target).assert_bytes(200, body.as_bytes());
    }
}

#[test]
fn a_snapshot_never_changes() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let target = project.on("main", "/snapshots/v0003/files/a.xml");
    let tree = project.on("main", "/snapshots/v0003/tree");
    let before = project.user.get(&tree).json();
    project.save("main", "a.xml", "five");
    project
        .user
        .post(&project.on("main", "/rollback?to=v0001"), &json!({}))
        .expect_status(200);
    project.user.get(&target).assert_bytes(200, b"four");
    project.user.get(&tree).assert_json(200, &before);
    for method in ["PUT", "DELETE", "POST"] {
        let answer = project.user.request(method, &target).body(b"x").send();
        answer.assert_refused(405);
        assert_eq!(answer.header("Allow"), Some("GET, HEAD, OPTIONS"));
    }
}

#[test]
fn a_version_has_one_spelling() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for rest in ["/tree", "/files/a.xml"] {
        let at = |version: &str| {
            let target = project.on("main", &format!("/snapshots/{version}{rest}"));
            project.user.get(&target)
        };
        for malformed in [
            "v1", "v001", "v00001", "1", "V0001", "0001", "v", "v000a", "%20v0001",
        ] {
            at(malformed).assert_refused(400);
        }
        for absent in ["v0000", "v0005", "v9999", "v10000"] {
            at(absent).assert_refused(404);
        }
    }
    let target = project.on("main", "/snapshots/v0001/files/a.xml");
    project.user.get(&target).assert_refused(404);
}
