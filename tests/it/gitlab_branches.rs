//! One branch, and the filters and orders of their list: contract section 5.

use serde_json::{Value, json};

use crate::gitlab_walk::{elements, listed};
use crate::harness::{Daemon, Project, READ, User, segment};

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
    let listed = listed(reader, &project.read(&format!("/branches{query}")));
    let name = |branch: &Value| branch["name"].as_str().unwrap().to_owned();
    elements(&listed).iter().map(name).collect()
}

#[test]
fn a_branch_alone_tells_its_parent_too() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["main", "feature/x"]);
    project.save("feature/x", "a", "one");
    let before = project.branch_item("feature/x")["commit"]["id"].clone();
    project.save("feature/x", "a", "two");
    let found = listed(&reader, &project.read("/branches?search=feature"));
    let mut expected = elements(&found)[0].clone();
    expected["commit"]["parent_ids"] = json!([before]);
    assert_eq!(expected["commit"]["title"], "save a");
    assert_eq!(expected["default"], false);
    // Encoded as clients do, and as a decoding proxy leaves it.
    for name in ["feature%2Fx", "feature%2fx", "feature/x"] {
        let target = project.read(&format!("/branches/{name}"));
        reader.get(&target).assert_json(200, &expected);
        assert_eq!(reader.head(&target).status, 200);
    }
    let main = reader.get(&project.read("/branches/main")).json();
    assert_eq!(main["default"], true);
    assert_eq!(main["commit"]["parent_ids"], json!([]));
    assert_eq!(main["commit"]["title"], "create branch");
}

#[test]
fn a_branch_that_is_not_there() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["main"]);
    for name in ["none", "Main", "main%2Fx", "v0001"] {
        let answer = reader.get(&project.read(&format!("/branches/{name}")));
        answer.assert_error(404, "404 Branch Not Found");
    }
    for name in ["a..b", "-x", "main@v0001", "HEAD", "a%20b", "%2F"] {
        let answer = reader.get(&project.read(&format!("/branches/{name}")));
        answer.assert_error(400, "The branch refname is invalid");
    }
    let answer = reader.get(&format!(
        "{READ}/projects/none.erp/repository/branches/main"
    ));
    answer.assert_error(403, "403 Forbidden");
}

#[test]
fn a_regular_expression_finds_branches() {
    let daemon = Daemon::start();
    let (project, reader) =
        with_branches(&daemon, &["main", "release/1.0", "release/2.0", "ветка"]);
    for (regex, expected) in [
        ("^release/\\d", &["release/1.0", "release/2.0"] as &[&str]),
        ("2\\.0$", &["release/2.0"]),
        ("^(main|ветка)$", &["main", "ветка"]),
        ("RELEASE", &[]),
        ("(?i)RELEASE/1", &["release/1.0"]),
        ("", &["main", "release/1.0", "release/2.0", "ветка"]),
    ] {
        let query = format!("?regex={}", segment(regex));
        assert_eq!(names(&reader, &project, &query), expected, "{regex}");
    }
    assert_eq!(
        names(&reader, &project, "?regex=0%24&search=1"),
        ["release/1.0"]
    );
    for wrong in ["(", "[", "\\", "*", &"a".repeat(1025)] {
        let answer = reader.get(&project.read(&format!("/branches?regex={}", segment(wrong))));
        answer.assert_error(400, "Regex is invalid");
    }
}

#[test]
fn a_regular_expression_takes_no_longer_than_a_second() {
    let daemon = Daemon::start();
    let long: Vec<_> = (10..40)
        .map(|number| format!("{}{number}", "a".repeat(250)))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let (project, reader) = with_branches(&daemon, &long);
    let slow = segment("(?:a?){10000}[^ -~]");
    let answer = reader.get(&project.read(&format!("/branches?per_page=1&regex={slow}")));
    answer.assert_error(
        503,
        "regex takes too long: use a simpler one; try again in a moment",
    );
    assert_eq!(names(&reader, &project, "?regex=1%24").len(), 3);
}

#[test]
fn branches_are_sorted_by_when_they_changed() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["c", "a", "b"]);
    for branch in ["c", "a", "b"] {
        // The order is told in milliseconds: save until this one is after all others.
        loop {
            project.save(branch, "f", branch);
            let at = |name: &str| project.branch_item(name)["updated_at"].to_string();
            let others = ["a", "b", "c"].into_iter().filter(|name| *name != branch);
            if others.map(at).all(|other| other < at(branch)) {
                break;
            }
        }
    }
    assert_eq!(names(&reader, &project, ""), ["a", "b", "c"]);
    assert_eq!(names(&reader, &project, "?sort=name_asc"), ["a", "b", "c"]);
    assert_eq!(
        names(&reader, &project, "?sort=updated_asc"),
        ["c", "a", "b"]
    );
    assert_eq!(
        names(&reader, &project, "?sort=updated_desc"),
        ["b", "a", "c"]
    );
    assert_eq!(
        names(&reader, &project, "?sort=updated_asc&search=A"),
        ["a"]
    );
}

#[test]
fn the_order_is_that_of_the_dates_that_are_shown() {
    let daemon = Daemon::start();
    let (project, reader) = with_branches(&daemon, &["a", "b"]);
    let at = |branch: &str| {
        let shown = reader.get(&project.read(&format!("/branches/{branch}")));
        shown.json()["commit"]["committed_date"].to_string()
    };
    project.save("a", "f", "same");
    // The order is told in milliseconds.
    for attempt in 0.. {
        project.save("b", "f", attempt.to_string());
        if at("a") < at("b") {
            break;
        }
    }
    project.save("a", "f", "same");
    assert!(at("a") < at("b"));
    assert_eq!(names(&reader, &project, "?sort=updated_desc"), ["b", "a"]);
    assert_eq!(names(&reader, &project, "?sort=updated_asc"), ["a", "b"]);
}
