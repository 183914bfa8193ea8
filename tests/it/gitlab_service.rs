//! What clients of GitLab ask before they begin: the user, the version, the token, the projects.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gitlab_walk::{by_links, elements};
use crate::harness::{Daemon, Project, READ, READ_V4, User, masked, segment};

#[track_caller]
fn ask(reader: &User, rest: &str) -> Value {
    reader
        .get(&format!("{READ_V4}{rest}"))
        .expect_status(200)
        .json()
}

#[test]
fn the_user_is_the_owner_of_the_token() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/shop");
    let user = masked(ask(&daemon.reader(&project), "/user"));
    assert!(user["id"].is_u64());
    assert_eq!(
        user,
        json!({
            "id": user["id"],
            "username": "alice",
            "name": "alice",
            "state": "active",
            "locked": false,
            "avatar_url": null,
            // A client warns when this does not begin with the address that it was given.
            "web_url": format!("http://{}{READ}/user", daemon.address()),
            "created_at": "<time>",
            "bio": "",
            "public_email": "",
            "email": "",
            "bot": false,
            "external": false,
        })
    );
}

#[test]
fn the_version_is_one_that_clients_can_compare() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    let version = ask(&reader, "/version");
    assert_eq!(
        version,
        json!({
            "version": "17.11.0-siteconf",
            "revision": env!("CARGO_PKG_VERSION"),
            "kas": { "enabled": false, "externalUrl": null, "version": null },
            "enterprise": false,
        })
    );
    assert_eq!(ask(&reader, "/metadata"), version);
}

#[test]
fn a_token_shows_itself() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let issued = alice.issue(&json!({
        "name": "erp",
        "repos": ["*"],
        "expires_at": "2099-05-17T22:30:00+02:00",
    }));
    let reader = daemon.token(issued["tokenString"].as_str().unwrap());
    let shown = masked(ask(&reader, "/personal_access_tokens/self"));
    let number: u64 = issued["tokenId"].as_str().unwrap().parse().unwrap();
    assert_eq!(
        shown,
        json!({
            "id": number,
            "name": "erp",
            "revoked": false,
            "created_at": "<time>",
            "description": null,
            "scopes": ["read_api", "read_repository"],
            "user_id": ask(&reader, "/user")["id"],
            "last_used_at": "<time>",
            "active": true,
            "expires_at": "2099-05-17",
        })
    );
}

#[test]
fn all_of_these_want_a_token() {
    let daemon = Daemon::start();
    for rest in [
        "/user",
        "/version",
        "/metadata",
        "/personal_access_tokens/self",
        "/projects",
    ] {
        let answer = daemon.anonymous().get(&format!("{READ}{rest}"));
        answer.assert_error(401, "401 Unauthorized");
    }
}

#[test]
fn a_project_is_found_by_number_and_by_name() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    let id = segment(&project.id);
    let by_name = ask(&reader, &format!("/projects/{id}"));
    assert_eq!(by_name["empty_repo"], true);
    assert_eq!(by_name["default_branch"], Value::Null);
    project.add_branch("main");
    project.save("main", "a", "x");

    let url = format!("http://{}{READ}/projects/{id}", daemon.address());
    let mut by_name = masked(ask(&reader, &format!("/projects/{id}")));
    let namespace = by_name["namespace"]["id"].take();
    assert!((1 << 30..1 << 31).contains(&namespace.as_u64().unwrap()));
    let owner = ask(&reader, "/user")["id"].clone();
    assert_eq!(
        by_name,
        json!({
            "id": project.number,
            "description": null,
            "name": "shop",
            "name_with_namespace": "acme / shop",
            "path": "shop.erp",
            "path_with_namespace": "acme/shop.erp",
            "created_at": "<time>",
            "default_branch": "main",
            "tag_list": [],
            "topics": [],
            "ssh_url_to_repo": "",
            "http_url_to_repo": url,
            "web_url": url,
            "readme_url": null,
            "avatar_url": null,
            "forks_count": 0,
            "star_count": 0,
            "last_activity_at": "<time>",
            "namespace": {
                "id": null,
                "name": "acme",
                "path": "acme",
                "kind": "group",
                "full_path": "acme",
                "parent_id": null,
                "avatar_url": null,
                "web_url": format!("http://{}{READ}", daemon.address()),
            },
            "empty_repo": false,
            "archived": false,
            "visibility": "private",
            "creator_id": owner,
            "permissions": {
                "project_access": { "access_level": 20, "notification_level": 0 },
                "group_access": null,
            },
        })
    );
    // By number, in the spelling of gitlab4j, and as a decoding proxy leaves it.
    for spelling in [
        project.number.to_string(),
        "acme%2Fshop%2Eerp".into(),
        project.id.clone(),
    ] {
        let mut by_name = by_name.clone();
        by_name["namespace"]["id"] = namespace.clone();
        assert_eq!(
            masked(ask(&reader, &format!("/projects/{spelling}"))),
            by_name,
            "{spelling}"
        );
    }
}

#[test]
fn a_project_that_the_token_does_not_open_is_refused() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::create(&alice, "acme/shop");
    let other = Project::create(&alice, "acme/other");
    let reader = daemon.reader(&project);
    for id in [
        segment(&other.id),
        other.number.to_string(),
        "none.erp".into(),
    ] {
        let answer = reader.get(&format!("{READ}/projects/{id}"));
        answer.assert_error(403, "403 Forbidden");
    }
    let token = alice.issue(&json!({ "name": "all", "repos": ["*"] }));
    let reader = daemon.token(token["tokenString"].as_str().unwrap());
    let answer = reader.get(&format!("{READ}/projects/none.erp"));
    answer.assert_error(404, "404 Project Not Found");
}

#[test]
fn projects_are_those_of_the_token() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    for name in ["b/Shop", "a/shop", "plain", "a/прайс", "c"] {
        Project::create(&alice, name);
    }
    let bob = Project::create(&daemon.user("bob", &[]), "b/bobs");
    let token = alice.issue(&json!({ "name": "all", "repos": ["*"] }));
    let reader = daemon.token(token["tokenString"].as_str().unwrap());
    let names = |query: &str| -> Vec<String> {
        let listed = elements(&reader.get(&format!("{READ}/projects?{query}")));
        let name = |project: &Value| project["path_with_namespace"].as_str().unwrap().to_owned();
        listed.iter().map(name).collect()
    };
    let newest = [
        "c.erp",
        "a/прайс.erp",
        "plain.erp",
        "a/shop.erp",
        "b/Shop.erp",
    ];
    let mut oldest = newest;
    oldest.reverse();
    for (query, expected) in [
        ("", &newest as &[&str]),
        (
            "membership=true&simple=true&owned=true&statistics=1",
            &newest,
        ),
        ("order_by=id&sort=asc", &oldest),
        (
            "order_by=path&sort=asc",
            &[
                "a/shop.erp",
                "a/прайс.erp",
                "b/Shop.erp",
                "c.erp",
                "plain.erp",
            ],
        ),
        // Nobody gives stars.
        ("order_by=star_count&sort=asc", &oldest),
        ("order_by=star_count", &newest),
        ("order_by=similarity", &newest),
        (
            "order_by=similarity&search=.erp",
            &[
                "c.erp",
                "plain.erp",
                "a/shop.erp",
                "b/Shop.erp",
                "a/прайс.erp",
            ],
        ),
        ("search=SHOP", &["a/shop.erp", "b/Shop.erp"]),
        ("search=%D0%9F%D0%A0%D0%90", &["a/прайс.erp"]),
        ("search=bobs", &[]),
        ("search=", &newest),
        ("archived=false", &newest),
        ("archived=true", &[]),
        ("visibility=private", &newest),
        ("visibility=internal", &[]),
        ("visibility=public", &[]),
    ] {
        assert_eq!(names(query), expected, "{query}");
    }
    for style in [
        "page=1",
        "pagination=keyset&order_by=id",
        "pagination=keyset&sort=asc",
    ] {
        let target = format!("{READ}/projects?{style}");
        let whole = elements(&reader.get(&format!("{target}&per_page=100")));
        assert_eq!(whole.len(), 5);
        assert!(
            by_links(&reader, &format!("{target}&per_page=2")) == whole,
            "{style}"
        );
    }
    // A client that asks for what is beyond the last it has comes to an end.
    let rising = "pagination=keyset&order_by=id&sort=asc&per_page=2&id_after=";
    let mut walked = Vec::new();
    let mut last = json!(0);
    loop {
        let next = elements(&reader.get(&format!("{READ}/projects?{rising}{last}")));
        let Some(project) = next.last() else { break };
        last = project["id"].clone();
        walked.extend(next);
    }
    walked.reverse();
    assert_eq!(walked, elements(&reader.get(&format!("{READ}/projects"))));
    assert_eq!(names(&format!("id_before={last}")), newest[1..]);
    let plain = elements(&reader.get(&format!("{READ}/projects?search=plain")))[0].clone();
    assert_eq!(plain["namespace"]["kind"], "user");
    assert_eq!(plain["namespace"]["full_path"], "alice");
    let listed = elements(&daemon.reader(&bob).get(&format!("{READ}/projects")));
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], bob.number);
}

#[test]
fn owned_projects_are_those_of_the_owner_of_the_token() {
    let daemon = Daemon::start();
    let bobs = Project::create(&daemon.user("bob", &[]), "acme/bobs");
    let alice = daemon.user("alice", &["ROLE_SITEBUILDER_USER__acme"]);
    let own = Project::create(&alice, "own");
    let token = alice.issue(&json!({ "name": "both", "repos": [bobs.id, own.id] }));
    let reader = daemon.token(token["tokenString"].as_str().unwrap());
    let numbers = |query: &str| -> Vec<Value> {
        let listed = elements(&reader.get(&format!("{READ}/projects{query}")));
        listed.iter().map(|project| project["id"].clone()).collect()
    };
    let both = [own.number, bobs.number];
    for query in ["", "?owned=false", "?owned=", "?membership=true"] {
        assert_eq!(numbers(query), both, "{query}");
    }
    for query in ["?owned=true", "?owned=1&membership=1&per_page=1"] {
        assert_eq!(numbers(query), [own.number], "{query}");
    }
    let answer = reader.get(&format!("{READ}/projects?owned=x"));
    answer.assert_error(400, "owned is invalid");
}

#[test]
fn a_namespace_has_one_number_whoever_owns_its_projects() {
    let daemon = Daemon::start();
    let namespace = |owner: &str, name: &str| {
        let project = Project::create(&daemon.user(owner, &[]), name);
        let shown = ask(
            &daemon.reader(&project),
            &format!("/projects/{}", project.number),
        );
        (
            shown["namespace"]["id"].as_u64().unwrap(),
            shown["creator_id"].clone(),
        )
    };
    let (acme, alice) = namespace("alice", "acme/shop");
    let (of_bob, bob) = namespace("bob", "acme/other");
    assert_ne!(alice, bob);
    assert_eq!(acme, of_bob);
    // It follows from the path alone, and so is the same everywhere.
    assert_eq!(acme, 1_345_773_550);
    let (other, _) = namespace("carol", "other/shop");
    let (below, _) = namespace("dave", "acme/shop/a");
    let (own, erin) = namespace("erin", "plain");
    assert_eq!(own, erin);
    let distinct = BTreeSet::from([acme, other, below, own]);
    assert_eq!(distinct.len(), 4);
}

#[test]
fn a_project_has_no_tags() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "one");
    let reader = daemon.reader(&project);
    for (query, page, per_page) in [
        ("", "1", "20"),
        (
            "?order_by=version&sort=asc&search=%5Ev&page=2&per_page=5",
            "2",
            "5",
        ),
    ] {
        let answer = reader.get(&project.read(&format!("/tags{query}")));
        answer.assert_json(200, &json!([]));
        for (name, value) in [
            ("X-Page", page),
            ("X-Per-Page", per_page),
            ("X-Next-Page", ""),
            ("X-Total", "0"),
            ("X-Total-Pages", "1"),
            ("Cache-Control", "private, no-cache"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{query}: {name}");
        }
        assert_eq!(answer.header("Link").is_some(), !query.is_empty());
    }
    let bad = reader.get(&project.read("/tags?pagination=x"));
    bad.assert_error(400, "pagination does not have a valid value");
    for name in ["v1.0", "main@v0001", "release%2F1", "release/1"] {
        let answer = reader.get(&project.read(&format!("/tags/{name}")));
        answer.assert_error(404, "404 Tag Not Found");
    }
    let other = Project::with_main(&project.user, "acme/other");
    for rest in ["/tags", "/tags/v1.0"] {
        let nobody = daemon.anonymous().get(&project.read(rest));
        nobody.assert_error(401, "401 Unauthorized");
        let outside = reader.get(&other.read(rest));
        outside.assert_error(403, "403 Forbidden");
    }
}
