//! Projects and branches under other names and in other hands.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, User, segment};

const PUBLIC: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";

fn renamed(project: &Project, name: &str) -> Project {
    Project {
        id: name.to_owned(),
        ..project.clone()
    }
}

#[test]
fn a_renamed_project_keeps_all_that_it_has() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let old = Project::with_main(&alice, "acme/shop");
    old.save("main", "a.xml", "one");
    old.save("main", "a.xml", "two");
    let reader = daemon.reader(&old);
    let before = alice.get(&old.admin("")).json();
    let answer = alice.patch(&old.admin(""), &json!({ "name": "acme/store" }));
    let shown = answer.expect_status(200).json();
    let mut expected = before.clone();
    expected["repo_id"] = json!("acme/store.erp");
    expected["name"] = json!("acme/store");
    assert_eq!(shown, expected);
    let new = renamed(&old, "acme/store.erp");
    alice.get(&new.admin("")).assert_json(200, &expected);
    alice.get(&old.admin("")).assert_refused(404);
    assert_eq!(new.versions("main"), ["v0002", "v0001"]);
    assert_eq!(
        reader.get(&new.raw("a.xml")).expect_status(200).body,
        b"two"
    );
    // What it was called is not in the token any more, whoever has that name.
    reader.get(&old.raw("a.xml")).assert_refused(403);
    let token = alice.get(&format!("{ADMIN}/tokens")).json();
    assert_eq!(token[0]["repos"], json!(["acme/store.erp"]));
    // The old name is free.
    let again = Project::create(&alice, "acme/shop");
    assert_ne!(again.number, old.number);

    let both = json!({ "name": "acme/depot", "type": "web" });
    let shown = alice.patch(&new.admin(""), &both).expect_status(200).json();
    assert_eq!(shown["repo_id"], "acme/depot.web");
    let depot = renamed(&old, "acme/depot.web");
    let shown = alice.patch(&depot.admin(""), &json!({ "type": "erp" }));
    assert_eq!(shown.expect_status(200).json()["repo_id"], "acme/depot.erp");
}

#[test]
fn root_alone_gives_a_project_to_another_account() {
    let daemon = Daemon::start();
    let (alice, bob) = (daemon.user("alice", &[]), daemon.user("bob", &[]));
    let admin = daemon.session("admin");
    let project = Project::with_main(&alice, "acme/shop");
    let reader = daemon.reader(&project);
    bob.get(&project.admin("")).assert_refused(403);
    // Its owner does not, and is not told who has an account.
    for owner in ["bob", "nobody", "alice"] {
        alice
            .patch(&project.admin(""), &json!({ "owner": owner }))
            .assert_refused(403);
    }
    let given = admin.patch(&project.admin(""), &json!({ "owner": "bob" }));
    let shown = given.expect_status(200).json();
    assert_eq!(shown["owner"], "bob");
    alice.get(&project.admin("")).assert_refused(403);
    bob.get(&project.admin("")).expect_status(200);
    reader.get(&project.read("/tree")).assert_refused(403);
    alice
        .patch(&project.admin(""), &json!({ "owner": "alice" }))
        .assert_refused(403);
    let back = admin.patch(&project.admin(""), &json!({ "owner": "alice" }));
    assert_eq!(back.expect_status(200).json()["owner"], "alice");
    reader.get(&project.read("/tree")).expect_status(200);
    // An account that is shut gets nothing, and what it has stays its own.
    let shut = |name: &str| {
        let account = format!("{ADMIN}/accounts/{name}");
        let shut = admin.patch(&account, &json!({ "enabled": false }));
        shut.expect_status(200);
    };
    shut("bob");
    for owner in ["bob", "nobody", ""] {
        admin
            .patch(&project.admin(""), &json!({ "owner": owner }))
            .assert_error(400, &format!("there is no enabled user \"{owner}\""));
    }
    shut("alice");
    let same = admin.patch(&project.admin(""), &json!({ "owner": "alice" }));
    assert_eq!(same.expect_status(200).json()["owner"], "alice");
}

#[test]
fn a_project_goes_only_where_its_owner_may_make_it() {
    let daemon = Daemon::start();
    let (alice, paul) = (daemon.user("alice", &[]), daemon.user("paul", &[PUBLIC]));
    let shop = Project::create(&alice, "acme/shop");
    let of_paul = Project::create(&paul, "paul");
    let public = json!({ "name": "public/shop" });
    alice.patch(&shop.admin(""), &public).assert_refused(403);
    let shown = paul
        .patch(&of_paul.admin(""), &public)
        .expect_status(200)
        .json();
    assert_eq!(shown["repo_id"], "public/shop.erp");
    // Whoever holds a role for a group may work there, and not rename what is another's.
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    bob.patch(&shop.admin(""), &json!({ "name": "bob" }))
        .assert_refused(403);
    bob.patch(&shop.admin(""), &json!({ "owner": "bob" }))
        .assert_refused(403);
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    auditor
        .patch(&shop.admin(""), &json!({ "name": "x" }))
        .assert_refused(403);
    let stranger = daemon.user("stranger", &[]);
    stranger
        .patch(&shop.admin(""), &json!({ "name": "x" }))
        .assert_refused(403);
    alice.get(&shop.admin("")).expect_status(200);
}

#[test]
fn a_change_of_a_project_that_cannot_be_made_changes_nothing() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let admin = daemon.session("admin");
    let shop = Project::with_main(&alice, "acme/shop");
    Project::create(&alice, "taken");
    let before = alice.get(&shop.admin("")).json();
    let logged = || String::from_utf8(daemon.command(&["audit", "--json"], "").stdout).unwrap();
    let entries = logged().lines().count();
    for body in [
        json!({}),
        json!([]),
        json!({ "name": "taken" }),
        json!({ "name": "" }),
        json!({ "name": "a b" }),
        json!({ "name": "x".repeat(101) }),
        json!({ "name": 1 }),
        json!({ "name": null }),
        json!({ "type": "ERP" }),
        json!({ "owner": ["alice"] }),
        json!({ "owner": "alice", "name": "x" }),
        json!({ "repo_id": "x.erp" }),
    ] {
        alice.patch(&shop.admin(""), &body).assert_refused(400);
    }
    let conditional = alice.with("If-Match", "\"0\"");
    let body = json!({ "name": "x" });
    conditional
        .patch(&shop.admin(""), &body)
        .assert_refused(412);
    alice
        .patch(&format!("{ADMIN}/projects/none.erp"), &body)
        .assert_refused(404);
    // What it is already is no change.
    let body = json!({ "name": "acme/shop" });
    alice
        .patch(&shop.admin(""), &body)
        .assert_json(200, &before);
    let body = json!({ "owner": "alice" });
    admin.patch(&shop.admin(""), &body).expect_status(200);
    assert_eq!(logged().lines().count(), entries);
}

fn branch(user: &User, project: &Project, name: &str, body: &Value) -> crate::harness::Answer {
    user.patch(&project.on(name, ""), body)
}

#[test]
fn a_renamed_branch_keeps_its_snapshots() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "two");
    project.add_branch("other");
    let reader = daemon.reader(&project);
    let mut expected = project.branch_item("main");
    let renamed = branch(&alice, &project, "main", &json!({ "name": "release/1" }));
    let renamed = renamed.expect_status(200);
    let shown = renamed.json();
    assert!(renamed.header("ETag").is_some());
    expected["name"] = json!("release/1");
    expected["default"] = json!(false);
    expected["protected"] = json!(false);
    for field in ["web_url", "commit"] {
        expected[field] = shown[field].clone();
    }
    assert_eq!(shown, expected);
    assert_eq!(project.branch_item("release/1"), shown);
    assert_eq!(project.versions("release/1"), ["v0002", "v0001"]);
    alice.get(&project.on("main", "/tree")).assert_refused(404);
    assert_eq!(
        alice.get(&project.admin("")).json()["default_branch"],
        "other"
    );
    let at = |reference: &str| {
        let target = format!("/files/a.xml/raw?ref={}", segment(reference));
        reader.get(&project.read(&target))
    };
    assert_eq!(at("release/1").expect_status(200).body, b"two");
    assert_eq!(at("release/1@v0002").expect_status(200).body, b"one");
    at("main").assert_refused(404);
    // The old name is free, and the new one is deleted and restored as any.
    project.add_branch("main");
    assert_eq!(project.versions("main"), [""; 0]);
    project.save("release/1", "a.xml", "three");
    alice.delete(&project.on("release/1", "")).assert_empty(204);
    let deleted = alice.get(&format!("{ADMIN}/deleted")).json();
    assert_eq!(deleted[0]["branch"], "release/1");
    let id = segment(deleted[0]["id"].as_str().unwrap());
    let restore = format!("{ADMIN}/deleted/{id}/restore");
    alice.request("POST", &restore).send().expect_status(200);
    assert_eq!(project.versions("release/1"), ["v0003", "v0002", "v0001"]);
}

#[test]
fn a_branch_is_renamed_on_condition_and_by_whom_may_write_and_delete() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    project.save("main", "a.xml", "one");
    project.add_branch("taken");
    let body = json!({ "name": "new" });
    for refused in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": "taken" }),
        json!({ "name": "a..b" }),
        json!({ "name": "HEAD" }),
        json!({ "name": "x".repeat(256) }),
        json!({ "name": 1 }),
        json!({ "name": "new", "default": true }),
    ] {
        branch(&alice, &project, "main", &refused).assert_refused(400);
    }
    branch(&alice, &project, "none", &body).assert_refused(404);
    let stale = alice.with("If-Match", "\"0123456789012345678901234567890123456789\"");
    let refused = branch(&stale, &project, "main", &body);
    refused.assert_refused(412);
    let tag = refused.header("ETag").expect("the present one").to_owned();
    for roles in [&["ROLE_SITEBUILDER_EDITOR__READONLY"][..], &[]] {
        let user = daemon.user(&format!("user-{}", roles.len()), roles);
        branch(&user, &project, "main", &body).assert_refused(403);
    }
    let same = branch(&alice, &project, "main", &json!({ "name": "main" }));
    same.expect_status(200);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    let current = bob.with("If-Match", &tag);
    branch(&current, &project, "main", &body).expect_status(200);
    assert_eq!(project.versions("new"), ["v0001"]);
}
