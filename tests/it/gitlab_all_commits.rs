//! The commits of all branches in one list: contract section 5.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::gitlab_walk::{by_links, elements};
use crate::harness::{Daemon, Project, User, soon};

fn list(reader: &User, project: &Project, query: &str) -> Vec<Value> {
    elements(&reader.get(&project.read(&format!("/commits?{query}"))))
}

/// Waits until what was changed before is older than what is changed next: of changes of one millisecond in several
/// branches none is told to be the later one.
fn next_millisecond() {
    let now_ms = || OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    let before = now_ms();
    soon(|| now_ms() > before);
}

/// Two branches: one made from a state of the other, and both saved to since, in turns.
fn with_branches(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a", "one");
    let copy = json!({ "name": "test", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &copy);
    made.expect_status(201);
    for (branch, path, body) in [
        ("test", "t", "x"),
        ("main", "a", "other"),
        ("test", "t", "another"),
    ] {
        next_millisecond();
        project.save(branch, path, body);
    }
    next_millisecond();
    let reader = daemon.reader(&project);
    (project, reader)
}

#[test]
fn commits_of_all_branches_are_merged() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon);
    let list = |query: &str| list(&reader, &project, query);
    let (main, test) = (list("ref_name=main"), list("ref_name=test"));
    let [other, one, empty] = &main[..] else {
        panic!("{main:?}")
    };
    let [another, x, made] = &test[..] else {
        panic!("{test:?}")
    };
    // That a branch was made from a state does not bring it there.
    assert_eq!(made["id"], one["id"]);
    assert_eq!(made["title"], "create branch");
    let merged = [another, other, x, one, empty].map(Clone::clone);
    for query in ["all=true", "all=1&ref_name=none", "all=true&author=ALICE"] {
        assert_eq!(list(query), merged, "{query}");
    }
    for style in ["all=true&per_page=2", "per_page=1&all=yes"] {
        let target = project.read(&format!("/commits?{style}"));
        assert_eq!(by_links(&reader, &target), merged, "{style}");
    }
    assert_eq!(list("all=true&path=t"), [another, x].map(Clone::clone));
    assert_eq!(list("all=true&author=bob"), [Value::Null; 0]);
    let since = x["created_at"].as_str().unwrap();
    let listed = list(&format!("all=true&since={since}"));
    let expected: Vec<_> = merged
        .iter()
        .filter(|commit| commit["created_at"].as_str().unwrap() >= since)
        .cloned()
        .collect();
    assert_eq!(listed, expected);
    for no in ["all=false", "all="] {
        assert_eq!(list(no), main);
    }
    let answer = reader.get(&project.read("/commits?all=2"));
    answer.assert_error(400, "all is invalid");
}

#[test]
fn what_a_young_branch_begins_with_is_listed_behind_older_changes() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a", "one");
    next_millisecond();
    project.add_branch("young");
    // This one begins with what an older change led to.
    let copy = json!({ "name": "copy", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &copy);
    made.expect_status(201);
    let reader = daemon.reader(&project);
    let list = |query: &str| list(&reader, &project, query);
    let whole = list("all=true");
    let [one, begun] = &whole[..] else {
        panic!("{whole:?}")
    };
    let begun_alone = std::slice::from_ref(begun);
    assert_eq!(list("ref_name=young"), begun_alone);
    let at = |commit: &Value| commit["created_at"].as_str().unwrap().to_owned();
    assert!(at(one) < at(begun));
    let since = at(begun);
    let since_then = || list(&format!("all=true&since={since}"));
    assert_eq!(since_then(), begun_alone);
    project.save("main", "a", "two");
    let two = &list("ref_name=main")[0];
    assert_eq!(since_then(), [two, begun].map(Clone::clone));
    next_millisecond();
    // Once a change has led there, it is that change's.
    project.save("young", "b", "x");
    let deleted = project.user.delete(&project.file("young", "b"));
    assert_eq!(deleted.status, 200);
    let young = list("ref_name=young");
    assert_eq!(since_then(), [&young[0], &young[1], two].map(Clone::clone));
}

#[test]
fn the_newest_thousand_older_changes_are_looked_through_for_what_led_to_a_beginning() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for number in 0..1002 {
        project.save("main", "a", number.to_string());
    }
    let reader = daemon.reader(&project);
    let listed = |name: &str, from: &str| {
        let body = json!({ "name": name, "from": from });
        next_millisecond();
        let made = project.user.post(&project.admin("/branches"), &body);
        made.expect_status(201);
        let begun = list(&reader, &project, &format!("ref_name={name}")).remove(0);
        let since = begun["created_at"].as_str().unwrap();
        let all = list(&reader, &project, &format!("all=true&since={since}"));
        (begun, all)
    };
    // What the third change has led to, and then the second: of 1,002 the newest 1,000 and no more.
    let (_, all) = listed("near", "main@v0004");
    assert_eq!(all, [] as [Value; 0]);
    let (begun, all) = listed("far", "main@v0003");
    assert_eq!(all, [begun]);
}

#[test]
fn a_state_of_two_branches_is_one_commit() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon);
    let before = list(&reader, &project, "all=true");
    // To the state that the other branch is in.
    project.save("test", "a", "other");
    let deleted = project.user.delete(&project.file("test", "t"));
    assert_eq!(deleted.status, 200);
    let test = list(&reader, &project, "ref_name=test");
    assert_eq!(test[0]["id"], before[1]["id"]);
    let expected = [
        &test[0], &test[1], &before[0], &before[2], &before[3], &before[4],
    ];
    assert_eq!(
        list(&reader, &project, "all=true"),
        expected.map(Clone::clone)
    );
}

#[test]
fn a_project_without_a_branch_has_no_commits_at_all() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/new");
    let reader = daemon.reader(&project);
    let target = project.read("/commits?all=true");
    reader.get(&target).assert_json(200, &json!([]));
}
