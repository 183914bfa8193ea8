//! What a token opens: specification sections 5.1 and 7, contract section 5.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, READ, User, segment, soon};

const UNAUTHORIZED: &str = "401 Unauthorized";
const FORBIDDEN: &str = "403 Forbidden";
const NO_PROJECT: &str = "404 Project Not Found";

/// A token of the owner with these repos.
fn token(daemon: &Daemon, owner: &User, repos: &Value) -> User {
    let token = owner.issue(&json!({ "name": "t", "repos": repos }));
    daemon.token(token["tokenString"].as_str().unwrap())
}

/// Asks for the tree of a project by any spelling of its id.
fn tree(user: &User, id: &str) -> Answer {
    user.get(&format!("{READ}/projects/{}/repository/tree", segment(id)))
}

/// Alice's project `acme/shop`, with a branch.
fn shop(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

#[test]
fn a_request_without_a_good_token_is_unauthorized() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let good = daemon.reader(&shop);
    let good = good.credential();
    let anonymous = daemon.anonymous();
    for (user, case) in [
        (anonymous.clone(), "none"),
        (daemon.token(""), "empty"),
        (daemon.token(&good[1..]), "63 digits"),
        (daemon.token(&format!("{good}0")), "65 digits"),
        (daemon.token(&"0".repeat(64)), "unknown"),
        (daemon.token(&"g".repeat(64)), "no hexadecimal"),
        (daemon.token(&good.to_uppercase()), "upper case"),
        (daemon.token(&format!("0x{good}")), "prefixed"),
        (daemon.token(&format!("\"{good}\"")), "quoted"),
        (daemon.token(&format!("{good},")), "comma"),
        (daemon.token(&"a".repeat(10_000)), "long"),
        (anonymous.with("JOB-TOKEN", good), "job token"),
        (anonymous.with("Authorization", good), "no scheme"),
        (
            anonymous.with("Authorization", &format!("Basic {good}")),
            "basic",
        ),
        (anonymous.with("Authorization", "Bearer "), "empty bearer"),
        (
            anonymous.with("Cookie", &format!("PRIVATE-TOKEN={good}")),
            "cookie",
        ),
    ] {
        for rest in ["/tree", "/branches", "/files/a.xml/raw"] {
            let answer = user.get(&shop.read(rest));
            assert_eq!(answer.status, 401, "{case}");
            answer.assert_error(401, UNAUTHORIZED);
        }
    }
    for query in ["private_token", "access_token", "token"] {
        let target = shop.read(&format!("/tree?{query}={good}"));
        anonymous.get(&target).assert_error(401, UNAUTHORIZED);
    }
}

#[test]
fn a_token_may_come_as_a_bearer() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let reader = daemon.reader(&shop);
    let good = reader.credential();
    let anonymous = daemon.anonymous();
    let bearer = |user: &User, token: &str| user.with("Authorization", &format!("Bearer {token}"));
    tree(&bearer(&anonymous, good), &shop.id).expect_status(200);
    tree(&bearer(&reader, good), &shop.id).expect_status(200);
    tree(
        &anonymous.with("authorization", &format!("bearer {good}")),
        &shop.id,
    )
    .expect_status(200);
    let other = "0".repeat(64);
    tree(&bearer(&reader, &other), &shop.id).assert_error(401, UNAUTHORIZED);
    tree(&bearer(&daemon.token(&other), good), &shop.id).assert_error(401, UNAUTHORIZED);
}

#[test]
fn two_token_lines_are_refused() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let reader = daemon.reader(&shop);
    let other = daemon.reader(&shop);
    for second in [reader.credential(), other.credential(), "nonsense"] {
        let answer = tree(&reader.with("PRIVATE-TOKEN", second), &shop.id);
        assert!(matches!(answer.status, 400 | 401), "{answer:?}");
    }
}

#[test]
fn an_allowlist_covers_what_it_names_and_hides_the_rest() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let other = Project::with_main(&shop.user, "acme/shop2");
    let reader = token(&daemon, &shop.user, &json!(["acme/shop.erp"]));
    tree(&reader, "acme/shop.erp").assert_json(200, &json!([]));
    tree(&reader, &shop.number.to_string()).assert_json(200, &json!([]));
    for outside in [
        "acme/shop2.erp",
        "acme/shop.web",
        "ACME/shop.erp",
        "none.erp",
        &other.number.to_string(),
        "999999",
    ] {
        tree(&reader, outside).assert_error(403, FORBIDDEN);
    }
}

#[test]
fn a_wildcard_covers_all_of_the_owners_projects() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let bob = daemon.user("bob", &[]);
    Project::with_main(&bob, "acme/bob");
    let wildcard = token(&daemon, &shop.user, &json!(["*"]));
    tree(&wildcard, "acme/shop.erp").expect_status(200);
    Project::with_main(&shop.user, "made/later");
    tree(&wildcard, "made/later.erp").expect_status(200);
    tree(&wildcard, "acme/bob.erp").assert_error(403, FORBIDDEN);
    tree(&wildcard, "none.erp").assert_error(404, NO_PROJECT);
    tree(&wildcard, "999999").assert_error(404, NO_PROJECT);
}

#[test]
fn a_wildcard_does_not_reach_what_a_role_opens() {
    let daemon = Daemon::start();
    shop(&daemon);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    let wildcard = token(&daemon, &bob, &json!(["*"]));
    tree(&wildcard, "acme/shop.erp").assert_error(403, FORBIDDEN);
    let named = token(&daemon, &bob, &json!(["acme/shop.erp"]));
    tree(&named, "acme/shop.erp").expect_status(200);
}

#[test]
fn an_empty_list_covers_nothing() {
    let daemon = Daemon::start();
    shop(&daemon);
    let shop_owner = daemon.session("alice");
    let nothing = token(&daemon, &shop_owner, &json!([]));
    for id in ["acme/shop.erp", "none.erp", "1"] {
        tree(&nothing, id).assert_error(403, FORBIDDEN);
    }
}

#[test]
fn a_named_project_that_is_gone_is_not_found() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let reader = daemon.reader(&shop);
    shop.user.delete(&shop.admin("")).assert_empty(204);
    let answer = tree(&reader, &shop.id);
    assert!(matches!(answer.status, 403 | 404), "{answer:?}");
    Project::with_main(&daemon.user("bob", &[]), "acme/shop");
    tree(&reader, &shop.id).assert_error(403, FORBIDDEN);
}

#[test]
fn an_expired_token_opens_nothing() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let body = json!({ "name": "t", "repos": ["*"], "expires_at": "2001-02-03" });
    let issued = shop.user.issue(&body);
    let holder = daemon.token(issued["tokenString"].as_str().unwrap());
    tree(&holder, &shop.id).assert_error(401, UNAUTHORIZED);
    let target = format!(
        "/site-builder/api/tokens/{}",
        issued["tokenId"].as_str().unwrap()
    );
    shop.user
        .patch(&target, &json!({ "expires_at": null }))
        .expect_status(200);
    tree(&holder, &shop.id).expect_status(200);
    shop.user
        .patch(&target, &json!({ "expires_at": 1 }))
        .expect_status(200);
    tree(&holder, &shop.id).assert_error(401, UNAUTHORIZED);
}

#[test]
fn a_revoked_token_opens_nothing_from_then_on() {
    let mut daemon = Daemon::start();
    let shop = shop(&daemon);
    let issued = shop.user.issue(&json!({ "name": "t", "repos": ["*"] }));
    let secret = issued["tokenString"].as_str().unwrap();
    tree(&daemon.token(secret), &shop.id).expect_status(200);
    let target = format!(
        "/site-builder/api/tokens/{}",
        issued["tokenId"].as_str().unwrap()
    );
    shop.user.delete(&target).assert_empty(204);
    tree(&daemon.token(secret), &shop.id).assert_error(401, UNAUTHORIZED);
    daemon.kill();
    daemon.restart();
    tree(&daemon.token(secret), &shop.id).assert_error(401, UNAUTHORIZED);
}

#[test]
fn a_change_of_repos_counts_at_once() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    Project::with_main(&shop.user, "other");
    let issued = shop.user.issue(&json!({ "name": "t", "repos": [shop.id] }));
    let holder = daemon.token(issued["tokenString"].as_str().unwrap());
    tree(&holder, &shop.id).expect_status(200);
    let target = format!(
        "/site-builder/api/tokens/{}",
        issued["tokenId"].as_str().unwrap()
    );
    let body = json!({ "repos": ["other.erp"] });
    shop.user.patch(&target, &body).expect_status(200);
    tree(&holder, &shop.id).assert_error(403, FORBIDDEN);
    tree(&holder, "other.erp").expect_status(200);
}

#[test]
fn the_tokens_of_a_disabled_owner_open_nothing() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let reader = daemon.reader(&shop);
    daemon.run(&["user", "disable", "alice"], "");
    soon(|| tree(&reader, &shop.id).status != 200);
    tree(&reader, &shop.id).assert_error(401, UNAUTHORIZED);
    daemon.run(&["user", "enable", "alice"], "");
    soon(|| tree(&reader, &shop.id).status == 200);
}

#[test]
fn a_token_opens_no_more_than_its_owner_may_read() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let role = "ROLE_SITEBUILDER_USER__acme";
    let bob = daemon.user("bob", &[role]);
    let named = token(&daemon, &bob, &json!(["acme/shop.erp"]));
    tree(&named, &shop.id).expect_status(200);
    daemon.run(&["user", "role", "remove", "bob", role], "");
    soon(|| tree(&named, &shop.id).status != 200);
    tree(&named, &shop.id).assert_error(403, FORBIDDEN);
}

#[test]
fn the_token_is_checked_before_the_project_and_the_project_before_the_rest() {
    let daemon = Daemon::start();
    let shop = shop(&daemon);
    let wildcard = token(&daemon, &shop.user, &json!(["*"]));
    for rest in ["/tree?ref=none", "/files/none/raw", "/branches"] {
        let absent = format!("{READ}/projects/none.erp/repository{rest}");
        daemon
            .anonymous()
            .get(&absent)
            .assert_error(401, UNAUTHORIZED);
        wildcard.get(&absent).assert_error(404, NO_PROJECT);
    }
}
