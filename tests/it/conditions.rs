//! Conditional requests on files: contract sections 5 and 6.

use serde_json::{Value, json};

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

/// The tag as a proxy hands it on that has compressed the answer.
fn compressed(tag: &str, coding: &str) -> String {
    format!("{}{coding}\"", tag.trim_end_matches('"'))
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
            compressed(&tag, "-gzip"),
            compressed(&tag, "-br"),
            format!("W/{}", compressed(&tag, "-zstd")),
            "*".into(),
        ] {
            let answer = ask(&match_);
            answer.assert_empty(304);
            for header in ["ETag", "Cache-Control"] {
                assert_eq!(answer.header(header), full.header(header));
            }
        }
        for other in ["\"x\"", "\"\"", "W/\"x\"", &compressed(&tag, "-x")] {
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
    put(&compressed(&one, "-gzip"), "lost").assert_refused(412);
    put(&compressed(&tag(&project), "-gzip"), "five").expect_status(200);
    let answer = project.user.get(&target);
    answer.assert_bytes(200, b"five");
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
        ["v0005", "v0004", "v0003", "v0002", "v0001"]
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
    // The whole history tells the commit ids that are kept. A save's is a moment after it, a page's before its answer.
    let page = project.user.get(&project.on("main", "/history?limit=100"));
    page.expect_status(200);
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

/// The tag of a branch, made of its listing.
fn branch_tag(project: &Project, branch: &str) -> String {
    let item = project.branch_item(branch);
    format!("\"{}\"", item["commit"]["id"].as_str().unwrap())
}

fn update(text: &str) -> Value {
    json!({ "actions": [{ "action": "update", "file_path": "a.xml", "content": text }] })
}

/// Every way to change a branch as a whole, as method, target and body.
fn changes_of_a_branch(project: &Project) -> Vec<(&'static str, String, Option<Value>)> {
    let on = |rest| project.on("main", rest);
    vec![
        ("POST", on("/batch"), Some(update("batch"))),
        ("POST", on("/rollback?to=v0002"), None),
        ("POST", on("/rollback?to=v0002&path=a.xml"), None),
        ("POST", on("/rollback?to=v0002&dry_run=1"), None),
        ("DELETE", on(""), None),
    ]
}

#[test]
fn a_branch_in_another_state_is_not_changed() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let stale = branch_tag(&project, "main");
    project.save("main", "a.xml", "two");
    let (present, versions) = (branch_tag(&project, "main"), project.versions("main"));
    for (method, target, body) in changes_of_a_branch(&project) {
        let send = |name: &str, value: &str| {
            let request = project.user.request(method, &target).header(name, value);
            match &body {
                Some(body) => request.json(body).send(),
                None => request.send(),
            }
        };
        for condition in [
            stale.clone(),
            format!("W/{present}"),
            "\"other\"".to_owned(),
        ] {
            let refused = send("If-Match", &condition);
            let message = refused.assert_refused(412);
            assert!(
                message
                    .starts_with("the branch is not in the state that the request demands: alice"),
                "{message}"
            );
            assert_eq!(refused.header("ETag"), Some(&*present), "{method} {target}");
        }
        send("If-None-Match", "*").assert_refused(412);
        assert_eq!(project.versions("main"), versions, "{method} {target}");
        assert_eq!(branch_tag(&project, "main"), present);
    }
    for (method, target, body) in changes_of_a_branch(&project) {
        let listed = format!("\"other\", {}", branch_tag(&project, "main"));
        let request = project
            .user
            .request(method, &target)
            .header("If-Match", &listed);
        let made = match &body {
            Some(body) => request.json(body).send(),
            None => request.send(),
        };
        assert!(
            matches!(made.status, 200 | 204),
            "{method} {target}: {made:?}"
        );
        if made.status == 200 && !target.contains("dry_run") {
            assert_eq!(made.header("ETag"), Some(&*branch_tag(&project, "main")));
        }
    }
}

#[test]
fn a_rollback_says_which_state_it_expects() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let id = |project: &Project| branch_tag(project, "main").trim_matches('"').to_owned();
    let stale = id(&project);
    project.save("main", "a.xml", "two");
    let versions = project.versions("main");
    let rollback = |query: &str| {
        let target = project.on("main", &format!("/rollback?to=v0001{query}"));
        project.user.request("POST", &target).send()
    };
    let refused = rollback(&format!("&expect={stale}"));
    refused.assert_refused(412);
    assert_eq!(refused.header("ETag"), Some(&*branch_tag(&project, "main")));
    rollback(&format!("&expect={stale}&dry_run=1")).assert_refused(412);
    for malformed in [
        "",
        "main",
        &stale[..39],
        &format!("{stale}0"),
        &"g".repeat(40),
    ] {
        rollback(&format!("&expect={malformed}")).assert_json(
            400,
            &json!({
                "message": "query parameter \"expect\" must be a commit id, 40 hexadecimal digits",
            }),
        );
    }
    assert_eq!(project.versions("main"), versions);
    let present = id(&project).to_ascii_uppercase();
    rollback(&format!("&expect={present}")).expect_status(200);
}

#[test]
fn an_action_of_a_batch_names_the_tag_of_its_file() {
    let daemon = Daemon::start();
    let (project, stale) = saved(&daemon);
    project.save("main", "a.xml", "two");
    project.save("main", "b.xml", "b");
    let (present, versions) = (tag(&project), project.versions("main"));
    let batch = |action: Value| {
        let first = json!({ "action": "create", "file_path": "c.xml", "content": "c" });
        let body = json!({ "actions": [first, action] });
        project.user.post(&project.on("main", "/batch"), &body)
    };
    let with = |mut action: Value, tag: &str| {
        action["if_match"] = tag.into();
        action
    };
    let actions = [
        (
            "update",
            json!({ "action": "update", "file_path": "a.xml", "content": "three" }),
        ),
        (
            "delete",
            json!({ "action": "delete", "file_path": "a.xml" }),
        ),
        (
            "move",
            json!({ "action": "move", "previous_path": "a.xml", "file_path": "d.xml" }),
        ),
    ];
    for (verb, action) in actions.clone() {
        for tag in [
            &*stale,
            stale.trim_matches('"'),
            "",
            &format!("W/{present}"),
        ] {
            let refused = batch(with(action.clone(), tag)).expect_status(412);
            let message = refused.json()["message"].as_str().unwrap().to_owned();
            assert!(
                message.starts_with(&format!("action 2 ({verb} \"a.xml\""))
                    && message
                        .contains(": the file is not in the state that the request demands: alice"),
                "{message}"
            );
            assert_eq!(refused.header("ETag"), Some(&*present));
        }
        let mut absent = with(action, "*");
        let path = if verb == "move" {
            "previous_path"
        } else {
            "file_path"
        };
        absent[path] = "absent.xml".into();
        let refused = batch(absent).expect_status(412);
        assert_eq!(refused.header("ETag"), None);
    }
    let create =
        json!({ "action": "create", "file_path": "e.xml", "content": "", "if_match": "*" });
    batch(create).assert_refused(400);
    let mut null = actions[0].1.clone();
    null["if_match"] = Value::Null;
    batch(null).assert_refused(400);
    assert_eq!(project.versions("main"), versions);
    for tag in [&*present, present.trim_matches('"'), "*"] {
        let action = with(actions[0].1.clone(), tag);
        let body = json!({ "actions": [action] });
        let saved = project.user.post(&project.on("main", "/batch"), &body);
        saved.expect_status(200);
        project.save("main", "a.xml", "two");
    }
}

/// Two save at once by the same tag: one of them is told that it came too late.
#[test]
fn of_two_batches_that_name_the_same_state_one_is_made() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    for round in 0..10 {
        let tag = branch_tag(&project, "main");
        let save = |who: &str| {
            let body = update(&format!("{who} {round}"));
            let target = project.on("main", "/batch");
            let request = project
                .user
                .request("POST", &target)
                .header("If-Match", &tag);
            request.json(&body).send().status
        };
        let mut statuses = std::thread::scope(|scope| {
            let other = scope.spawn(|| save("other"));
            [save("one"), other.join().unwrap()]
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412]);
    }
}

#[test]
fn what_has_no_tag_fulfils_no_condition_that_names_one() {
    let daemon = Daemon::start();
    let (project, _) = saved(&daemon);
    let user = &project.user;
    let token = user.issue(&json!({ "name": "t", "repos": [project.id] }));
    let tokens = "/site-builder/api/tokens";
    let token = format!("{tokens}/{}", token["tokenId"].as_str().unwrap());
    let projects = "/site-builder/api/projects";
    let made = [
        (
            projects.to_owned(),
            json!({ "name": "other", "type": "erp" }),
        ),
        (project.admin("/branches"), json!({ "name": "next" })),
        (tokens.to_owned(), json!({ "name": "u", "repos": [] })),
    ];
    for (target, body) in &made {
        for condition in ["*", "\"x\""] {
            let request = user.request("POST", target).header("If-Match", condition);
            request.json(body).send().assert_refused(412);
        }
        let request = user.request("POST", target).header("If-None-Match", "*");
        request.json(body).send().expect_status(201);
    }
    let there = [
        ("PATCH", &token, Some(json!({ "name": "v" }))),
        ("DELETE", &token, None),
        ("DELETE", &project.admin(""), None),
    ];
    for (method, target, body) in &there {
        let send = |name: &str, value: &str| {
            let request = user.request(method, target).header(name, value);
            match body {
                Some(body) => request.json(body).send(),
                None => request.send(),
            }
        };
        send("If-Match", "\"x\"").assert_refused(412);
        send("If-None-Match", "*").assert_refused(412);
        let made = send("If-Match", "*");
        assert!(matches!(made.status, 200 | 204), "{made:?}");
    }
}
