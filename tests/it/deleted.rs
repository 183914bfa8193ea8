//! What is deleted is gone on both APIs, and comes back as it was: contract section 6.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Answer, Daemon, Project, READ, User, masked};

const DELETED: &str = "/site-builder/api/deleted";
const PUBLIC: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
const READONLY: &str = "ROLE_SITEBUILDER_EDITOR__READONLY";

fn restore(user: &User, id: &str) -> Answer {
    user.request("POST", &format!("{DELETED}/{id}/restore"))
        .send()
}

fn restore_as(user: &User, id: &str, name: &str) -> Answer {
    user.post(&format!("{DELETED}/{id}/restore"), &json!({ "as": name }))
}

/// The ids that somebody is shown.
#[track_caller]
fn ids(user: &User, query: &str) -> Vec<String> {
    let listed = user
        .get(&format!("{DELETED}{query}"))
        .expect_status(200)
        .json();
    let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(id).collect()
}

/// `acme/shop.erp` with two saves, and somebody who reads it.
fn shop(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for text in ["one", "two"] {
        project.save("main", "a.xml", text);
    }
    let reader = daemon.reader(&project);
    (project, reader)
}

/// Everything that a client may keep of a project: what it polls, lists and reads.
#[track_caller]
fn seen(project: &Project, reader: &User) -> Vec<(String, Value)> {
    let numbered = format!("{READ}/projects/{}", project.number);
    [
        project.read("/branches"),
        project.read("/branches/main"),
        project.read("/tree?recursive=true"),
        project.read("/commits"),
        format!("{numbered}/repository/branches"),
        numbered,
    ]
    .into_iter()
    .map(|target| {
        let answer = reader.get(&target).expect_status(200);
        (
            answer.header("ETag").unwrap_or_default().to_owned(),
            answer.json(),
        )
    })
    .chain([
        (
            String::new(),
            project
                .user
                .get(&project.on("main", "/history?limit=100"))
                .json(),
        ),
        (String::new(), project.user.get(&project.admin("")).json()),
        (
            String::new(),
            project.user.get(&format!("{ADMIN}/tokens")).json(),
        ),
    ])
    .map(|(tag, mut told)| {
        if let Some(token) = told
            .get_mut(0)
            .and_then(|first| first.get_mut("last_used_at"))
        {
            token.take();
        }
        (tag, told)
    })
    .collect()
}

#[test]
fn a_deleted_project_is_gone_and_comes_back_as_it_was() {
    let mut daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let before = seen(&project, &reader);
    project.user.delete(&project.admin("")).assert_empty(204);
    for target in [
        project.read("/branches"),
        project.raw("a.xml"),
        format!("{READ}/projects/{}", project.number),
    ] {
        reader.get(&target).expect_status(404);
    }
    project
        .user
        .get(&project.on("main", "/tree"))
        .assert_error(404, "Project not found");
    project
        .user
        .get(&format!("{ADMIN}/projects"))
        .assert_json(200, &json!([]));
    let listed = project.user.get(DELETED).expect_status(200).json();
    assert_eq!(
        masked(listed),
        json!([{
            "kind": "project", "id": "project-1", "repo_id": "acme/shop.erp", "branch": null,
            "owner": "alice", "deleted_at": "<time>", "deleted_by": "alice", "kept_until": "<time>",
        }])
    );
    // A new one of the name is empty, and the token does not open it.
    let other = Project::with_main(&project.user, "acme/shop");
    assert_ne!(other.number, project.number);
    assert_eq!(other.tree("main"), json!([]));
    reader
        .get(&project.read("/branches"))
        .assert_error(403, "403 Forbidden");
    let told = restore(&project.user, "project-1").assert_refused(400);
    assert!(told.contains("{\"as\": \"acme/shop2.erp\"}"), "{told}");
    other.user.delete(&other.admin("")).assert_empty(204);

    daemon.kill();
    daemon.restart();
    let (user, reader) = (daemon.session("alice"), daemon.token(reader.credential()));
    assert_eq!(ids(&user, ""), ["project-2", "project-1"]);
    let restored = restore(&user, "project-1").expect_status(200);
    let project = Project { user, ..project };
    project
        .user
        .get(&project.admin(""))
        .assert_json(200, &restored.json());
    assert_eq!(told_of(seen(&project, &reader)), told_of(before));
    // A poll with the tag of before has nothing new, and a save makes it new.
    let polled = reader.get(&project.read("/branches"));
    let tag = polled.header("ETag").unwrap();
    let poll = || {
        let poll = reader.request("GET", &project.read("/branches"));
        poll.header("If-None-Match", tag).send().status
    };
    project.user.delete(&project.admin("")).assert_empty(204);
    assert_eq!(poll(), 404);
    restore(&project.user, "project-1").expect_status(200);
    assert_eq!((poll(), project.versions("main").len()), (304, 2));
    project.save("main", "a.xml", "three");
    assert_eq!(poll(), 200);
    restore(&project.user, "project-1").assert_error(404, "Nothing deleted has this id");
}

/// Without addresses and times of use, which a restart may change.
fn told_of(seen: Vec<(String, Value)>) -> Vec<Value> {
    seen.into_iter()
        .map(|(_, told)| {
            let text = told.to_string();
            let mut parts = text.split("http://");
            let first = parts.next().unwrap_or_default().to_owned();
            let rest = parts.map(|part| part.split_once('/').map_or(part, |(_, path)| path));
            json!(rest.fold(first, |all, part| all + part))
        })
        .collect()
}

#[test]
fn a_token_is_bound_to_the_same_instance_after_a_restart_and_a_restore() {
    let mut daemon = Daemon::start();
    let (project, _) = shop(&daemon);
    let token = json!({ "name": "erp", "repos": [project.id], "fingerprint_required": true });
    let token = project.user.issue(&token);
    let secret = token["tokenString"].as_str().unwrap();
    let reads = |daemon: &Daemon, instance: &str| {
        let holder = daemon.token(secret).with("X-Instance-Id", instance);
        holder.get(&project.raw("a.xml")).status
    };
    assert_eq!(
        (reads(&daemon, "berlin"), reads(&daemon, "paris")),
        (200, 401)
    );
    project.user.delete(&project.admin("")).assert_empty(204);
    assert_eq!(
        (reads(&daemon, "berlin"), reads(&daemon, "paris")),
        (404, 401)
    );
    daemon.kill();
    daemon.restart();
    let alice = daemon.session("alice");
    assert_eq!(
        (reads(&daemon, "berlin"), reads(&daemon, "paris")),
        (404, 401)
    );
    restore(&alice, "project-1").expect_status(200);
    assert_eq!(
        (reads(&daemon, "berlin"), reads(&daemon, "paris")),
        (200, 401)
    );
}

#[test]
fn a_deleted_branch_is_gone_and_comes_back_as_it_was() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.add_branch("next");
    let before = seen(&project, &reader);
    let commit = before[1].1["commit"]["id"].as_str().unwrap().to_owned();
    let by_commit = project.read(&format!("/files/a.xml/raw?ref={commit}"));
    reader.get(&by_commit).assert_bytes(200, b"two");
    project
        .user
        .delete(&project.on("main", ""))
        .assert_empty(204);
    for target in [by_commit.clone(), project.read("/branches/main")] {
        reader.get(&target).expect_status(404);
    }
    project
        .user
        .get(&project.on("main", "/history"))
        .assert_error(404, "Branch not found");
    assert_eq!(ids(&project.user, ""), ["branch-1-1"]);
    project.add_branch("main");
    assert_eq!(project.versions("main"), [""; 0]);
    let told = restore(&project.user, "branch-1-1").assert_refused(400);
    assert!(told.contains("{\"as\": \"main2\"}"), "{told}");
    let other = restore_as(&project.user, "branch-1-1", "old").expect_status(200);
    assert_eq!(other.json()["name"], "old");
    assert_eq!(project.versions("old"), ["v0002", "v0001"]);
    for name in ["main", "old"] {
        project.user.delete(&project.on(name, "")).assert_empty(204);
    }
    let back = restore_as(&project.user, "branch-1-1", "main").expect_status(200);
    assert_eq!(back.json(), project.branch_item("main"));
    assert_eq!(back.header("ETag"), Some(format!("\"{commit}\"").as_str()));
    assert_eq!(seen(&project, &reader), before);
    reader.get(&by_commit).assert_bytes(200, b"two");
}

#[test]
fn a_project_under_another_name_answers_with_that_one() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let numbered = format!("{READ}/projects/{}/repository/branches", project.number);
    let before = reader.get(&numbered).expect_status(200);
    project.user.delete(&project.admin("")).assert_empty(204);
    restore_as(&project.user, "project-1", "acme/renamed.erp").expect_status(200);
    let after = reader.get(&numbered).expect_status(200);
    let renamed = before.text().replace("acme/shop.erp", "acme/renamed.erp");
    let renamed = renamed.replace("acme%2Fshop.erp", "acme%2Frenamed.erp");
    assert_eq!(after.text(), renamed);
    let tokens = project.user.get(&format!("{ADMIN}/tokens")).json();
    assert_eq!(tokens[0]["repos"], json!(["acme/renamed.erp"]));
    for (name, status) in [("acme", 400), ("", 400), ("public/x.erp", 403)] {
        let project = Project {
            id: "acme/renamed.erp".to_owned(),
            ..project.clone()
        };
        project.user.delete(&project.admin("")).assert_empty(204);
        restore_as(&project.user, "project-1", name).expect_status(status);
        restore(&project.user, "project-1").expect_status(200);
    }
}

#[test]
fn a_restore_takes_one_field_or_nothing() {
    let daemon = Daemon::start();
    let (project, _) = shop(&daemon);
    project.user.delete(&project.admin("")).assert_empty(204);
    let target = format!("{DELETED}/project-1/restore");
    for body in [
        json!({ "as": null }),
        json!({ "name": "x.erp" }),
        json!(["x.erp"]),
        json!("x"),
    ] {
        project.user.post(&target, &body).assert_refused(400);
    }
    project
        .user
        .request("POST", &target)
        .body(b"{}")
        .send()
        .assert_refused(415);
    let if_match = project
        .user
        .request("POST", &target)
        .header("If-Match", "\"x\"");
    if_match.send().assert_refused(412);
    project
        .user
        .get(&format!("{DELETED}?scope=all"))
        .assert_refused(400);
    project
        .user
        .get(&format!("{DELETED}?page=1&per_page=1"))
        .expect_status(200);
    project.user.post(&target, &json!({})).expect_status(200);
    for id in ["project-1", "project-9", "branch-1-1", "x", "project-01"] {
        restore(&project.user, id).assert_error(404, "Nothing deleted has this id");
    }
    let anonymous = daemon.anonymous();
    anonymous.get(DELETED).assert_refused(401);
    restore(&anonymous, "project-1").assert_refused(401);
}

#[test]
fn a_deletion_with_a_condition_takes_only_what_it_means() {
    let daemon = Daemon::start();
    let (project, _) = shop(&daemon);
    let commit = project.branch_item("main")["commit"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let delete = |tag: &str| {
        let request = project.user.request("DELETE", &project.on("main", ""));
        request.header("If-Match", tag).send()
    };
    project.save("main", "a.xml", "three");
    delete(&format!("\"{commit}\"")).assert_refused(412);
    assert_eq!(ids(&project.user, ""), [""; 0]);
    let commit = project.branch_item("main")["commit"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    delete(&format!("\"{commit}\"")).assert_empty(204);
    assert_eq!(ids(&project.user, ""), ["branch-1-1"]);
}

#[test]
fn only_the_owner_and_root_may_take_a_deletion_back() {
    let daemon = Daemon::start();
    let (shop, _) = shop(&daemon);
    let paul = daemon.user("paul", &[PUBLIC]);
    let public = Project::with_main(&paul, "public/forms");
    let root = daemon.session("admin");
    let others = [
        daemon.user("bob", &[]),
        daemon.user("carl", &["ROLE_SITEBUILDER_USER__acme"]),
        daemon.user("audit", &[READONLY]),
        daemon.user("editor", &[PUBLIC]),
    ];
    // Whoever may delete there may, and cannot take it back.
    others[1].delete(&shop.admin("")).assert_empty(204);
    others[3].delete(&public.admin("")).assert_empty(204);
    for other in &others {
        assert_eq!(ids(other, "?scope=accessible"), [""; 0]);
        for id in ["project-1", "project-2"] {
            restore(other, id).assert_error(404, "Nothing deleted has this id");
        }
    }
    assert_eq!(
        (ids(&shop.user, ""), ids(&paul, "")),
        (vec!["project-1".into()], vec!["project-2".into()])
    );
    assert_eq!(ids(&root, ""), [""; 0]);
    // In any order: both may be of the same millisecond.
    let mut all = ids(&root, "?scope=accessible");
    all.sort_unstable();
    assert_eq!(all, ["project-1", "project-2"]);
    restore(&paul, "project-1").assert_refused(404);
    restore(&paul, "project-2").expect_status(200);
    let back = restore(&root, "project-1").expect_status(200).json();
    assert_eq!(
        (&back["owner"], &back["repo_id"]),
        (&json!("alice"), &json!("acme/shop.erp"))
    );
}

#[test]
fn the_command_line_deletes_lists_and_restores() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let run = |words: &[&str]| {
        let output = daemon.command(words, "");
        let (out, err) = (
            String::from_utf8(output.stdout),
            String::from_utf8(output.stderr),
        );
        (output.status.code(), out.unwrap() + &err.unwrap())
    };
    let (code, told) = run(&["branch", "delete", "acme/shop.erp", "main"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        told,
        "acme/shop.erp:main is deleted; \"siteconf branch restore acme/shop.erp branch-1-1\" brings it \
         back\n"
    );
    reader
        .get(&project.read("/branches"))
        .assert_json(200, &json!([]));
    let (code, told) = run(&["branch", "delete", "acme/shop.erp", "main"]);
    assert_eq!(code, Some(1), "{told}");
    project.add_branch("main");
    let (_, told) = run(&["branch", "restore", "acme/shop.erp", "main"]);
    assert_eq!(
        told,
        "siteconf: a branch of this name exists already; restore the deleted one under another, as with \
         --as main2\n"
    );
    let (code, told) = run(&["branch", "restore", "acme/shop.erp", "main", "--as", "old"]);
    assert_eq!(
        (code, told.as_str()),
        (Some(0), "acme/shop.erp:old is there again\n")
    );
    assert_eq!(project.versions("old"), ["v0002", "v0001"]);
    let (_, told) = run(&["branch", "restore", "acme/shop.erp", "old"]);
    assert_eq!(
        told,
        "siteconf: there is no deleted branch old of acme/shop.erp; \"siteconf project list --deleted\" \
         names all that can be restored\n"
    );

    run(&["project", "delete", "acme/shop.erp"]);
    Project::create(&project.user, "acme/shop");
    let (_, told) = run(&["project", "delete", "acme/shop.erp"]);
    assert_eq!(
        told,
        "acme/shop.erp is deleted; \"siteconf project restore project-2\" brings it back\n"
    );
    let (_, told) = run(&["project", "restore", "acme/shop.erp"]);
    assert!(
        told.ends_with("by its id: project-2, project-1\n"),
        "{told}"
    );
    let (_, listed) = run(&[
        "project",
        "list",
        "--deleted",
        "--json",
        "--keep-deleted-days",
        "0",
    ]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[1]["deleted_at"], listed[1]["kept_until"]);
    assert_eq!(
        masked(listed[1].clone()),
        json!({
            "kind": "project", "id": "project-1", "repo_id": "acme/shop.erp", "branch": null,
            "owner": "alice", "deleted_at": "<time>", "deleted_by": "command line",
            "kept_until": "<time>",
        })
    );
    let (_, columns) = run(&["project", "list", "--deleted"]);
    assert!(
        columns.starts_with("ID         REPO ID        BRANCH  OWNER"),
        "{columns}"
    );
    let (code, told) = run(&["project", "restore", "project-1"]);
    assert_eq!(
        (code, told.as_str()),
        (Some(0), "acme/shop.erp is there again\n")
    );
    reader
        .get(&project.read("/branches/old"))
        .expect_status(200);
    let (code, told) = run(&["debug", "check"]);
    assert_eq!(code, Some(0), "{told}");
    let (_, stats) = run(&["debug", "stats", "--json"]);
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(
        stats["deleted"],
        json!({ "projects": 1, "branches": 0, "snapshots": 0 })
    );
    assert_eq!(
        (&stats["projects"], &stats["branches"]),
        (&json!(1), &json!(2))
    );
}

#[test]
fn what_is_not_to_be_kept_is_forgotten_at_the_next_start() {
    let mut daemon = Daemon::start();
    let (project, _) = shop(&daemon);
    let other = Project::with_main(&project.user, "acme/other");
    other.user.delete(&other.admin("")).assert_empty(204);
    daemon.replace_with(&["--keep-deleted-days", "0"]);
    // Now it has looked for what there is to forget, which may come long after the start, and looks again in an hour.
    let told = daemon.logged("forgot what was deleted");
    assert_eq!(told["projects"], 1);
    let user = daemon.session("alice");
    user.delete(&project.admin("")).assert_empty(204);
    daemon.kill();
    // With the usual time it is kept.
    daemon.restart();
    let user = daemon.session("alice");
    assert_eq!(ids(&user, ""), ["project-1"]);
    daemon.replace_with(&["--keep-deleted-days", "0"]);
    let user = daemon.session("alice");
    crate::harness::soon(|| ids(&user, "").is_empty());
    restore(&user, "project-1").assert_refused(404);
    // It is told once more.
    crate::harness::soon(|| daemon.log().matches("\"projects\":1").count() == 2);
}
