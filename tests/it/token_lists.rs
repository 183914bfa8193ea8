//! Tokens of a project, of others, and with another value.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, User, soon};

const TOKENS: &str = "/site-builder/api/tokens";

fn issue(user: &User, name: &str, repos: &[&str]) -> Value {
    user.issue(&json!({ "name": name, "repos": repos }))
}

/// Owner, name and repos of each token.
fn told(answer: &crate::harness::Answer) -> Vec<(String, String, Value)> {
    let text = |token: &Value, field: &str| token[field].as_str().unwrap().to_owned();
    let tokens = answer.json();
    let tokens = tokens.as_array().unwrap().iter();
    tokens
        .map(|token| {
            (
                text(token, "owner"),
                text(token, "name"),
                token["repos"].clone(),
            )
        })
        .collect()
}

fn row(owner: &str, name: &str, repos: &[&str]) -> (String, String, Value) {
    (owner.to_owned(), name.to_owned(), json!(repos))
}

#[test]
fn whoever_manages_a_project_sees_which_tokens_open_it() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    let shop = Project::with_main(&alice, "acme/shop");
    let secret = Project::with_main(&bob, "acme/secret");
    Project::create(&alice, "other");
    let all = issue(&alice, "all", &["*"]);
    issue(&alice, "elsewhere", &["other.erp"]);
    issue(&bob, "both", &[&secret.id, &shop.id]);
    issue(&bob, "own alone", &["*"]);
    let admin = daemon.session("admin");
    issue(&admin, "of root", &[&shop.id]);
    let listed = alice.get(&shop.admin("/tokens")).expect_status(200);
    let expected = [
        row("alice", "all", &["*"]),
        row("bob", "both", &["acme/shop.erp"]),
        row("admin", "of root", &["acme/shop.erp"]),
    ];
    assert_eq!(told(&listed), expected);
    assert_eq!(told(&admin.get(&shop.admin("/tokens"))), expected);
    assert!(!listed.text().contains(all["tokenString"].as_str().unwrap()));
    // Bob may work there, and auditors may look, but it is not theirs.
    bob.get(&shop.admin("/tokens")).assert_refused(403);
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    auditor.get(&shop.admin("/tokens")).assert_refused(403);
    daemon
        .user("eve", &[])
        .get(&shop.admin("/tokens"))
        .assert_refused(403);
    alice
        .get(&format!("{ADMIN}/projects/none.erp/tokens"))
        .assert_refused(404);
    // A token whose owner may not read the project any more does not open it.
    daemon.run(
        &[
            "user",
            "role",
            "remove",
            "bob",
            "ROLE_SITEBUILDER_USER__acme",
        ],
        "",
    );
    let seen = || told(&alice.get(&shop.admin("/tokens")));
    soon(|| seen().len() == 2);
}

#[test]
fn root_sees_and_revokes_the_tokens_of_others() {
    let daemon = Daemon::start();
    let (alice, bob) = (daemon.user("alice", &[]), daemon.user("bob", &[]));
    let admin = daemon.session("admin");
    let of_alice = issue(&alice, "a", &["*"]);
    issue(&bob, "b", &["*"]);
    issue(&admin, "r", &["*"]);
    let all = [
        row("alice", "a", &["*"]),
        row("bob", "b", &["*"]),
        row("admin", "r", &["*"]),
    ];
    assert_eq!(told(&admin.get(&format!("{TOKENS}?all=1"))), all);
    assert_eq!(told(&admin.get(&format!("{TOKENS}?owner=bob"))), all[1..2]);
    assert_eq!(told(&admin.get(TOKENS)), all[2..]);
    let page = admin.get(&format!("{TOKENS}?all=1&per_page=2&page=2"));
    assert_eq!(told(&page), all[2..]);
    assert_eq!(page.header("X-Total"), Some("3"));
    let walked = crate::gitlab_walk::by_links(
        &admin,
        &format!("{TOKENS}?all=1&per_page=2&pagination=keyset"),
    );
    assert_eq!(walked.len(), 3);
    admin
        .get(&format!("{TOKENS}?owner=bob&all=1"))
        .assert_refused(400);
    admin
        .get(&format!("{TOKENS}?owner=nobody"))
        .assert_error(400, "there is no user \"nobody\"");
    assert_eq!(told(&bob.get(&format!("{TOKENS}?owner=bob"))), all[1..2]);
    for query in ["all=1", "owner=alice", "owner=nobody"] {
        bob.get(&format!("{TOKENS}?{query}")).assert_refused(403);
    }
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    auditor.get(&format!("{TOKENS}?all=1")).assert_refused(403);

    let id = of_alice["tokenId"].as_str().unwrap();
    let at = format!("{TOKENS}/{id}");
    bob.delete(&at).assert_refused(403);
    // Root does not act under another's name.
    admin
        .patch(&at, &json!({ "name": "x" }))
        .assert_refused(403);
    admin
        .request("POST", &format!("{at}/rotate"))
        .send()
        .assert_refused(403);
    let holder = daemon.token(of_alice["tokenString"].as_str().unwrap());
    let self_test = "/site-builder/api/erp-config/user";
    holder.get(self_test).expect_status(200);
    admin.delete(&at).assert_empty(204);
    holder.get(self_test).assert_refused(401);
    admin.delete(&at).assert_refused(404);
    assert_eq!(told(&alice.get(TOKENS)), []);
}

#[test]
fn a_token_has_another_value_at_once_or_after_a_time_of_grace() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let made = issue(&alice, "t", &["*"]);
    let id = made["tokenId"].as_str().unwrap();
    let rotate = format!("{TOKENS}/{id}/rotate");
    let counts = |token: &Value| {
        let holder = daemon.token(token["tokenString"].as_str().unwrap());
        holder.get("/site-builder/api/erp-config/user").status == 200
    };
    let second = alice
        .request("POST", &rotate)
        .send()
        .expect_status(200)
        .json();
    assert_ne!(second["tokenString"], made["tokenString"]);
    assert_eq!(second["earlier_until"], Value::Null);
    let mut expected = made.clone();
    for field in ["tokenString", "suffix"] {
        expected[field] = second[field].clone();
    }
    assert_eq!(second, expected);
    assert_eq!((counts(&made), counts(&second)), (false, true));

    let body = json!({ "grace": "7d" });
    let third = alice.post(&rotate, &body).expect_status(200).json();
    assert!(third["earlier_until"].as_str().is_some());
    assert_eq!((counts(&second), counts(&third)), (true, true));
    let listed = alice.get(TOKENS).json();
    assert_eq!(listed[0]["earlier_until"], third["earlier_until"]);
    assert!(listed[0].get("tokenString").is_none());
    let fourth = alice.post(&rotate, &json!({})).expect_status(200).json();
    assert_eq!(
        (counts(&second), counts(&third), counts(&fourth)),
        (false, false, true)
    );

    for body in [
        json!({ "grace": "" }),
        json!({ "grace": "7" }),
        json!({ "grace": "-1d" }),
        json!({ "grace": "99999999999999999d" }),
        json!({ "grace": "999999999w" }),
        json!({ "grace": 7 }),
        json!({ "grace": null }),
        json!({ "grace_s": 7 }),
        json!([]),
    ] {
        alice.post(&rotate, &body).assert_refused(400);
    }
    let bob = daemon.user("bob", &[]);
    bob.request("POST", &rotate).send().assert_refused(403);
    alice
        .request("POST", &format!("{TOKENS}/0/rotate"))
        .send()
        .assert_refused(404);
    let conditional = alice.with("If-Match", "\"0\"");
    conditional
        .request("POST", &rotate)
        .send()
        .assert_refused(412);
    assert!(counts(&fourth));
}
