//! A token bound to one instance: specification sections 3 and 5.2, contract section 6.

use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, User};

const MISMATCH: &str = "FINGERPRINT_MISMATCH";
const TREE: &str = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository/tree";

/// A project, and a token for it that must be bound.
fn bound_token(daemon: &Daemon) -> (Project, Value) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let body = json!({ "name": "erp", "repos": ["*"], "fingerprint_required": true });
    let token = project.user.issue(&body);
    (project, token)
}

fn holder(daemon: &Daemon, token: &Value) -> User {
    daemon.token(token["tokenString"].as_str().unwrap())
}

fn ask_as(holder: &User, instance: &str) -> Answer {
    holder.with("X-Instance-Id", instance).get(TREE)
}

/// Whether the owner sees the token as bound.
#[track_caller]
fn is_bound(project: &Project) -> bool {
    let tokens = project.user.get("/site-builder/api/tokens").json();
    tokens[0]["fingerprint_bound"].as_bool().unwrap()
}

#[test]
fn the_first_instance_is_remembered_and_others_are_refused() {
    let daemon = Daemon::start();
    let (project, token) = bound_token(&daemon);
    let holder = holder(&daemon, &token);
    assert!(!is_bound(&project));
    ask_as(&holder, "erp-berlin").assert_json(200, &json!([]));
    assert!(is_bound(&project));
    ask_as(&holder, "erp-berlin").assert_json(200, &json!([]));
    for other in ["erp-paris", "ERP-berlin", "erp-berli", "erp-berlin2"] {
        ask_as(&holder, other).assert_error(401, MISMATCH);
    }
    holder.get(TREE).assert_error(401, MISMATCH);
    ask_as(&holder, "erp-berlin").expect_status(200);
}

#[test]
fn an_instance_must_name_itself() {
    let daemon = Daemon::start();
    let (project, token) = bound_token(&daemon);
    let holder = holder(&daemon, &token);
    holder.get(TREE).assert_error(401, MISMATCH);
    for nobody in ["", &"x".repeat(256), "a b", "a\tb", "é"] {
        let answer = ask_as(&holder, nobody);
        assert!(matches!(answer.status, 400 | 401), "{nobody}: {answer:?}");
    }
    let twice = holder.with("X-Instance-Id", "one");
    let answer = ask_as(&twice, "two");
    assert!(matches!(answer.status, 400 | 401), "{answer:?}");
    assert!(!is_bound(&project));
    let longest = "x".repeat(255);
    ask_as(&holder, &longest).expect_status(200);
}

#[test]
fn of_many_first_uses_at_once_one_wins() {
    let daemon = Daemon::start();
    let (_, token) = bound_token(&daemon);
    let holder = holder(&daemon, &token);
    let start = Barrier::new(16);
    let answers: Vec<_> = thread::scope(|scope| {
        let ask = |number: usize| {
            let (holder, start) = (&holder, &start);
            scope.spawn(move || {
                start.wait();
                let instance = format!("erp-{number}");
                (ask_as(holder, &instance), instance)
            })
        };
        let threads: Vec<_> = (0..16).map(ask).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let (winners, losers): (Vec<_>, Vec<_>) =
        answers.iter().partition(|(answer, _)| answer.status == 200);
    assert_eq!(winners.len(), 1);
    for (answer, _) in losers {
        answer.assert_error(401, MISMATCH);
    }
    ask_as(&holder, &winners[0].1).expect_status(200);
}

#[test]
fn a_binding_outlives_a_crash() {
    let mut daemon = Daemon::start();
    let (_, token) = bound_token(&daemon);
    ask_as(&holder(&daemon, &token), "erp-berlin").expect_status(200);
    daemon.kill();
    daemon.restart();
    let holder = holder(&daemon, &token);
    ask_as(&holder, "erp-paris").assert_error(401, MISMATCH);
    ask_as(&holder, "erp-berlin").expect_status(200);
}

#[test]
fn a_binding_can_be_forgotten() {
    let daemon = Daemon::start();
    let (project, token) = bound_token(&daemon);
    let holder = holder(&daemon, &token);
    let target = format!(
        "/site-builder/api/tokens/{}",
        token["tokenId"].as_str().unwrap()
    );
    let change = |body: &Value| project.user.patch(&target, body).expect_status(200).json();
    ask_as(&holder, "erp-berlin").expect_status(200);

    let reset = change(&json!({ "reset_fingerprint": true }));
    assert_eq!(reset["fingerprint_bound"], false);
    assert_eq!(reset["fingerprint_required"], true);
    ask_as(&holder, "erp-paris").expect_status(200);
    ask_as(&holder, "erp-berlin").assert_error(401, MISMATCH);

    let off = change(&json!({ "fingerprint_required": false }));
    assert_eq!(off["fingerprint_bound"], false);
    holder.get(TREE).expect_status(200);
    ask_as(&holder, "anything").expect_status(200);

    change(&json!({ "fingerprint_required": true }));
    holder.get(TREE).assert_error(401, MISMATCH);
    ask_as(&holder, "erp-berlin").expect_status(200);
    change(&json!({ "reset_fingerprint": false }));
    assert!(is_bound(&project));
}

#[test]
fn a_token_without_the_flag_takes_any_instance() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    reader.get(TREE).expect_status(200);
    ask_as(&reader, "one").expect_status(200);
    ask_as(&reader, "two").expect_status(200);
    assert!(!is_bound(&project));
}

#[test]
fn the_token_itself_is_checked_first() {
    let daemon = Daemon::start();
    let (project, token) = bound_token(&daemon);
    let unknown = daemon.token(&"0".repeat(64));
    ask_as(&unknown, "erp").assert_error(401, "401 Unauthorized");
    let target = format!(
        "/site-builder/api/tokens/{}",
        token["tokenId"].as_str().unwrap()
    );
    project
        .user
        .patch(&target, &json!({ "expires_at": "2001-01-01" }))
        .expect_status(200);
    let holder = holder(&daemon, &token);
    ask_as(&holder, "erp").assert_error(401, "401 Unauthorized");
    assert!(!is_bound(&project));
}
