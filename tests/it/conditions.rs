//! Conditional requests on files: contract sections 5 and 6.

use crate::harness::{Daemon, Project};

/// A project with `a.xml`, and that file's entity tag.
fn saved(daemon: &Daemon) -> (Project, String) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "one");
    let tag = tag(&project);
    (project, tag)
}

fn tag(project: &Project) -> String {
    let answer = project.user.get(&project.file("main", "a.xml"));
    let tag = answer.header("ETag").expect("a file has an entity tag");
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag} is weak");
    tag.to_owned()
}

#[test]
fn an_entity_tag_follows_the_content() {
    let daemon = Daemon::start();
    let (project, one) = saved(&daemon);
    project.save("main", "a.xml", "two");
    let two = tag(&project);
    assert_ne!(one, two);
    project.save("main", "a.xml", "one");
    assert_eq!(tag(&project), one);
}

#[test]
fn an_unchanged_file_is_not_sent_again() {
    let daemon = Daemon::start();
    let (project, tag) = saved(&daemon);
    let reader = daemon.reader(&project);
    for (user, target) in [
        (&project.user, project.file("main", "a.xml")),
        (&reader, project.raw("a.xml")),
    ] {
        let ask = |value: &str| {
            user.request("GET", &target)
                .header("If-None-Match", value)
                .send()
        };
        let full = user.get(&target);
        for match_ in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"x\", {tag}"),
            "*".into(),
        ] {
            let answer = ask(&match_);
            answer.assert_empty(304);
            for header in ["ETag", "Cache-Control"] {
                assert_eq!(answer.header(header), full.header(header));
            }
        }
        for other in ["\"x\"", "\"\"", "W/\"x\""] {
            ask(other).assert_bytes(200, b"one");
        }
    }
}

#[test]
fn a_save_can_insist_on_what_it_replaces() {
    let daemon = Daemon::start();
    let (project, one) = saved(&daemon);
    let target = project.file("main", "a.xml");
    let put = |condition: &str, body: &str| {
        project
            .user
            .request("PUT", &target)
            .header("If-Match", condition)
            .body(body.as_bytes())
            .send()
    };
    put("\"other\"", "lost").assert_refused(412);
    put(&one, "two").expect_status(200);
    put(&one, "lost").assert_refused(412);
    put(&format!("\"x\", {}", tag(&project)), "three").expect_status(200);
    put("*", "four").expect_status(200);
    let answer = project.user.get(&target);
    answer.assert_bytes(200, b"four");
    let weak = format!("W/{}", tag(&project));
    put(&weak, "lost").assert_refused(412);
    let absent = project
        .user
        .request("PUT", &project.file("main", "new.xml"))
        .header("If-Match", "*")
        .body(b"lost")
        .send();
    absent.assert_refused(412);
    assert_eq!(
        project.versions("main"),
        ["v0004", "v0003", "v0002", "v0001"]
    );
}

#[test]
fn a_save_can_insist_that_nothing_is_there() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let put = |path: &str| {
        project
            .user
            .request("PUT", &project.file("main", path))
            .header("If-None-Match", "*")
            .body(b"new")
            .send()
    };
    put("a.xml").assert_refused(412);
    put("b.xml").expect_status(201);
    put("b.xml").assert_refused(412);
    let answer = project.user.get(&project.file("main", "a.xml"));
    answer.assert_bytes(200, b"one");
    assert_eq!(project.versions("main"), ["v0002", "v0001"]);
}

#[test]
fn a_deletion_can_insist_on_what_it_deletes() {
    let daemon = Daemon::start();
    let (project, tag) = saved(&daemon);
    let target = project.file("main", "a.xml");
    let delete = |condition: &str| {
        project
            .user
            .request("DELETE", &target)
            .header("If-Match", condition)
            .send()
    };
    delete("\"other\"").assert_refused(412);
    project.user.get(&target).assert_bytes(200, b"one");
    delete(&tag).expect_status(200);
    project.user.get(&target).assert_refused(404);
}

#[test]
fn head_answers_what_get_would_without_the_body() {
    let daemon = Daemon::start();
    let (project, tag) = saved(&daemon);
    let reader = daemon.reader(&project);
    let admin = [
        "/site-builder/api/projects".to_owned(),
        "/site-builder/api/tokens".to_owned(),
        "/user/session".to_owned(),
        project.admin(""),
        project.admin("/branches"),
        project.on("main", "/tree"),
        project.on("main", "/tree?path=none"),
        project.on("main", "/history"),
        project.on("main", "/snapshots/v0001/tree"),
        project.on("main", "/snapshots/v0001/files/a.xml"),
        project.file("main", "a.xml"),
        project.file("main", "none"),
    ];
    let read = [
        "/site-builder/api/erp-config/health".to_owned(),
        project.read("/branches"),
        project.read("/tree"),
        project.read("/tree?ref=none"),
        project.raw("a.xml"),
        project.raw("none"),
    ];
    let all = admin.iter().map(|target| (&project.user, target));
    let all = all.chain(read.iter().map(|target| (&reader, target)));
    for (user, target) in all {
        let (get, head) = (user.get(target), user.head(target));
        assert_eq!(head.status, get.status, "{target}");
        assert_eq!(head.lasting_headers(), get.lasting_headers(), "{target}");
        assert!(get.header("Content-Length").is_some(), "{target}");
    }
    let unchanged = project
        .user
        .request("HEAD", &project.file("main", "a.xml"))
        .header("If-None-Match", &tag)
        .send();
    unchanged.assert_empty(304);
}
