//! What `ref` may name: specification section 2, contract section 4.

use crate::harness::{Answer, Daemon, Project, User, branch_digest, segment};

/// `main` with `a.xml` = "one" (v0002), then "two" (head); and somebody who reads it. The history was
/// looked at, so the commit ids of the snapshots are known.
fn shop(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "two");
    project
        .user
        .get(&project.on("main", "/history?limit=100"))
        .expect_status(200);
    let reader = daemon.reader(&project);
    (project, reader)
}

fn read(reader: &User, project: &Project, reference: &str) -> Answer {
    let target = format!("{}?ref={}", project.raw("a.xml"), segment(reference));
    reader.get(&target)
}

/// The commit id of a branch with just `a.xml`.
fn commit(body: &str) -> String {
    branch_digest(&[("a.xml", body.as_bytes())])[..40].to_owned()
}

#[test]
fn a_revision_is_a_branch_a_snapshot_or_a_commit() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for (reference, body) in [
        ("main", "two"),
        ("HEAD", "two"),
        ("", "two"),
        ("main@v0002", "one"),
        (&commit("two"), "two"),
        (&commit("one"), "one"),
        (&commit("two")[..8], "two"),
        (&commit("one")[..8], "one"),
        (&commit("one")[..20], "one"),
        (&commit("one")[..39], "one"),
    ] {
        let answer = read(&reader, &project, reference);
        answer.assert_bytes(200, body.as_bytes());
    }
    let omitted = reader.get(&project.raw("a.xml"));
    omitted.assert_bytes(200, b"two");
}

#[test]
fn a_revision_that_names_nothing_is_not_found() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let unknown = "0123456789abcdef0123456789abcdef01234567";
    let seven = &commit("two")[..7];
    for reference in [
        "none",
        "Main",
        "main@v0003",
        "main@v0000",
        "none@v0001",
        unknown,
        &unknown[..8],
        seven,
        "refs/heads/none",
        "refs/heads/HEAD",
        "heads/none",
        "main~1",
    ] {
        let answer = read(&reader, &project, reference);
        assert!(
            matches!(answer.status, 400 | 404),
            "{reference}: {answer:?}"
        );
        if answer.status == 404 {
            answer.assert_error(404, "404 Commit Not Found");
        }
    }
}

#[test]
fn gits_full_names_and_upper_case_ids_are_understood() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let id = commit("one");
    for (reference, text) in [
        ("refs/heads/main", "two"),
        ("heads/main", "two"),
        ("refs/heads/main@v0002", "one"),
        ("heads/main@v0002", "one"),
        (&*id.to_uppercase(), "one"),
        (&id[..8].to_uppercase(), "one"),
    ] {
        let answer = read(&reader, &project, reference);
        answer.assert_bytes(200, text.as_bytes());
        assert_eq!(answer.header("X-Gitlab-Ref"), Some(reference));
    }
    // What is called so to the byte comes first.
    project.add_branch("heads/main");
    project.save("heads/main", "a.xml", "deeper");
    read(&reader, &project, "heads/main").assert_bytes(200, b"deeper");
    read(&reader, &project, "refs/heads/main").assert_bytes(200, b"two");
    read(&reader, &project, "heads/main@v0002").assert_error(404, "404 Commit Not Found");
}

#[test]
fn a_branch_wins_over_a_commit_of_the_same_spelling() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let short = &commit("one")[..8];
    project.add_branch(short);
    project.save(short, "a.xml", "of the branch");
    read(&reader, &project, short).assert_bytes(200, b"of the branch");
    let longer = &commit("one")[..9];
    read(&reader, &project, longer).assert_bytes(200, b"one");
}

#[test]
fn names_with_slashes_and_signs_are_taken_to_the_byte() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for branch in ["feature/x+y", "ветка", "a@b", "x#1", "a%2Fb"] {
        project.add_branch(branch);
        project.save(branch, "a.xml", branch);
        read(&reader, &project, branch).assert_bytes(200, branch.as_bytes());
    }
    project.save("a@b", "a.xml", "newer");
    read(&reader, &project, "a@b@v0002").assert_bytes(200, b"a@b");
}

#[test]
fn an_explicit_revision_wins_over_the_default() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.add_branch("master");
    project.save("master", "a.xml", "of master");
    let omitted = reader.get(&project.raw("a.xml"));
    omitted.assert_bytes(200, b"of master");
    read(&reader, &project, "HEAD").assert_bytes(200, b"of master");
    read(&reader, &project, "main").assert_bytes(200, b"two");
}

#[test]
fn commits_of_other_projects_and_of_dead_branches_are_unknown() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let other = Project::with_main(&project.user, "other");
    other.save("main", "a.xml", "secret");
    read(&reader, &project, &commit("secret")).assert_error(404, "404 Commit Not Found");
    project.add_branch("gone");
    project.save("gone", "a.xml", "gone");
    read(&reader, &project, &commit("gone")).assert_bytes(200, b"gone");
    project
        .user
        .delete(&project.on("gone", ""))
        .assert_empty(204);
    read(&reader, &project, &commit("gone")).assert_error(404, "404 Commit Not Found");
}

#[test]
fn only_a_commit_may_be_kept_for_ever() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let kept = "private, max-age=31536000, immutable";
    for (reference, expected) in [
        (commit("two").as_str(), kept),
        ("main", "private, no-cache"),
        ("HEAD", "private, no-cache"),
        ("", "private, no-cache"),
    ] {
        let answer = read(&reader, &project, reference);
        assert_eq!(
            answer.header("Cache-Control"),
            Some(expected),
            "{reference}"
        );
        let target = project.read(&format!("/tree?ref={reference}"));
        let answer = reader.get(&target);
        assert_eq!(
            answer.header("Cache-Control"),
            Some(expected),
            "{reference}"
        );
    }
}
