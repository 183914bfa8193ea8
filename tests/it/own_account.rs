//! One's own account: what it may, its password, its sessions. Contract section 7.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, User, cookie_of, masked, password_of};

const SESSION: &str = "/user/session";
const SESSIONS: &str = "/user/sessions";
const PASSWORD: &str = "/user/password";

fn passwords(old: &str, new: &str) -> Value {
    json!({ "old_password": old, "new_password": new })
}

/// The holder of a cookie that an answer sets.
fn holder(daemon: &Daemon, answer: &crate::harness::Answer) -> User {
    daemon.anonymous().with("Cookie", &cookie_of(answer))
}

#[test]
fn a_session_tells_what_a_client_needs_to_know() {
    let daemon = Daemon::start();
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    let mut told = auditor.get(SESSION).expect_status(200).json();
    let ends = told["expires_at"].take();
    let ends = ends.as_str().unwrap();
    let now = daemon
        .anonymous()
        .get("/site-builder/api/erp-config/health");
    assert!(now.json()["time"].as_str().unwrap() < ends, "{ends}");
    assert_eq!(
        told,
        json!({
            "username": "auditor",
            "roles": ["ROLE_SITEBUILDER_EDITOR__READONLY"],
            "may": {
                "create_projects": true,
                "create_public_projects": false,
                "all_projects": true,
                "audit": true,
                "accounts": false,
                "all_tokens": false,
                "service": false,
            },
            "expires_at": null,
            "idle_s": 3600,
            "limits": {
                "file_bytes_max": 5_368_709_120_u64,
                "archive_bytes_max": 10_737_418_240_u64,
                "batch_bytes_max": 67_108_864,
                "batch_actions_max": 10_000,
                "path_bytes_max": 4096,
                "message_bytes_max": 4096,
                "per_page_max": 100,
                "history_page_max": 100,
                "tokens_max": 1000,
                "token_repos_max": 100,
                "password_bytes_min": 12,
                "password_bytes_max": 1024,
                "keep_deleted_days": 30,
            },
            "server": { "version": env!("CARGO_PKG_VERSION") },
        })
    );
    let login = daemon.login("auditor", &password_of("auditor")).json();
    assert_eq!(login["may"], told["may"]);
    let health = daemon.anonymous();
    let health = health.get("/site-builder/api/erp-config/health");
    assert!(!health.text().contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_a_session_may_is_what_happens() {
    let daemon = Daemon::start();
    for (row, roles) in [
        &[][..],
        &["ROLE_SITEBUILDER_USER__acme"],
        &["ROLE_SITEBUILDER_EDITOR__PUBLIC"],
        &["ROLE_SITEBUILDER_EDITOR__READONLY"],
        &["ROLE_SITEBUILDER_EDITOR__ROOT"],
    ]
    .iter()
    .enumerate()
    {
        let user = daemon.user(&format!("user-{row}"), roles);
        let may = user.get(SESSION).json()["may"].clone();
        for (right, said) in may.as_object().unwrap() {
            let create = |name: &str| {
                let body = json!({ "name": format!("{name}-{row}"), "type": "erp" });
                user.post(&format!("{ADMIN}/projects"), &body)
            };
            let status = match right.as_str() {
                "create_projects" => create("own").status,
                "create_public_projects" => create("public/x").status,
                // Nobody has a role for this project.
                "all_projects" => {
                    let of_admin = daemon.session("admin");
                    let other = crate::harness::Project::create(&of_admin, &format!("other-{row}"));
                    user.get(&other.admin("")).status
                }
                "audit" => user.get(&format!("{ADMIN}/audit")).status,
                "accounts" => user.get(&format!("{ADMIN}/accounts")).status,
                "all_tokens" => user.get(&format!("{ADMIN}/tokens?all=1")).status,
                "service" => user.get(&format!("{ADMIN}/service")).status,
                other => panic!("{other} is tried nowhere"),
            };
            let expected = if said == true {
                status < 300
            } else {
                status == 403
            };
            assert!(expected, "{roles:?} {right} {said}: {status}");
        }
    }
}

#[test]
fn a_new_password_ends_all_sessions_and_gives_this_one_another_cookie() {
    let daemon = Daemon::start();
    let vera = daemon.user("vera", &[]);
    let elsewhere = daemon.session("vera");
    let (old, new) = (password_of("vera"), "battery staple");
    let body = passwords(&old, new);
    let answer = vera.request("PUT", PASSWORD).json(&body).send();
    answer.assert_empty(204);
    let here = holder(&daemon, &answer);
    here.get(SESSION).expect_status(200);
    for gone in [&vera, &elsewhere] {
        gone.get(SESSION).assert_refused(401);
    }
    assert_eq!(here.get(SESSIONS).json().as_array().unwrap().len(), 1);
    daemon.login("vera", &old).assert_refused(401);
    daemon.login("vera", new).expect_status(200);
    let audit = daemon.command(&["audit", "--json"], "");
    for secret in [&old, new] {
        assert!(!String::from_utf8_lossy(&audit.stdout).contains(secret));
        assert!(!daemon.log().contains(secret));
    }
}

#[test]
fn the_first_password_is_no_longer_kept_once_it_is_none() {
    let daemon = Daemon::start();
    let file = daemon.data().join("secrets/initial-password");
    let first = daemon.initial_password();
    let vera = daemon.user("vera", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let own = passwords(&password_of("vera"), "battery staple");
    let answer = vera.request("PUT", PASSWORD).json(&own).send();
    answer.assert_empty(204);
    assert!(file.exists(), "it is another's");
    let body = passwords(&first, "correct horse");
    let admin = daemon.session("admin");
    admin
        .request("PUT", PASSWORD)
        .json(&body)
        .send()
        .assert_empty(204);
    assert!(!file.exists());

    let daemon = Daemon::start();
    let file = daemon.data().join("secrets/initial-password");
    let vera = daemon.user("vera", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let target = format!("{ADMIN}/accounts/admin/password");
    vera.request("PUT", &target).send().expect_status(200);
    assert!(!file.exists(), "another set it");
}

#[test]
fn a_wrong_old_password_is_refused_and_guessed_no_faster_than_at_a_login() {
    // The first is forgiven after half a minute, by when the second has been.
    let daemon = Daemon::start_with(&["--wrong-logins-minute-max", "2"]);
    let vera = daemon.user("vera", &[]);
    let old = password_of("vera");
    let put = |body: &Value| vera.request("PUT", PASSWORD).json(body).send();
    for (body, said) in [
        (
            passwords(&old, "short"),
            "malformed password: it must have 12 to 1024 bytes",
        ),
        (json!({ "new_password": "correct horse" }), ""),
        (json!({ "old_password": old }), ""),
        (json!({ "old_password": old, "new_password": null }), ""),
        (
            json!({ "old_password": old, "new_password": "correct horse", "x": 1 }),
            "",
        ),
        (passwords(&old, "passwordpassword"), ""),
    ] {
        let refused = put(&body);
        refused.assert_refused(400);
        if !said.is_empty() {
            refused.assert_error(400, said);
        }
    }
    let huge = passwords(&"x".repeat(9000), "correct horse");
    put(&huge).assert_refused(413);
    let body = passwords("wrong", "correct horse");
    daemon
        .anonymous()
        .request("PUT", PASSWORD)
        .json(&body)
        .send()
        .assert_refused(401);
    for _ in 0..2 {
        put(&body).assert_error(400, "the old password is wrong");
    }
    let throttled = put(&passwords(&old, "correct horse"));
    throttled.assert_refused(429);
    assert!(throttled.header("Retry-After").is_some());
    daemon.login("vera", &old).assert_refused(429);
    vera.get(SESSION).expect_status(200);
    let told = daemon.logged("wrong old password");
    assert_eq!(told["account"], "vera", "{told}");
}

#[test]
fn sessions_are_listed_and_ended_one_by_one() {
    let daemon = Daemon::start();
    let (vera, eve) = (daemon.user("vera", &[]), daemon.user("eve", &[]));
    let elsewhere = daemon.session("vera");
    let listed = vera.get(SESSIONS).expect_status(200).json();
    let sessions = listed.as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let find = |current: bool| {
        let mut found = sessions.iter().filter(|one| one["current"] == current);
        let one = found.next().unwrap().clone();
        assert!(found.next().is_none());
        one
    };
    let (own, other) = (find(true), find(false));
    let mut shown = masked(other.clone());
    assert!(shown["expires_at"].take().as_str().unwrap() > other["created_at"].as_str().unwrap());
    assert_eq!(
        shown,
        json!({
            "id": other["id"],
            "created_at": "<time>",
            "last_used_at": "<time>",
            "expires_at": null,
            "from": "127.0.0.1",
            "current": false,
        })
    );
    // An id opens nothing, however it is filled up.
    let id = other["id"].as_str().unwrap();
    let (name, secret) = elsewhere.credential().split_once('=').unwrap();
    assert!(!secret.contains(id) && !listed.to_string().contains(secret));
    for value in [
        id.to_owned(),
        id.repeat(4),
        format!("{id}{}", &secret[16..]),
    ] {
        let guess = daemon
            .anonymous()
            .with("Cookie", &format!("{name}={value}"));
        guess.get(SESSION).assert_refused(401);
    }
    let at = |id: &str| format!("{SESSIONS}/{id}");
    eve.delete(&at(id)).assert_error(404, "Session not found");
    for wrong in [
        "0",
        &"0".repeat(16),
        secret,
        &id[..15],
        &id.to_uppercase(),
        "%20",
    ] {
        if wrong != id {
            vera.delete(&at(wrong)).assert_refused(404);
        }
    }
    elsewhere.get(SESSION).expect_status(200);
    let ended = vera.delete(&at(id));
    ended.assert_empty(204);
    assert_eq!(ended.header("Set-Cookie"), None);
    elsewhere.get(SESSION).assert_refused(401);
    vera.delete(&at(id)).assert_refused(404);
    let own = vera.delete(&at(own["id"].as_str().unwrap()));
    own.assert_empty(204);
    assert!(
        own.header("Set-Cookie")
            .unwrap()
            .to_lowercase()
            .contains("max-age=0")
    );
    vera.get(SESSIONS).assert_refused(401);
    assert_eq!(eve.get(SESSIONS).json().as_array().unwrap().len(), 1);
}

#[test]
fn another_site_can_neither_set_a_password_nor_end_a_session() {
    let daemon = Daemon::start();
    let vera = daemon
        .user("vera", &[])
        .with("Sec-Fetch-Site", "cross-site");
    let body = passwords(&password_of("vera"), "correct horse");
    vera.request("PUT", PASSWORD)
        .json(&body)
        .send()
        .assert_refused(403);
    vera.delete(&format!("{SESSIONS}/0")).assert_refused(403);
    vera.get(SESSIONS).assert_refused(403);
    daemon
        .login("vera", &password_of("vera"))
        .expect_status(200);
}
