//! The Read API's tree: specification section 4.1, contract sections 1 and 5.

use serde_json::{Value, json};

use crate::gitlab_walk::{link, target_of};
use crate::harness::{Daemon, Project, READ, READ_V4, User, git_blob_id, paths, segment};

fn shop(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in ["b", "a/z", "a-c", "a/b/c"] {
        project.save("main", path, path);
    }
    project.add_branch("test");
    project.save("test", "only-in-test", "x");
    let reader = daemon.reader(&project);
    (project, reader)
}

#[track_caller]
fn tree(reader: &User, project: &Project, query: &str) -> Value {
    reader
        .get(&project.read(&format!("/tree{query}")))
        .expect_status(200)
        .json()
}

#[test]
fn an_entry_has_five_fields_that_are_strings() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let entries = tree(&reader, &project, "?path=a");
    let folder = &entries[0]["id"];
    assert_eq!(folder.as_str().unwrap().len(), 40);
    assert_eq!(
        entries,
        json!([
            { "id": folder, "name": "b", "type": "tree", "path": "a/b", "mode": "040000" },
            {
                "id": git_blob_id(b"a/z"),
                "name": "z",
                "type": "blob",
                "path": "a/z",
                "mode": "100644",
            },
        ])
    );
}

#[test]
fn a_tree_is_one_folder_or_everything_below_it() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for (query, expected) in [
        ("", &["a", "a-c", "b"] as &[&str]),
        ("?recursive=1", &["a-c", "a", "a/b", "a/b/c", "a/z", "b"]),
        ("?recursive=true&path=a", &["a/b", "a/b/c", "a/z"]),
        ("?path=a/b&recursive=True", &["a/b/c"]),
        ("?path=a%2Fb", &["a/b/c"]),
        ("?path=%2F", &["a", "a-c", "b"]),
        ("?path=.", &["a", "a-c", "b"]),
        ("?path=./&ref=test", &["only-in-test"]),
        ("?path=a/", &["a/b", "a/z"]),
        ("?ref=&path=&recursive=false", &["a", "a-c", "b"]),
        (
            "?per_page=-1&recursive=1",
            &["a-c", "a", "a/b", "a/b/c", "a/z", "b"],
        ),
        ("?ref=test", &["only-in-test"]),
    ] {
        assert_eq!(paths(&tree(&reader, &project, query)), expected, "{query}");
    }
}

#[test]
fn the_root_of_an_empty_branch_is_an_empty_list() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.add_branch("empty");
    assert_eq!(tree(&reader, &project, "?ref=empty"), json!([]));
    assert_eq!(tree(&reader, &project, "?ref=empty&recursive=1"), json!([]));
}

#[test]
fn what_is_missing_is_said_as_gitlab_says_it() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let ask = |query: &str| reader.get(&project.read(&format!("/tree{query}")));
    for query in [
        "?ref=none",
        "?ref=Main",
        "?ref=main@v0099",
        "?ref=test@v0002",
    ] {
        ask(query).assert_error(404, "404 Tree Not Found");
    }
    for query in [
        "?path=none",
        "?path=b",
        "?path=A",
        "?path=a/b/c",
        "?path=b/x",
        "?ref=test&path=a",
    ] {
        ask(query).assert_error(404, "404 invalid revision or path Not Found");
    }
}

#[test]
fn a_project_without_a_branch_has_no_tree() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/new");
    let reader = daemon.reader(&project);
    for query in ["", "?ref=HEAD", "?ref=main"] {
        reader
            .get(&project.read(&format!("/tree{query}")))
            .assert_error(404, "404 Tree Not Found");
    }
}

#[test]
fn recursive_is_a_boolean() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for spelling in ["1", "true", "True", "TRUE", "t", "T", "yes", "on"] {
        let query = format!("?recursive={spelling}");
        assert_eq!(paths(&tree(&reader, &project, &query)).len(), 6, "{query}");
    }
    for spelling in ["0", "false", "False", "FALSE", "f", "F", "no", "off"] {
        let query = format!("?recursive={spelling}");
        assert_eq!(paths(&tree(&reader, &project, &query)).len(), 3, "{query}");
    }
    for absent in ["?recursive=", "?recursive", "?recursive=1&recursive="] {
        assert_eq!(paths(&tree(&reader, &project, absent)).len(), 3, "{absent}");
    }
    for nonsense in ["2", "maybe", "-1"] {
        let target = project.read(&format!("/tree?recursive={nonsense}"));
        reader.get(&target).assert_refused(400);
    }
}

#[test]
fn parameters_may_come_in_a_form_and_the_query_wins() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let ask = |query: &str, form: &str| {
        let target = project.read(&format!("/tree{query}"));
        let answer = reader.request("GET", &target).form(form).send();
        answer.expect_status(200).json()
    };
    assert_eq!(
        paths(&ask(
            "?per_page=100&pagination=keyset",
            "path=a%2Fb&ref=main&recursive=true"
        )),
        ["a/b/c"]
    );
    assert_eq!(
        paths(&ask("", "path=a&recursive=true")),
        ["a/b", "a/b/c", "a/z"]
    );
    assert_eq!(paths(&ask("?path=a/b", "path=none")), ["a/b/c"]);
    assert_eq!(paths(&ask("?ref=test", "ref=main")), ["only-in-test"]);
}

#[test]
fn every_spelling_of_the_target_leads_to_the_tree() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let expected = tree(&reader, &project, "");
    let id = segment(&project.id);
    for target in [
        format!("{READ}/projects/{id}/repository/tree/"),
        format!("{READ}//projects/{id}//repository/tree"),
        format!("/{READ}/projects/{id}/repository/tree?"),
        format!("{READ_V4}/projects/{id}/repository/tree"),
        format!("{READ}//api/v4/projects/{id}/repository/tree"),
        format!("{READ}/projects/acme%2fshop%2Eerp/repository/tree"),
        format!("{READ}/projects/{}/repository/tree", project.number),
    ] {
        reader.get(&target).assert_json(200, &expected);
    }
}

#[test]
fn a_malformed_target_is_a_bad_request() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for rest in [
        "/tree?path=%zz",
        "/tree?ref=%",
        "/tree?ref=%ff",
        "/%zz",
        "/tree%2",
        "/tree?recursive=%",
    ] {
        reader.get(&project.read(rest)).assert_refused(400);
    }
}

#[test]
fn of_a_repeated_key_the_last_value_counts_for_readers_only() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for (repeated, last) in [
        ("?ref=main&ref=test", "?ref=test"),
        ("?path=none&path=", "?path="),
        ("?recursive=maybe&recursive=1", "?recursive=1"),
    ] {
        let ask = |query: &str| reader.get(&project.read(&format!("/tree{query}")));
        ask(repeated).assert_bytes(200, &ask(last).expect_status(200).body);
    }
    let admin = project.user.get(&project.on("main", "/tree?path=&path="));
    admin.assert_error(400, "parameter \"path\" is given twice");
}

#[test]
fn lists_have_a_tag_and_are_not_sent_again() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for target in [
        project.read("/tree"),
        project.read("/tree?recursive=1"),
        project.read("/branches"),
    ] {
        let full = reader.get(&target).expect_status(200);
        let tag = full.header("ETag").expect("an entity tag");
        assert!(tag.starts_with('"'), "{tag}");
        assert_eq!(full.header("Cache-Control"), Some("private, no-cache"));
        let again = || {
            reader
                .request("GET", &target)
                .header("If-None-Match", tag)
                .send()
        };
        again().assert_empty(304);
        project.save("main", "b", target.as_bytes());
        again().expect_status(200);
    }
}

#[test]
fn a_page_of_a_state_that_was_pruned_is_not_found() {
    let mut daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let commit = project.branch_item("main")["commit"]["id"].clone();
    let commit = commit.as_str().unwrap().to_owned();
    let next = ["main", &commit].map(|reference| {
        let query = format!("ref={reference}&recursive=1&pagination=keyset&per_page=2");
        let first = reader.get(&project.read(&format!("/tree?{query}")));
        target_of(&reader, &link(&first, "next").unwrap())
    });
    let before = next.each_ref().map(|target| reader.get(target).json());
    assert_eq!(before[0].as_array().unwrap().len(), 2);
    for text in ["1", "2", "3"] {
        project.save("main", "b", text);
    }
    daemon.run(&["project", "keep", &project.id, "--snapshots", "1"], "");
    daemon.run(&["prune"], "");
    daemon.run(&["gc"], "");
    assert!(daemon.stop().success());
    daemon.restart();
    let reader = reader.at(daemon.address());
    for target in &next {
        let answer = reader.get(target);
        answer.assert_error(404, "404 Tree Not Found");
    }
    reader.get(&project.read("/tree")).expect_status(200);
}
