//! Projects: specification sections 2 and 4.2, contract sections 3 and 6.

use serde_json::json;

use crate::gitlab_walk::{by_links, elements};
use crate::harness::{ADMIN, Daemon, Project, User, masked, segment};

const PROJECTS: &str = "/site-builder/api/projects";

/// The repo ids of a listing.
#[track_caller]
fn listed(user: &User, query: &str) -> Vec<String> {
    let projects = user.get(&format!("{PROJECTS}{query}")).expect_status(200);
    let id = |project: &serde_json::Value| project["repo_id"].as_str().unwrap().to_owned();
    projects.json().as_array().unwrap().iter().map(id).collect()
}

#[test]
fn a_user_creates_a_project_and_owns_it() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let answer = alice.post(PROJECTS, &json!({ "name": "acme/shop", "type": "erp" }));
    assert_eq!(answer.status, 201);
    let created = answer.json();
    assert_eq!(
        masked(created.clone()),
        json!({
            "repo_id": "acme/shop.erp",
            "id": 1,
            "name": "acme/shop",
            "type": "erp",
            "owner": "alice",
            "default_branch": null,
            "branches": 0,
            "files": 0,
            "bytes": 0,
            "created_at": "<time>",
            "updated_at": "<time>",
            "updated_by": null,
            "permissions": {
                "read": true,
                "write": true,
                "delete": true,
                "rollback": true,
                "tokens": true,
                "manage": true,
            },
        })
    );
    alice
        .get(&format!("{PROJECTS}/acme%2Fshop.erp"))
        .assert_json(200, &created);
    alice.get(PROJECTS).assert_json(200, &json!([created]));
}

#[test]
fn a_listing_has_the_callers_own_projects_only() {
    let daemon = Daemon::start();
    let (alice, bob) = (daemon.user("alice", &[]), daemon.user("bob", &[]));
    for name in ["b", "a/z", "a"] {
        Project::create(&alice, name);
    }
    Project::create(&bob, "acme/shop");
    assert_eq!(listed(&alice, ""), ["a.erp", "a/z.erp", "b.erp"]);
    assert_eq!(listed(&bob, ""), ["acme/shop.erp"]);
    assert_eq!(listed(&daemon.session("admin"), ""), [""; 0]);
}

#[test]
fn a_listing_can_add_what_roles_open() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for name in ["acme/shop", "acmefoo", "other"] {
        Project::create(&alice, name);
    }
    let public = daemon.user("paul", &["ROLE_SITEBUILDER_EDITOR__PUBLIC"]);
    Project::create(&public, "public/forms");
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    Project::create(&bob, "mine");
    assert_eq!(listed(&bob, ""), ["mine.erp"]);
    assert_eq!(
        listed(&bob, "?scope=accessible"),
        ["acme/shop.erp", "mine.erp", "public/forms.erp"]
    );
    let all = [
        "acme/shop.erp",
        "acmefoo.erp",
        "mine.erp",
        "other.erp",
        "public/forms.erp",
    ];
    let auditor = daemon.user("audit", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    assert_eq!(listed(&auditor, "?scope=accessible"), all);
    assert_eq!(listed(&daemon.session("admin"), "?scope=accessible"), all);
}

#[test]
fn a_name_is_taken_once_for_everybody() {
    let daemon = Daemon::start();
    let (alice, bob) = (daemon.user("alice", &[]), daemon.user("bob", &[]));
    let body = json!({ "name": "acme/shop", "type": "erp" });
    alice.post(PROJECTS, &body).expect_status(201);
    alice.post(PROJECTS, &body).assert_refused(400);
    bob.post(PROJECTS, &body).assert_refused(400);
    let other_type = json!({ "name": "acme/shop", "type": "web" });
    alice.post(PROJECTS, &other_type).expect_status(201);
    assert_eq!(listed(&alice, ""), ["acme/shop.erp", "acme/shop.web"]);
    assert_eq!(listed(&bob, ""), [""; 0]);
}

#[test]
fn malformed_names_and_types_are_refused() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let long = "x".repeat(101);
    for name in [
        "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "-a", "a/-b", "a.", "a b", "a:b",
        "a%b", "a\\b", "a\u{0}", "a\nb", &long,
    ] {
        let body = json!({ "name": name, "type": "erp" });
        alice.post(PROJECTS, &body).assert_refused(400);
    }
    let long = "t".repeat(33);
    for kind in ["", "ERP", "-e", "_e", "e.p", "e/p", "e p", "ерп", &long] {
        let body = json!({ "name": "acme", "type": kind });
        alice.post(PROJECTS, &body).assert_refused(400);
    }
    assert_eq!(listed(&alice, ""), [""; 0]);
}

#[test]
fn ordinary_names_are_taken_as_they_are() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let longest = "x".repeat(100);
    for name in [
        "a",
        "acme/shop/eu",
        "v1.2",
        "a_b-c",
        "Склад",
        "UPPER",
        &longest,
    ] {
        let project = Project::create(&alice, name);
        let answer = alice.get(&project.admin("")).expect_status(200).json();
        assert_eq!(answer["name"], name);
        assert_eq!(answer["repo_id"], format!("{name}.erp"));
    }
}

#[test]
fn a_project_says_which_branch_is_its_default() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/shop");
    let default = || project.user.get(&project.admin("")).json()["default_branch"].clone();
    assert_eq!(default(), json!(null));
    for (branch, expected) in [
        ("test", "test"),
        ("dev", "dev"),
        ("main", "main"),
        ("master", "master"),
    ] {
        project.add_branch(branch);
        assert_eq!(default(), json!(expected));
    }
}

#[test]
fn a_deleted_project_is_gone_with_all_it_had() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    project.user.delete(&project.admin("")).assert_empty(204);
    for target in [
        project.admin(""),
        project.admin("/branches"),
        project.on("main", "/tree"),
        project.file("main", "a.xml"),
    ] {
        project.user.get(&target).assert_refused(404);
    }
    project.user.delete(&project.admin("")).assert_refused(404);
    let answer = reader.get(&project.read("/tree"));
    assert!(matches!(answer.status, 403 | 404), "{answer:?}");
    assert_eq!(listed(&project.user, ""), [""; 0]);

    let again = Project::create(&project.user, "acme/shop");
    assert_ne!(again.number, project.number);
    again
        .user
        .get(&again.admin("/branches"))
        .assert_json(200, &json!([]));
}

/// A proxy may have decoded the slash of its name.
#[test]
fn a_project_is_found_by_its_name_with_literal_slashes() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/eu/shop");
    let (alice, literal) = (&project.user, format!("{PROJECTS}/acme/eu/shop.erp"));
    let created = alice.get(&project.admin("")).expect_status(200).json();
    alice.get(&literal).assert_json(200, &created);
    alice
        .post(&format!("{literal}/branches"), &json!({ "name": "main" }))
        .expect_status(201);
    let file = format!("{literal}/branches/main/files/config/a.xml");
    assert_eq!(alice.put(&file, b"x").status, 201);
    let saved = alice.get(&project.file("main", "config/a.xml"));
    assert_eq!(saved.expect_status(200).body, b"x");
    assert_eq!(alice.delete(&literal).status, 204);
}

#[test]
fn another_users_project_is_forbidden_and_an_absent_one_not_found() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let bob = daemon.user("bob", &[]);
    for rest in [
        "",
        "/branches",
        "/branches/main/tree",
        "/branches/none/tree",
    ] {
        bob.get(&project.admin(rest)).assert_refused(403);
        bob.get(&format!("{ADMIN}/projects/none.erp{rest}"))
            .assert_refused(404);
    }
    bob.delete(&project.admin("")).assert_refused(403);
    project.user.get(&project.admin("")).expect_status(200);
}

#[test]
fn a_malformed_project_in_a_path_is_a_bad_request() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for id in [
        "a b.erp", "-a.erp", "../a.erp", "a//b.erp", "none", ".erp", "a..erp/b",
    ] {
        let target = format!("{ADMIN}/projects/{}", segment(id));
        alice.get(&target).assert_refused(400);
    }
    for target in ["%2e%2e%2f%2e%2e", "%zz.erp", "%ff.erp", "a%00.erp"] {
        alice
            .get(&format!("{ADMIN}/projects/{target}"))
            .assert_refused(400);
    }
}

#[test]
fn a_project_tells_what_it_holds_and_who_changed_it() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    project.save("main", "a.xml", "12345");
    project.add_branch("dev");
    let seen = project.seen_by(&bob);
    seen.save("main", "b/c.xml", "123");
    seen.save("dev", "b.xml", "1");
    let told = |user: &User| {
        let project = user.get(&project.admin("")).expect_status(200).json();
        let fields = ["default_branch", "branches", "files", "bytes", "updated_by"];
        json!(fields.map(|field| project[field].clone()))
    };
    assert_eq!(told(&alice), json!(["main", 2, 3, 9, "bob"]));
    project.save("main", "a.xml", "1");
    assert_eq!(told(&bob), json!(["main", 2, 3, 5, "alice"]));
    let main = project.branch_item("main");
    assert_eq!(main["files"], 2);
    let whole = alice.get(&project.admin("")).json();
    assert_eq!(whole["updated_at"], main["updated_at"]);
    alice.get(PROJECTS).assert_json(200, &json!([whole]));
}

#[test]
fn projects_are_found_by_a_part_of_their_name_in_any_case() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for name in ["acme/Shop", "acme/depot", "Склад", "shop2"] {
        Project::create(&alice, name);
    }
    for (search, found) in [
        ("shop", &["acme/Shop.erp", "shop2.erp"][..]),
        ("SHOP", &["acme/Shop.erp", "shop2.erp"]),
        ("e%2Fd", &["acme/depot.erp"]),
        ("%D0%A1%D0%9A%D0%9B", &["Склад.erp"]),
        (
            ".erp",
            &["acme/Shop.erp", "acme/depot.erp", "shop2.erp", "Склад.erp"],
        ),
        (
            "",
            &["acme/Shop.erp", "acme/depot.erp", "shop2.erp", "Склад.erp"],
        ),
        ("*", &[]),
        ("no%20such", &[]),
    ] {
        assert_eq!(
            listed(&alice, &format!("?search={search}")),
            found,
            "{search}"
        );
    }
    let page = alice.get(&format!("{PROJECTS}?search=shop&per_page=1&page=2"));
    assert_eq!(page.header("X-Total"), Some("2"));
    assert_eq!(elements(&page)[0]["repo_id"], "shop2.erp");
    let walked = by_links(
        &alice,
        &format!("{ADMIN}/projects?search=shop&per_page=1&pagination=keyset"),
    );
    assert_eq!(walked.len(), 2);
    assert_eq!(listed(&daemon.session("admin"), "?search=shop"), [""; 0]);
}

#[test]
fn a_list_of_projects_is_sent_once_and_compressed() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for name in ["a", "b", "c", "d", "e"] {
        Project::create(&alice, name);
    }
    let first = alice.get(PROJECTS).expect_status(200);
    let tag = first.header("ETag").expect("a tag").to_owned();
    let again = alice.with("If-None-Match", &tag).get(PROJECTS);
    again.assert_empty(304);
    let zipped = alice.with("Accept-Encoding", "gzip").get(PROJECTS);
    assert_eq!(zipped.header("Content-Encoding"), Some("gzip"));
    Project::create(&alice, "f");
    let changed = alice.with("If-None-Match", &tag).get(PROJECTS);
    assert_eq!(elements(&changed).len(), 6);
}

#[test]
fn public_projects_are_made_by_public_editors() {
    let daemon = Daemon::start();
    let body = json!({ "name": "public/forms", "type": "erp" });
    let alice = daemon.user("alice", &[]);
    alice.post(PROJECTS, &body).assert_refused(403);
    let paul = daemon.user("paul", &["ROLE_SITEBUILDER_EDITOR__PUBLIC"]);
    paul.post(PROJECTS, &body).expect_status(201);
    let by_root = json!({ "name": "public/help", "type": "erp" });
    daemon
        .session("admin")
        .post(PROJECTS, &by_root)
        .expect_status(201);
    alice
        .get(&format!("{PROJECTS}/public%2Fforms.erp"))
        .expect_status(200);
}

#[test]
fn projects_come_whole_or_in_pages() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for name in ["c", "a", "e", "b", "d"] {
        Project::create(&alice, name);
    }
    let target = format!("{ADMIN}/projects");
    let whole = alice.get(&target).expect_status(200);
    let ids: Vec<_> = elements(&whole)
        .iter()
        .map(|project| project["repo_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["a.erp", "b.erp", "c.erp", "d.erp", "e.erp"]);
    assert_eq!(whole.header("X-Total"), Some("5"));
    assert_eq!(whole.header("Link"), None);
    for paging in [
        "per_page=2",
        "per_page=2&pagination=keyset&scope=accessible",
    ] {
        let found = by_links(&alice, &format!("{target}?{paging}"));
        assert_eq!(found, elements(&whole), "{paging}");
    }
    let second = alice.get(&format!("{target}?page=2&per_page=2"));
    assert_eq!(second.header("X-Total-Pages"), Some("3"));
    assert_eq!(elements(&second)[0]["repo_id"], "c.erp");
    let past = alice.get(&format!("{target}?page=9"));
    past.assert_json(200, &json!([]));
    let refused = alice.get(&format!("{target}?per_page=0"));
    refused.assert_error(400, "per_page has a value not allowed");
    let refused = alice.get(&format!("{target}?page=1&page=2"));
    refused.assert_error(400, "parameter \"page\" is given twice");
}
