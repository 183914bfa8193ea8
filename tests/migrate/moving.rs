//! A whole old system is moved in: clients find everything as it was.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, segment};
use crate::model::{Branch, Model, Scene, Token, counts, digest};

const READ: &str = "/site-builder/api/erp-config";
const OWNERS: [&str; 3] = ["ann", "bob", "cyd"];

#[test]
fn an_old_system_is_here_as_it_was_there() {
    let model = Model::new(&OWNERS, 12, 40, 200, 300);
    let scene = Scene::start(&model);
    let (code, out, told) = scene.run(&["--dry-run", "--json"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(counts(&said, "made"), [3, 12, 40, 200, 300]);
    assert_eq!(scene.json(&["project", "list"]), json!([]));

    let began = Instant::now();
    let report = scene.moved();
    let took = began.elapsed();
    assert!(took < Duration::from_mins(1), "{took:?}");
    assert_eq!(counts(&report, "made"), [3, 12, 40, 200, 300]);
    assert_eq!(report["findings"], json!([]));

    assert_histories(&scene, &model);
    assert_accounts(&scene);
    for token in &model.tokens {
        assert_client(&scene, &model, token);
    }
    assert_tokens(&scene, &model);

    let (code, out, told) = scene.run(&["--verify"]);
    assert_eq!((code, told.as_str()), (0, ""));
    let of = |branch: &Branch| {
        let old = branch.snapshots.iter().map(|old| old.state.len());
        old.sum::<usize>() + branch.head.len()
    };
    let files: usize = model.branches.values().map(of).sum();
    assert_eq!(
        out,
        format!("240 states with {files} files and 300 tokens compared; 0 findings\n")
    );
    let mut check = scene.daemon.command(&["debug", "check", "--deep"]);
    let check = check.output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// Every old snapshot has its number, date, author and digest.
fn assert_histories(scene: &Scene, model: &Model) {
    let mut admin = scene.daemon.admin();
    for ((owner, project, name), branch) in &model.branches {
        let target = format!(
            "/site-builder/api/projects/{}/branches/{}/history?limit=100",
            segment(project),
            segment(name)
        );
        let history = admin.get(&target).json();
        let fields = [
            "version",
            "created_at",
            "created_by",
            "operation",
            "path",
            "commit_id",
        ];
        let seen: Vec<_> = history.as_array().unwrap().iter().rev().collect();
        let seen: Vec<_> = seen
            .iter()
            .map(|snapshot| fields.map(|field| snapshot[field].clone()))
            .collect();
        let snapshots = branch.snapshots.iter().enumerate();
        let expected: Vec<_> = snapshots
            .map(|(index, snapshot)| {
                [
                    json!(format!("v{:04}", index + 1)),
                    json!(snapshot.created_at),
                    json!(snapshot.created_by),
                    json!("save"),
                    json!(snapshot.path),
                    json!(digest(&snapshot.state)[..40]),
                ]
            })
            .collect();
        assert_eq!(seen, expected, "{owner} {project} {name}");
    }
}

/// Nobody but the owners is there, and none of them can log in.
fn assert_accounts(scene: &Scene) {
    for account in scene.json(&["user", "list"]).as_array().unwrap() {
        let name = account["name"].as_str().unwrap();
        assert!(name == "admin" || OWNERS.contains(&name), "{account}");
    }
    for name in OWNERS {
        let login = json!({ "username": name, "password": name });
        let answer = scene.daemon.again("").post("/user/login", &login);
        assert_eq!(answer.status, 401);
    }
}

/// A client finds what it did in the old system, with the token that it has.
fn assert_client(scene: &Scene, model: &Model, token: &Token) {
    let project = token.line["repos"][0].as_str().unwrap();
    let read = |rest: &str| format!("{READ}/projects/{}/repository{rest}", segment(project));
    let instance = token.line["fingerprint"].as_str();
    let mut client = client(scene, &token.value, instance);
    let listed = client.get(&read("/branches"));
    if token.line["state"] == "expired" {
        assert_eq!(listed.status, 401, "{token:?}");
        return;
    }
    let branches = model
        .branches
        .iter()
        .filter(|((_, of, _), _)| of == project);
    let expected: Vec<_> = branches
        .clone()
        .map(|((.., name), branch)| (name.clone(), digest(&branch.head)[..8].to_owned()))
        .collect();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = listed.json();
    let listed: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| (text(&branch["name"]), text(&branch["commit"]["short_id"])))
        .collect();
    assert_eq!(listed, expected, "{token:?}");
    if instance.is_some() {
        let mut other = self::client(scene, &token.value, Some("till-x"));
        let refused = other.get(&read("/branches"));
        let told = (refused.status, refused.json());
        assert_eq!(told, (401, json!({ "message": "FINGERPRINT_MISMATCH" })));
    }
    // Every file of some, as it is and as it was.
    for ((.., name), branch) in branches.take(usize::from(token.value.starts_with('a'))) {
        let old = format!("{name}@v0002");
        for (reference, state) in [(name, &branch.head), (&old, &branch.snapshots[1].state)] {
            for (path, content) in state {
                let (path, reference) = (segment(path), segment(reference));
                let target = read(&format!("/files/{path}/raw?ref={reference}"));
                assert_eq!(client.get(&target).body, content.as_bytes(), "{target}");
            }
        }
    }
}

/// Tokens are listed as they were.
fn assert_tokens(scene: &Scene, model: &Model) {
    let tokens = scene.json(&["token", "list"]);
    let tokens = tokens.as_array().unwrap();
    assert_eq!(tokens.len(), model.tokens.len());
    for token in &model.tokens {
        let is_it = |shown: &&Value| shown["name"] == token.line["name"];
        let shown = tokens.iter().find(is_it).unwrap();
        assert_eq!(shown["owner"], token.line["owner"]);
        assert_eq!(shown["created_at"], "2024-05-06T07:08:09.000Z");
        assert_eq!(shown["suffix"], token.value[58..]);
        let expires = token.line["expires_at"].as_str();
        let expires = expires.map(|day| format!("{day}T00:00:00.000Z"));
        assert_eq!(shown["expires_at"], json!(expires));
    }
}

/// A client with a token, as it was configured for the old system.
fn client(scene: &Scene, token: &str, instance: Option<&str>) -> Client {
    let mut credential = format!("PRIVATE-TOKEN: {token}\r\n");
    if let Some(instance) = instance {
        credential = format!("{credential}X-Instance-Id: {instance}\r\n");
    }
    scene.daemon.again(&credential)
}
