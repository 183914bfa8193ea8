//! Managing tokens: specification sections 2 and 4.2, contract section 6.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, READ, User, masked, soon};

const TOKENS: &str = "/site-builder/api/tokens";

/// Alice with two projects.
fn alice(daemon: &Daemon) -> User {
    let alice = daemon.user("alice", &[]);
    Project::with_main(&alice, "acme/shop");
    Project::with_main(&alice, "other");
    alice
}

/// The address of a token.
fn at(token: &Value) -> String {
    format!("{TOKENS}/{}", token["tokenId"].as_str().expect("a string"))
}

#[test]
fn a_new_token_is_shown_whole_once() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let body = json!({
        "name": "ERP Berlin",
        "repos": ["acme/shop.erp", "other.erp"],
        "expires_at": "2099-12-31T23:59:59+02:00",
        "fingerprint_required": true,
    });
    let created = alice.issue(&body);
    let secret = created["tokenString"].as_str().unwrap();
    assert_eq!(secret.len(), 64);
    let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    assert!(secret.bytes().all(lower_hex), "{secret}");
    let mut listed = created.clone();
    listed.as_object_mut().unwrap().remove("tokenString");
    assert_eq!(
        masked(listed.clone()),
        json!({
            "tokenId": created["tokenId"],
            "name": "ERP Berlin",
            "owner": "alice",
            "repos": ["acme/shop.erp", "other.erp"],
            "expires_at": "2099-12-31T21:59:59.000Z",
            "fingerprint_required": true,
            "fingerprint_bound": false,
            "suffix": secret[58..],
            "created_at": "<time>",
            "last_used_at": null,
            "earlier_until": null,
            "state": "active",
        })
    );
    let list = alice.get(TOKENS);
    list.assert_json(200, &json!([listed]));
    assert!(!list.text().contains(&secret[..58]));
}

#[test]
fn a_name_and_repos_are_enough() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    assert_eq!(token["repos"], json!(["*"]));
    assert_eq!(token["expires_at"], Value::Null);
    assert_eq!(token["fingerprint_required"], false);
    let empty = alice.issue(&json!({ "name": "t", "repos": [] }));
    assert_eq!(empty["repos"], json!([]));
    assert_ne!(empty["tokenId"], token["tokenId"]);
    assert_ne!(empty["tokenString"], token["tokenString"]);
}

#[test]
fn an_expiry_has_several_spellings() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let expiry = |expires_at: Value| {
        let body = json!({ "name": "t", "repos": [], "expires_at": expires_at });
        alice.post(TOKENS, &body)
    };
    for (given, answered) in [
        (json!(null), json!(null)),
        (json!("2099-01-31"), json!("2099-01-31T00:00:00.000Z")),
        (
            json!("2099-01-31T10:00:00Z"),
            json!("2099-01-31T10:00:00.000Z"),
        ),
        (
            json!("2099-01-31T10:00:00+05:30"),
            json!("2099-01-31T04:30:00.000Z"),
        ),
        (json!(4_073_500_800_u64), json!("2099-01-31T00:00:00.000Z")),
        (
            json!(4_073_500_800_000_u64),
            json!("2099-01-31T00:00:00.000Z"),
        ),
        (json!("2001-02-03"), json!("2001-02-03T00:00:00.000Z")),
    ] {
        let token = expiry(given.clone()).expect_status(201).json();
        assert_eq!(token["expires_at"], answered, "{given}");
        let past = answered == "2001-02-03T00:00:00.000Z";
        let state = if past { "expired" } else { "active" };
        assert_eq!(token["state"], state, "{given}");
    }
    for malformed in [
        json!(""),
        json!("never"),
        json!("tomorrow"),
        json!("2026-02-30"),
        json!("2026-13-01"),
        json!("2026-1-1"),
        json!("01/02/2027"),
        json!("2026-01-01T24:00:00Z"),
        json!("2026-01-01T10:00:00"),
        json!("2026-01-01T10:00:00+99:00"),
        json!(" 2026-01-01"),
        json!("9".repeat(10_000)),
        json!(true),
        json!([]),
        json!({}),
        json!(1e300),
    ] {
        let answer = expiry(malformed.clone());
        assert_eq!(answer.status, 400, "{malformed}: {answer:?}");
    }
    assert_eq!(alice.get(TOKENS).json().as_array().unwrap().len(), 7);
}

#[test]
fn repos_are_what_the_owner_may_read() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    Project::create(&bob, "of-bob");
    let create = |user: &User, repos: Value| {
        let body = json!({ "name": "t", "repos": repos });
        user.post(TOKENS, &body)
    };
    for malformed in [
        json!("*"),
        json!(null),
        json!({}),
        json!([1]),
        json!([["acme/shop.erp"]]),
        json!(["*", "acme/shop.erp"]),
        json!(["none.erp"]),
        json!(["acme/shop.erp", "none.erp"]),
        json!(["acme/shop"]),
        json!(["acme*"]),
        json!([""]),
    ] {
        let answer = create(&alice, malformed.clone());
        assert_eq!(answer.status, 400, "{malformed}: {answer:?}");
    }
    create(&alice, json!(["acme/shop.erp", "of-bob.erp"])).assert_refused(403);
    create(&bob, json!(["other.erp"])).assert_refused(403);
    create(&bob, json!(["acme/shop.erp", "of-bob.erp"])).expect_status(201);
    alice.get(TOKENS).assert_json(200, &json!([]));
}

#[test]
fn a_token_can_be_changed_in_part() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let mut token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    let target = at(&token);
    token.as_object_mut().unwrap().remove("tokenString");
    for (change, field, value) in [
        (json!({ "name": "renamed" }), "name", json!("renamed")),
        (
            json!({ "repos": ["other.erp"] }),
            "repos",
            json!(["other.erp"]),
        ),
        (
            json!({ "expires_at": "2099-01-01" }),
            "expires_at",
            json!("2099-01-01T00:00:00.000Z"),
        ),
        (json!({ "expires_at": null }), "expires_at", json!(null)),
        (
            json!({ "fingerprint_required": true }),
            "fingerprint_required",
            json!(true),
        ),
        (json!({}), "name", json!("renamed")),
    ] {
        token[field] = value;
        alice.patch(&target, &change).assert_json(200, &token);
    }
    alice.get(TOKENS).assert_json(200, &json!([token]));
}

#[test]
fn a_change_is_made_whole_or_not_at_all() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let mut token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    token.as_object_mut().unwrap().remove("tokenString");
    for bad in [
        json!({ "name": "new", "repos": ["none.erp"] }),
        json!({ "name": "new", "expires_at": "never" }),
        json!({ "name": "new", "fingerprint_required": null }),
        json!({ "name": "new", "owner": "bob" }),
        json!({ "name": "new", "tokenString": "0".repeat(64) }),
        json!({ "name": "new", "state": "active" }),
        json!({ "name": null }),
        json!({ "name": "" }),
        json!({ "name": "n".repeat(256) }),
        json!({ "repos": null }),
        json!([]),
    ] {
        let answer = alice.patch(&at(&token), &bad);
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
    }
    alice.get(TOKENS).assert_json(200, &json!([token]));
}

#[test]
fn a_token_belongs_to_who_made_it() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    let bob = daemon.user("bob", &[]);
    bob.get(TOKENS).assert_json(200, &json!([]));
    bob.patch(&at(&token), &json!({ "name": "mine" }))
        .assert_refused(403);
    bob.delete(&at(&token)).assert_refused(403);
    assert_eq!(alice.get(TOKENS).json()[0]["name"], "t");
}

#[test]
fn a_revoked_token_is_gone() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    alice.delete(&at(&token)).assert_empty(204);
    alice.delete(&at(&token)).assert_refused(404);
    alice.patch(&at(&token), &json!({})).assert_refused(404);
    alice.get(TOKENS).assert_json(200, &json!([]));
    for id in ["0", "999999", "x", "-1", "%2e%2e"] {
        let answer = alice.delete(&format!("{TOKENS}/{id}"));
        assert!(matches!(answer.status, 400 | 404), "{id}: {answer:?}");
    }
}

#[test]
fn a_listing_says_when_a_token_was_used() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"] }));
    let holder = daemon.token(token["tokenString"].as_str().unwrap());
    let target = "/site-builder/api/erp-config/projects/other.erp/repository/tree";
    holder.get(target).expect_status(200);
    // It is noted in the background, and a list waits a second for that at most.
    soon(|| masked(alice.get(TOKENS).json())[0]["last_used_at"] == "<time>");
}

#[test]
fn a_token_tells_no_new_name_of_what_its_owner_may_not_read() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let bob = daemon.user("bob", &[]);
    let token = alice.issue(&json!({ "name": "t", "repos": ["acme/shop.erp", "other.erp"] }));
    let projects = "/site-builder/api/projects";
    let rename = |user: &User, old: &str, new: &str| {
        let target = format!("{projects}/{old}");
        user.patch(&target, &json!({ "name": new }))
            .expect_status(200);
    };
    rename(&alice, "other.erp", "mine");
    let shop = format!("{projects}/acme%2Fshop.erp");
    let given = daemon
        .session("admin")
        .patch(&shop, &json!({ "owner": "bob" }));
    given.expect_status(200);
    rename(&bob, "acme%2Fshop.erp", "secret");

    let told = json!(["acme/shop.erp", "mine.erp"]);
    assert_eq!(alice.get(TOKENS).json()[0]["repos"], told);
    let changed = alice.patch(&at(&token), &json!({ "name": "u" }));
    assert_eq!(changed.expect_status(200).json()["repos"], told);
    // Nor does it say whether a guess is right.
    alice
        .patch(&at(&token), &json!({ "repos": ["secret.erp"] }))
        .assert_refused(403);
    let same = alice.patch(&at(&token), &json!({ "repos": told }));
    assert_eq!(same.expect_status(200).json()["repos"], told);
    let rotated = alice.post(&format!("{}/rotate", at(&token)), &json!({}));
    assert_eq!(rotated.expect_status(200).json()["repos"], told);
}

#[test]
fn a_deleted_project_stays_listed_and_no_other_takes_its_place() {
    let daemon = Daemon::start();
    let alice = alice(&daemon);
    let token = alice.issue(&json!({ "name": "t", "repos": ["acme/shop.erp", "other.erp"] }));
    let holder = daemon.token(token["tokenString"].as_str().unwrap());
    let read = |id: &str| holder.get(&format!("{READ}/projects/{id}/repository/tree"));
    let change = |body: Value| alice.patch(&at(&token), &body);
    let (shop, store) = ("acme%2Fshop.erp", "acme%2Fstore.erp");
    let project = |id: &str| format!("{ADMIN}/projects/{id}");
    let renamed = alice.patch(&project(shop), &json!({ "name": "acme/store" }));
    renamed.expect_status(200);
    Project::with_main(&alice, "acme/shop");
    alice.delete(&project(store)).assert_empty(204);

    let told = json!(["acme/store.erp", "other.erp"]);
    assert_eq!(alice.get(TOKENS).json()[0]["repos"], told);
    read(store).assert_refused(404);
    read(shop).assert_refused(403);
    // What is shown can be sent back.
    let changed = change(json!({ "repos": told, "expires_at": "2099-01-01" }));
    assert_eq!(changed.expect_status(200).json()["repos"], told);
    read(shop).assert_refused(403);
    let id = alice.get(&format!("{ADMIN}/deleted")).json()[0]["id"].clone();
    let restore = format!("{ADMIN}/deleted/{}/restore", id.as_str().unwrap());
    alice.post(&restore, &json!({})).expect_status(200);
    read(store).expect_status(200);

    alice.delete(&project(store)).assert_empty(204);
    Project::with_main(&alice, "acme/store");
    let both = "malformed repos: the token lists a project that was \"acme/store.erp\", and another has this name \
                now: save the token without it first, and then with it";
    change(json!({ "repos": told })).assert_error(400, both);
    read(store).assert_refused(403);
    // Nobody is told that it covers the other one.
    let told_now = json!(["other.erp"]);
    assert_eq!(alice.get(TOKENS).json()[0]["repos"], told_now);
    let tokens = alice.get(&format!("{}/tokens", project(store)));
    tokens.assert_json(200, &json!([]));
    let changed = change(json!({ "name": "u" }));
    assert_eq!(changed.expect_status(200).json()["repos"], told_now);
    change(json!({ "repos": ["other.erp"] })).expect_status(200);
    change(json!({ "repos": told })).expect_status(200);
    read(store).expect_status(200);
}
