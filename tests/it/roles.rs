//! The role table of specification section 5.4, cell by cell: who may do what to which project.

use serde_json::json;

use crate::harness::{Answer, Daemon, Project, User, soon};

const USER: &str = "ROLE_SITEBUILDER_USER";
const PUBLIC: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
const READONLY: &str = "ROLE_SITEBUILDER_EDITOR__READONLY";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";

/// What an account may do to a project.
#[derive(Clone, Copy, Debug, PartialEq)]
enum May {
    /// Read, list, write, delete, roll back.
    All,
    /// Read and list.
    Read,
    /// Nothing: 403.
    Nothing,
}

use May::{All, Nothing, Read};

/// A project that the table speaks of; each has a branch `main` with `a.xml` and two snapshots.
struct Projects {
    /// `acme/shop.erp` of alice.
    shop: Project,
    /// `public/forms.erp` of paul.
    public: Project,
}

impl Projects {
    fn create(daemon: &Daemon) -> Self {
        let fill = |owner: &User, name: &str| {
            let project = Project::with_main(owner, name);
            project.save("main", "a.xml", "one");
            project.save("main", "a.xml", "two");
            project
        };
        Self {
            shop: fill(&daemon.user("alice", &[]), "acme/shop"),
            public: fill(&daemon.user("paul", &[PUBLIC]), "public/forms"),
        }
    }
}

/// Each row: what it shows, the account's roles, its rights on `acme/shop.erp` of somebody else and
/// on a public project.
const TABLE: [(&str, &[&str], May, May); 20] = [
    ("no role", &[], Nothing, Read),
    ("user", &[USER], Nothing, Read),
    (
        "prefix equal to the repo id",
        &["ROLE_SITEBUILDER_USER__acme/shop.erp"],
        All,
        Read,
    ),
    (
        "prefix without the type",
        &["ROLE_SITEBUILDER_USER__acme/shop"],
        All,
        Read,
    ),
    (
        "prefix of the group",
        &["ROLE_SITEBUILDER_USER__acme"],
        All,
        Read,
    ),
    (
        "prefix that is a part of the group",
        &["ROLE_SITEBUILDER_USER__acm"],
        Nothing,
        Read,
    ),
    (
        "prefix that is a part of the name",
        &["ROLE_SITEBUILDER_USER__acme/sho"],
        Nothing,
        Read,
    ),
    (
        "prefix longer than the name",
        &["ROLE_SITEBUILDER_USER__acme/shop2"],
        Nothing,
        Read,
    ),
    (
        "prefix of another type",
        &["ROLE_SITEBUILDER_USER__acme/shop.web"],
        Nothing,
        Read,
    ),
    (
        "prefix below the name",
        &["ROLE_SITEBUILDER_USER__acme/shop/eu"],
        Nothing,
        Read,
    ),
    (
        "prefix in another case",
        &["ROLE_SITEBUILDER_USER__ACME"],
        Nothing,
        Read,
    ),
    (
        "prefix of the last segment",
        &["ROLE_SITEBUILDER_USER__shop"],
        Nothing,
        Read,
    ),
    (
        "prefix of the type",
        &["ROLE_SITEBUILDER_USER__erp"],
        Nothing,
        Read,
    ),
    ("public editor", &[PUBLIC], Nothing, All),
    ("auditor", &[READONLY], Read, Read),
    ("root", &[ROOT], All, All),
    (
        "auditor and prefix",
        &[READONLY, "ROLE_SITEBUILDER_USER__acme"],
        All,
        Read,
    ),
    ("auditor and public editor", &[READONLY, PUBLIC], Read, All),
    ("root and auditor", &[ROOT, READONLY], All, All),
    (
        "two prefixes",
        &["ROLE_SITEBUILDER_USER__x", "ROLE_SITEBUILDER_USER__acme"],
        All,
        Read,
    ),
];

/// Tries every action on a project, and compares with what the account may do.
#[track_caller]
fn assert_rights(project: &Project, may: May, case: &str) {
    let user = &project.user;
    let rollback = project.on("main", "/rollback?to=v0002");
    let batch = json!({ "actions": [
        { "action": "create", "file_path": "batch.xml", "content": "x" },
        { "action": "delete", "file_path": "batch.xml" },
    ] });
    let branch = json!({ "name": "of-the-test" });
    let reads: [(&str, Answer); 10] = [
        ("read", user.get(&project.file("main", "a.xml"))),
        ("list", user.get(&project.on("main", "/tree"))),
        ("list branches", user.get(&project.admin("/branches"))),
        ("read branch", user.get(&project.on("main", ""))),
        ("list history", user.get(&project.on("main", "/history"))),
        ("watch branch", user.head(&project.on("main", "/events"))),
        ("watch branches", user.head(&project.admin("/events"))),
        ("archive", user.get(&project.on("main", "/archive.zip"))),
        (
            "read snapshot",
            user.get(&project.on("main", "/snapshots/v0002/files/a.xml")),
        ),
        (
            "compare",
            user.get(&project.on("main", "/diff?from=v0001&to=v0002")),
        ),
    ];
    let changes: [(&str, Answer); 7] = [
        ("write", user.put(&project.file("main", "b.xml"), b"x")),
        ("delete", user.delete(&project.file("main", "b.xml"))),
        ("batch", user.post(&project.on("main", "/batch"), &batch)),
        (
            "rehearse rollback",
            user.request("POST", &format!("{rollback}&dry_run=1"))
                .send(),
        ),
        ("roll back", user.request("POST", &rollback).send()),
        (
            "create branch",
            user.post(&project.admin("/branches"), &branch),
        ),
        ("delete branch", user.delete(&project.on("of-the-test", ""))),
    ];
    for (action, answer) in reads {
        assert_right(&answer, may != Nothing, case, action);
    }
    for (action, answer) in changes {
        if action == "rehearse rollback" && may == Read {
            assert!(matches!(answer.status, 200 | 403), "{case}: {answer:?}");
        } else {
            assert_right(&answer, may == All, case, action);
        }
    }
}

#[track_caller]
fn assert_right(answer: &Answer, allowed: bool, case: &str, action: &str) {
    if allowed {
        assert!(answer.status < 300, "{case} may {action}: {answer:?}");
    } else {
        assert_eq!(answer.status, 403, "{case} may not {action}: {answer:?}");
    }
}

#[test]
fn every_role_opens_what_the_table_says_and_nothing_else() {
    let daemon = Daemon::start();
    let projects = Projects::create(&daemon);
    for (row, (case, roles, on_shop, on_public)) in TABLE.iter().enumerate() {
        let user = daemon.user(&format!("user-{row}"), roles);
        for (project, may) in [(&projects.shop, on_shop), (&projects.public, on_public)] {
            let before = project.versions("main").len();
            let case = format!("{case} on {}", project.id);
            assert_rights(&project.seen_by(&user), *may, &case);
            if *may != All {
                assert_eq!(project.versions("main").len(), before, "{case}");
            }
        }
    }
}

/// A project of its own for each try of something that cannot be tried twice.
fn fresh(owner: &User, name: &str) -> Project {
    let project = Project::with_main(owner, name);
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "two");
    project
}

/// Tries what a permission is about, and tells the status of each try.
fn tries(permission: &str, owner: &User, user: &User, name: &str) -> Vec<u16> {
    let project = fresh(owner, name).seen_by(user);
    let file = project.file("main", "a.xml");
    let batch = json!({ "actions": [
        { "action": "create", "file_path": "b.xml", "content": "x" },
    ] });
    let token = json!({ "name": "t", "repos": [project.id] });
    let rollback = project.on("main", "/rollback?to=v0002");
    let answers = match permission {
        "read" => vec![
            user.get(&project.admin("")),
            user.get(&project.admin("/branches")),
            user.get(&file),
        ],
        "write" => vec![
            user.post(&project.admin("/branches"), &json!({ "name": "dev" })),
            user.put(&file, b"three"),
            user.post(&project.on("main", "/batch"), &batch),
        ],
        "delete" => vec![
            user.delete(&file),
            user.delete(&project.on("main", "")),
            user.delete(&project.admin("")),
        ],
        "rollback" => vec![user.request("POST", &rollback).send()],
        "tokens" => vec![user.post("/site-builder/api/tokens", &token)],
        "manage" => {
            owner.delete(&project.admin("")).expect_status(204);
            let deleted = owner.get("/site-builder/api/deleted").json();
            let mut deleted = deleted.as_array().unwrap().iter();
            let id = deleted.find(|one| one["repo_id"] == project.id.as_str());
            let id = id.expect("its owner sees it")["id"].as_str().unwrap();
            let restore = format!("/site-builder/api/deleted/{id}/restore");
            let restored = user.request("POST", &restore).send();
            if restored.status == 404 {
                owner.request("POST", &restore).send().expect_status(200);
            }
            vec![restored]
        }
        other => panic!("{other} is tried nowhere"),
    };
    answers.iter().map(|answer| answer.status).collect()
}

#[test]
fn what_the_permissions_say_is_what_happens() {
    let daemon = Daemon::start();
    let mut seen = Vec::new();
    for (row, (roles, owner_roles, name)) in [
        (&["ROLE_SITEBUILDER_USER__acme"][..], &[][..], "acme/shop"),
        (&[READONLY], &[], "acme/shop"),
        (&[ROOT], &[], "acme/shop"),
        (&[], &[PUBLIC], "public/forms"),
        (&[PUBLIC], &[PUBLIC], "public/forms"),
        (&[], &[], "own"),
        (&[USER], &[], "acme/shop"),
        // Somebody who lost the role under which the project was made.
        (&[], &[PUBLIC], "public/lost"),
    ]
    .iter()
    .enumerate()
    {
        let owner = daemon.user(&format!("owner-{row}"), owner_roles);
        let is_own = matches!(*name, "own" | "public/lost");
        let user = if is_own {
            owner.clone()
        } else {
            daemon.user(&format!("user-{row}"), roles)
        };
        let project = fresh(&owner, &format!("{name}{row}"));
        if *name == "public/lost" {
            let account = format!("owner-{row}");
            daemon.run(&["user", "role", "remove", &account, PUBLIC], "");
            soon(|| user.get(&project.admin("")).json()["permissions"]["write"] == false);
        }
        let answer = user.get(&project.admin(""));
        if answer.status != 200 {
            assert_eq!(answer.status, 403, "{roles:?}");
            continue;
        }
        let said = answer.json()["permissions"].clone();
        let branch = &user.get(&project.admin("/branches")).json()[0];
        assert_eq!(branch["permissions"], said, "{roles:?}");
        assert_eq!(branch["can_push"], said["write"], "{roles:?}");
        let listed = user.get("/site-builder/api/projects?scope=accessible");
        let listed = listed.json();
        let mut listed = listed.as_array().unwrap().iter();
        let item = listed.find(|item| item["repo_id"] == project.id.as_str());
        assert_eq!(item.expect("it is listed")["permissions"], said);
        if *name != "public/lost" {
            for (permission, may) in said.as_object().unwrap() {
                let name = format!("{name}{row}/{permission}");
                for status in tries(permission, &owner, &user, &name) {
                    let refused = if permission == "manage" { 404 } else { 403 };
                    let expected = if may == true {
                        status < 300
                    } else {
                        status == refused
                    };
                    assert!(expected, "{roles:?} {permission} {may}: {status}");
                }
            }
        }
        seen.push(said);
    }
    let rights = |[read, write, delete, rollback, tokens, manage]: [bool; 6]| {
        json!({
            "read": read,
            "write": write,
            "delete": delete,
            "rollback": rollback,
            "tokens": tokens,
            "manage": manage,
        })
    };
    let reads = rights([true, false, false, false, true, false]);
    let changes = rights([true, true, true, true, true, false]);
    let all = rights([true; 6]);
    let expected = [&changes, &reads, &all, &reads, &changes, &all, &reads];
    assert_eq!(json!(seen), json!(expected));
}

#[test]
fn an_owner_may_do_everything_whatever_the_role() {
    let daemon = Daemon::start();
    for (row, roles) in [
        &[] as &[&str],
        &[USER],
        &["ROLE_SITEBUILDER_USER__other"],
        &[ROOT],
    ]
    .iter()
    .enumerate()
    {
        let owner = daemon.user(&format!("owner-{row}"), roles);
        let project = Project::with_main(&owner, &format!("own-{row}"));
        project.save("main", "a.xml", "one");
        project.save("main", "a.xml", "two");
        assert_rights(&project, All, &format!("owner with {roles:?}"));
        owner.delete(&project.admin("")).assert_empty(204);
    }
}

#[test]
fn a_token_is_given_only_for_what_its_owner_reads() {
    let daemon = Daemon::start();
    let projects = Projects::create(&daemon);
    for (row, (case, roles, on_shop, on_public)) in TABLE.iter().enumerate() {
        let user = daemon.user(&format!("user-{row}"), roles);
        for (project, may) in [(&projects.shop, on_shop), (&projects.public, on_public)] {
            let body = json!({ "name": "t", "repos": [project.id] });
            let answer = user.post("/site-builder/api/tokens", &body);
            if *may == Nothing {
                assert_eq!(answer.status, 403, "{case}: {answer:?}");
                continue;
            }
            let token = answer.expect_status(201).json();
            let holder = daemon.token(token["tokenString"].as_str().unwrap());
            for target in [project.raw("a.xml"), project.read("/tree")] {
                let answer = holder.get(&target);
                assert_eq!(answer.status, 200, "{case}: {answer:?}");
            }
        }
    }
}

#[test]
fn a_prefix_covers_a_group_and_not_its_neighbours() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    for (name, covered) in [
        ("acme", true),
        ("acme/shop", true),
        ("acme/shop/eu", true),
        ("acmefoo", false),
        ("acme2/shop", false),
        ("acme-x", false),
        ("acme.x", false),
        ("Acme", false),
        ("x/acme", false),
    ] {
        let project = Project::with_main(&alice, name);
        let answer = bob.put(&project.file("main", "a.xml"), b"x");
        let expected = if covered { 201 } else { 403 };
        assert_eq!(answer.status, expected, "{name}: {answer:?}");
    }
}

#[test]
fn a_role_does_not_open_what_is_not_there() {
    let daemon = Daemon::start();
    let projects = Projects::create(&daemon);
    let shop = projects.shop.seen_by(&daemon.session("admin"));
    shop.user.get(&shop.on("none", "/tree")).assert_refused(404);
    shop.user
        .get("/site-builder/api/projects/none.erp/branches")
        .assert_refused(404);
}

#[test]
fn an_unknown_role_cannot_be_given() {
    let daemon = Daemon::start();
    for role in ["ROLE_ADMIN", "ROLE_SITEBUILDER_USER__", "root", ""] {
        let output = daemon.command(
            &["user", "add", "alice", "--password-stdin", "--role", role],
            "long enough\n",
        );
        assert!(!output.status.success(), "{role}");
    }
}
