//! States as commits: contract section 5.

use serde_json::{Value, json};

use crate::gitlab_walk::{by_links, elements, link, target_of};
use crate::harness::{Daemon, Project, User, branch_digest, masked};

/// A project with four states: empty, `a`, `a` and `dir/b`, and another `a`.
pub(crate) fn with_history(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a", "one\n");
    project.save("main", "dir/b", "b\n");
    project.save("main", "a", "two\nthree\n");
    let reader = daemon.reader(&project);
    (project, reader)
}

/// The commit ids of the four states, newest first.
pub(crate) fn ids() -> [String; 4] {
    let id = |files: &[(&str, &[u8])]| branch_digest(files)[..40].to_owned();
    [
        id(&[("a", b"two\nthree\n"), ("dir/b", b"b\n")]),
        id(&[("a", b"one\n"), ("dir/b", b"b\n")]),
        id(&[("a", b"one\n")]),
        id(&[]),
    ]
}

#[track_caller]
fn field(reader: &User, project: &Project, query: &str, name: &str) -> Vec<String> {
    let listed = elements(&reader.get(&project.read(&format!("/commits{query}"))));
    let text = |commit: &Value| commit[name].as_str().unwrap().to_owned();
    listed.iter().map(text).collect()
}

#[test]
fn every_state_is_a_commit() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let answer = reader.get(&project.read("/commits"));
    let titles = ["save a", "save dir/b", "save a", "create branch"];
    let ids = ids();
    let expected: Vec<_> = (0..4)
        .map(|at| {
            let url = project.read(&format!("/tree?ref={}", ids[at]));
            json!({
                "id": ids[at],
                "short_id": ids[at][..8],
                "created_at": "<time>",
                "parent_ids": ids.get(at + 1).map_or(json!([]), |parent| json!([parent])),
                "title": titles[at],
                "message": titles[at],
                "author_name": "alice",
                "author_email": "",
                "authored_date": "<time>",
                "committer_name": "alice",
                "committer_email": "",
                "committed_date": "<time>",
                "trailers": {},
                "extended_trailers": {},
                "web_url": format!("http://{}{url}", daemon.address()),
            })
        })
        .collect();
    assert_eq!(masked(answer.json()), json!(expected));
    // Each of them can be read.
    let tree = reader.get(&project.read(&format!("/tree?ref={}", ids[2])));
    assert_eq!(elements(&tree).len(), 1);
}

#[test]
fn commits_are_of_a_branch_from_a_state_on() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    project.add_branch("test");
    project.save("test", "t", "x");
    let [head, second, first, empty] = ids();
    let ids = |query: &str| field(&reader, &project, query, "id");
    assert_eq!(ids("?ref_name=main"), [&*head, &second, &first, &empty]);
    assert_eq!(
        ids(&format!("?ref_name={second}")),
        [&*second, &first, &empty]
    );
    assert_eq!(ids("?ref_name=main@v0002"), [&*first, &empty]);
    let of_test = branch_digest(&[("t", b"x")])[..40].to_owned();
    assert_eq!(ids("?ref_name=test"), [&*of_test, &empty]);
    let answer = reader.get(&project.read("/commits?ref_name=none"));
    answer.assert_error(404, "404 Commit Not Found");
}

#[test]
fn commits_of_a_range_are_those_that_its_beginning_has_not() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, second, first, empty] = ids();
    let listed = |range: &str, name: &str| {
        let query = format!("?ref_name={range}");
        field(&reader, &project, &query, name)
    };
    let none = [""; 0];
    assert_eq!(listed(&format!("{first}..main"), "id"), [&*head, &second]);
    assert_eq!(listed("main@v0002..main@v0003", "id"), [&*second]);
    assert_eq!(listed("main..main@v0002", "id"), none);
    // An end that is left out is the head of the default branch.
    assert_eq!(listed("main@v0003..", "id"), [&*head]);
    assert_eq!(listed("..main", "id"), none);
    assert_eq!(listed(&format!("{empty}..HEAD&path=dir"), "id"), [&*second]);
    let target = project.read(&format!("/commits?ref_name={empty}..main&per_page=1"));
    let pages: Vec<_> = by_links(&reader, &target)
        .iter()
        .map(|commit| commit["id"].clone())
        .collect();
    assert_eq!(pages, [head, second, first]);

    let copy = json!({ "name": "test", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &copy);
    made.expect_status(201);
    project.save("test", "t", "x");
    project.save("main", "m", "y");
    assert_eq!(listed("main..test", "title"), ["save t"]);
    assert_eq!(listed("test..main", "title"), ["save m"]);
    for range in ["none..main", "main..none", "main@v0099..main"] {
        let answer = reader.get(&project.read(&format!("/commits?ref_name={range}")));
        answer.assert_error(404, "404 Commit Not Found");
    }
    let three = reader.get(&project.read("/commits?ref_name=main...test"));
    three.assert_error(
        400,
        "ref_name is invalid: of ranges only those with two dots are listed",
    );
    let bad = reader.get(&project.read("/commits?ref_name=main..a%20b"));
    bad.assert_refused(400);
}

#[test]
fn a_project_without_a_branch_has_no_commits() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/new");
    let reader = daemon.reader(&project);
    reader
        .get(&project.read("/commits"))
        .assert_json(200, &json!([]));
    let answer = reader.get(&project.read("/commits/HEAD"));
    answer.assert_error(404, "404 Commit Not Found");
}

#[test]
fn commits_of_a_path_are_those_that_changed_it() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, second, first, empty] = ids();
    let ids = |query: &str| field(&reader, &project, query, "id");
    assert_eq!(ids("?path=a"), [&*head, &first]);
    assert_eq!(ids("?path=dir"), [&*second]);
    assert_eq!(ids("?path=dir/b"), [&*second]);
    assert_eq!(ids("?path=dir/"), [&*second]);
    assert_eq!(ids("?path=none"), [""; 0]);
    assert_eq!(ids("?path=."), [&*head, &second, &first, &empty]);
    assert_eq!(ids("?path=&author=ALI"), [&*head, &second, &first, &empty]);
    assert_eq!(ids("?author=bob"), [""; 0]);
}

#[test]
fn a_file_keeps_its_commit_when_the_branch_comes_back_to_it_by_another_change() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, second, ..] = ids();
    let ids = |query: &str| field(&reader, &project, query, "id");
    // Back to the state that the save of "a" led to, by a deletion of another file.
    project.save("main", "t", "x");
    let with_t = ids("?path=t").remove(0);
    let deleted = project.user.delete(&project.file("main", "t"));
    assert_eq!(deleted.status, 200);
    assert_eq!(ids("?per_page=3"), [&*head, &with_t, &second]);
    assert_eq!(ids("?path=a&per_page=1"), [&*head]);
    assert_eq!(
        field(&reader, &project, "?path=a&per_page=1", "title"),
        ["save a"]
    );
    assert_eq!(ids("?path=t"), [&*head, &with_t]);
    let file = reader.get(&project.read("/files/a?ref=main"));
    assert_eq!(file.json()["last_commit_id"], *head);
}

#[test]
fn commits_of_a_time_are_those_within_it() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let times = field(&reader, &project, "", "created_at");
    let count = |query: &str| field(&reader, &project, query, "id").len();
    let not_before = |at: &str| times.iter().filter(|time| time.as_str() >= at).count();
    for at in &times {
        assert_eq!(count(&format!("?since={at}")), not_before(at), "{at}");
        let until = times.iter().filter(|time| *time <= at).count();
        assert_eq!(count(&format!("?until={at}")), until, "{at}");
    }
    assert_eq!(
        count("?since=2000-01-01&until=2999-01-01T00:00:00%2B02:00"),
        4
    );
    assert_eq!(count("?until=2000-01-01"), 0);
    // Without an offset they are in UTC, as at GitLab.
    for at in &times {
        let plain = at.strip_suffix('Z').unwrap();
        assert_eq!(count(&format!("?since={plain}")), not_before(at), "{at}");
    }
    for (query, expected) in [
        ("?until=2999-01-01T00:00:00", 4),
        ("?since=2999-01-01T00:00:00", 0),
        ("?until=2000-01-01%2000:00:00.123456", 0),
        // As other clients of GitLab write them, also where they escape no plus.
        ("?until=2999-1-1", 4),
        ("?since=%222999-01-01%22", 0),
        ("?until=2999-01-01%2000:00%20%2B0200", 4),
        ("?since=2999-01-01T00:00:00+02:00", 0),
        ("?since=1969-12-31T00:00:00Z", 4),
        ("?until=1969-12-31", 0),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    for wrong in ["2000-01-01T", "2000-01-01T25:00:00", "10:00:00", "Z"] {
        let answer = reader.get(&project.read(&format!("/commits?since={wrong}")));
        answer.assert_error(400, "since is invalid");
    }
}

#[test]
fn a_save_that_changed_nothing_is_no_commit() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    project.save("main", "dir/b", "b\n");
    let ids = field(&reader, &project, "", "id");
    assert_eq!(ids, self::ids());
}

#[test]
fn a_rollback_and_a_batch_are_commits() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let rollback = project.on("main", "/rollback?to=v0002");
    project.user.post(&rollback, &json!({})).expect_status(200);
    let actions = json!([
        { "action": "create", "file_path": "x", "content": "1" },
        { "action": "delete", "file_path": "a" },
    ]);
    let batch = json!({ "message": "Prices of May\n\nAll of them.", "actions": actions });
    project
        .user
        .post(&project.on("main", "/batch"), &batch)
        .expect_status(200);
    project
        .user
        .delete(&project.file("main", "x"))
        .expect_status(200);
    let titles = field(&reader, &project, "", "title");
    assert_eq!(titles[..3], ["delete x", "Prices of May", "rollback"]);
    let messages = field(&reader, &project, "", "message");
    assert_eq!(messages[1], "Prices of May\n\nAll of them.");
    let [_, _, first, empty] = ids();
    let ids = field(&reader, &project, "", "id");
    assert_eq!(
        ids[0], empty,
        "what is empty again has the id of what is empty"
    );
    assert_eq!(ids[2], first);
}

#[test]
fn a_state_that_came_back_is_one_commit() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, second, first, empty] = ids();
    let rollback = project.on("main", "/rollback?to=v0003");
    project.user.post(&rollback, &json!({})).expect_status(200);
    let listed = elements(&reader.get(&project.read("/commits")));
    let seen: Vec<_> = listed
        .iter()
        .map(|commit| (&commit["id"], &commit["parent_ids"], &commit["title"]))
        .collect();
    let (one, two, three) = (json!([&head]), json!([&first]), json!([&empty]));
    assert_eq!(
        seen,
        [
            (&json!(second), &one, &json!("rollback")),
            (&json!(head), &two, &json!("save a")),
            (&json!(first), &three, &json!("save a")),
            (&json!(empty), &json!([]), &json!("create branch")),
        ]
    );
    for commit in &listed {
        let id = commit["id"].as_str().unwrap();
        let alone = reader.get(&project.read(&format!("/commits/{id}"))).json();
        assert_eq!(alone["parent_ids"], commit["parent_ids"], "{id}");
    }
    // What a save changed is told against what it replaced.
    let alone = reader.get(&project.read(&format!("/commits/{head}")));
    assert_eq!(alone.json()["stats"]["total"], 3);
}

#[test]
fn what_is_not_below_a_commit_or_a_file_is_not_found() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, ..] = ids();
    for rest in [
        "/commits/main/comments",
        "/commits/main/statuses",
        &format!("/commits/{head}/signature"),
        &format!("/commits/{head}/nothing"),
        "/files/a/blame",
    ] {
        let answer = reader.get(&project.read(rest));
        answer.assert_error(404, "404 Not Found");
    }
    // Of a name that a proxy decoded several segments may be left.
    let answer = reader.get(&project.read("/commits/none/such"));
    answer.assert_error(404, "404 Commit Not Found");
    project.add_branch("feature/x");
    reader
        .get(&project.read("/commits/feature/x"))
        .expect_status(200);
}

#[test]
fn commits_come_in_pages_without_totals() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for number in 0..44 {
        project.save("main", "a", format!("{number}"));
    }
    let reader = daemon.reader(&project);
    let mut target = project.read("/commits");
    let mut found = Vec::new();
    for (page, (length, next)) in [(20, "2"), (20, "3"), (5, "")].into_iter().enumerate() {
        let answer = reader.get(&target);
        let part = elements(&answer);
        assert_eq!(part.len(), length);
        found.extend(part);
        assert_eq!(answer.header("X-Next-Page"), Some(next));
        assert_eq!(
            answer.header("X-Page"),
            Some((page + 1).to_string().as_str())
        );
        assert_eq!(answer.header("X-Per-Page"), Some("20"));
        for absent in ["X-Total", "X-Total-Pages"] {
            assert_eq!(answer.header(absent), None);
        }
        assert_eq!(link(&answer, "last"), None);
        assert_eq!(link(&answer, "prev").is_some(), page > 0);
        match link(&answer, "next") {
            Some(next) => target = target_of(&reader, &next),
            None => assert_eq!(next, ""),
        }
    }
    for (at, pair) in found.windows(2).enumerate() {
        assert_eq!(pair[0]["parent_ids"], json!([pair[1]["id"]]), "{at}");
    }
    // As at GitLab it is no matter how a client would like them paged.
    for pagination in ["keyset&order_by=id", "legacy", "none", "x"] {
        let target = project.read(&format!("/commits?per_page=20&pagination={pagination}"));
        let answer = reader.get(&target);
        assert_eq!(answer.header("X-Next-Page"), Some("2"), "{pagination}");
        assert_eq!(by_links(&reader, &target), found, "{pagination}");
    }
    // What is below 0 is no size of pages.
    let target = project.read("/commits?per_page=-1");
    assert_eq!(reader.get(&target).header("X-Per-Page"), Some("20"));
    assert_eq!(by_links(&reader, &target), found);
    let past = reader.get(&project.read("/commits?page=9"));
    past.assert_json(200, &json!([]));
    assert_eq!(
        elements(&reader.get(&project.read("/commits?per_page=100"))),
        found
    );
}

#[test]
fn a_commit_alone_tells_how_much_it_changed() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let listed = elements(&reader.get(&project.read("/commits")));
    let counts = [(2, 1), (1, 0), (1, 0), (0, 0)];
    for (commit, (additions, deletions)) in listed.iter().zip(counts) {
        let mut expected = commit.clone();
        let object = expected.as_object_mut().unwrap();
        object.insert(
            "stats".into(),
            json!({
                "additions": additions,
                "deletions": deletions,
                "total": additions + deletions,
            }),
        );
        object.insert("status".into(), Value::Null);
        object.insert("project_id".into(), json!(project.number));
        object.insert("last_pipeline".into(), Value::Null);
        let id = commit["id"].as_str().unwrap();
        for name in [id, &id[..8]] {
            let answer = reader.get(&project.read(&format!("/commits/{name}")));
            answer.assert_json(200, &expected);
        }
    }
    let head = reader
        .get(&project.read("/commits/main?stats=false"))
        .json();
    assert_eq!(head["id"], ids()[0]);
    assert!(head.get("stats").is_none());
    for name in ["none", "0123456789", "main@v0099"] {
        let answer = reader.get(&project.read(&format!("/commits/{name}")));
        answer.assert_error(404, "404 Commit Not Found");
    }
}

#[test]
fn listed_commits_tell_how_much_they_changed() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let plain = elements(&reader.get(&project.read("/commits")));
    let counts = [(2, 1), (1, 0), (1, 0), (0, 0)];
    let expected: Vec<_> = plain
        .iter()
        .zip(counts)
        .map(|(commit, (additions, deletions))| {
            let mut commit = commit.clone();
            commit["stats"] = json!({
                "additions": additions,
                "deletions": deletions,
                "total": additions + deletions,
            });
            commit
        })
        .collect();
    for yes in ["true", "True", "1"] {
        let target = project.read(&format!("/commits?with_stats={yes}"));
        reader.get(&target).assert_json(200, &json!(expected));
    }
    let target = project.read("/commits?with_stats=true&per_page=1");
    assert_eq!(by_links(&reader, &target), expected);
    for no in ["false", ""] {
        let target = project.read(&format!("/commits?with_stats={no}"));
        reader.get(&target).assert_json(200, &json!(plain));
    }
    let answer = reader.get(&project.read("/commits?with_stats=2"));
    answer.assert_error(400, "with_stats is invalid");
}
