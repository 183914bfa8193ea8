//! JSON bodies, whatever route takes them: contract section 6.

use serde_json::json;

use crate::harness::{ADMIN, Answer, Daemon, Project, User};

/// A route that takes JSON: method, target, a body it takes, and that body's required fields.
struct Route {
    method: &'static str,
    target: String,
    good: serde_json::Value,
    required: &'static [&'static str],
}

/// Every JSON route, on a project of somebody.
fn routes(project: &Project, token: &str) -> Vec<Route> {
    let route = |method, target, good, required| Route {
        method,
        target,
        good,
        required,
    };
    vec![
        route(
            "POST",
            format!("{ADMIN}/projects"),
            json!({ "name": "new", "type": "erp" }),
            &["name", "type"],
        ),
        route(
            "POST",
            project.admin("/branches"),
            json!({ "name": "new" }),
            &["name"],
        ),
        route(
            "POST",
            format!("{ADMIN}/tokens"),
            json!({ "name": "new", "repos": [] }),
            &["name", "repos"],
        ),
        route(
            "PATCH",
            format!("{ADMIN}/tokens/{token}"),
            json!({ "name": "new" }),
            &[],
        ),
        route(
            "POST",
            project.on("main", "/batch"),
            json!({ "actions": [{ "action": "create", "file_path": "new", "content": "" }] }),
            &["actions"],
        ),
    ]
}

/// A user with a project, a token, and the routes over them.
fn setting(daemon: &Daemon) -> (User, Project, Vec<Route>) {
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    let token = alice.issue(&json!({ "name": "t", "repos": [] }));
    let routes = routes(&project, token["tokenId"].as_str().unwrap());
    (alice, project, routes)
}

fn send(user: &User, route: &Route, kind: &str, body: &[u8]) -> Answer {
    user.request(route.method, &route.target)
        .header("Content-Type", kind)
        .body(body)
        .send()
}

/// Asserts that nothing was made by any of the routes.
#[track_caller]
fn assert_nothing_made(project: &Project) {
    let user = &project.user;
    let count = |target: &str| user.get(target).json().as_array().unwrap().len();
    assert_eq!(count(&format!("{ADMIN}/projects")), 1);
    assert_eq!(count(&project.admin("/branches")), 1);
    let tokens = user.get(&format!("{ADMIN}/tokens")).json();
    assert_eq!(tokens.as_array().unwrap().len(), 1);
    assert_eq!(tokens[0]["name"], "t");
    assert_eq!(project.versions("main"), [""; 0]);
}

#[test]
fn a_body_must_be_one_json_object() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        let good = route.good.to_string();
        let mut deep = vec![b'['; 100_000];
        deep.extend(vec![b']'; 100_000]);
        let bom = [b"\xef\xbb\xbf", good.as_bytes()].concat();
        let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let broken = good.replace("new", "\\ud800");
        for body in [
            b"" as &[u8],
            b" ",
            b"null",
            b"[]",
            b"\"text\"",
            b"1",
            b"{",
            b"{]",
            b"{\"name\"}",
            b"\xff\xfe",
            b"NaN",
            &good.as_bytes()[1..],
            format!("{good}{good}").as_bytes(),
            format!("{good} x").as_bytes(),
            broken.as_bytes(),
            &bom,
            &utf16,
            &deep,
        ] {
            let answer = send(&alice, route, "application/json", body);
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
            assert_eq!(answer.status, 400, "{} {shown}: {answer:?}", route.target);
        }
    }
    assert_nothing_made(&project);
}

#[test]
fn a_required_field_is_named_when_it_is_missing() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        for field in route.required {
            let mut body = route.good.clone();
            body.as_object_mut().unwrap().remove(*field);
            let answer = send(
                &alice,
                route,
                "application/json",
                body.to_string().as_bytes(),
            );
            let message = answer.assert_refused(400);
            assert!(message.contains(field), "{}: {message}", route.target);
        }
    }
    assert_nothing_made(&project);
}

#[test]
fn fields_that_nobody_knows_are_refused_by_name() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        for field in [
            "owner",
            "role",
            "is_root",
            "id",
            "__proto__",
            "NAME",
            "Actions",
        ] {
            let mut body = route.good.clone();
            body[field] = json!(1);
            let answer = send(
                &alice,
                route,
                "application/json",
                body.to_string().as_bytes(),
            );
            let message = answer.assert_refused(400);
            assert!(message.contains(field), "{}: {message}", route.target);
        }
    }
    assert_nothing_made(&project);
}

#[test]
fn a_field_may_come_once() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        for (field, value) in route.good.as_object().unwrap() {
            let good = route.good.to_string();
            let twice = format!("{},\"{field}\":{value}}}", &good[..good.len() - 1]);
            let answer = send(&alice, route, "application/json", twice.as_bytes());
            answer.assert_refused(400);
        }
    }
    assert_nothing_made(&project);
}

#[test]
fn a_field_has_its_type() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        for field in route.good.as_object().unwrap().keys() {
            for wrong in [json!(1), json!(true), json!(null), json!({}), json!(-0.5)] {
                let mut body = route.good.clone();
                body[field] = wrong;
                let bytes = body.to_string();
                let answer = send(&alice, route, "application/json", bytes.as_bytes());
                assert_eq!(answer.status, 400, "{} {bytes}: {answer:?}", route.target);
            }
        }
    }
    assert_nothing_made(&project);
}

#[test]
fn a_wrong_field_is_named() {
    let daemon = Daemon::start();
    let (alice, project, _) = setting(&daemon);
    let refused = |target: &str, body: &serde_json::Value, message: &str| {
        alice.post(target, body).assert_error(400, message);
    };
    let tokens = format!("{ADMIN}/tokens");
    refused(
        &tokens,
        &json!({ "name": "a", "repos": "*" }),
        "malformed JSON body: repos: invalid type: string, expected an array at line 1 column 23",
    );
    let batch = project.on("main", "/batch");
    refused(
        &batch,
        &json!({ "actions": [{ "action": "move", "file_path": "a", "previous_path": [] }] }),
        "malformed JSON body: actions[0].previous_path: invalid type: array, expected a string at line 1 \
         column 61",
    );
    refused(
        &batch,
        &json!({ "actions": [{ "action": "move", "file_path": "a" }] }),
        "action 1 (\"a\"): previous_path is missing",
    );
    refused(
        &batch,
        &json!({ "actions": [{ "action": "delete", "file_path": "a", "previous_path": "b" }] }),
        "action 1 (\"a\"): previous_path belongs to a move and to nothing else",
    );
    assert_nothing_made(&project);
}

#[test]
fn a_body_says_that_it_is_json() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in &routes {
        let good = route.good.to_string();
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "application/jsonx",
            "application/octet-stream",
            "json",
            "",
        ] {
            let answer = send(&alice, route, kind, good.as_bytes());
            assert_eq!(answer.status, 415, "{} {kind}: {answer:?}", route.target);
        }
        let silent = alice
            .request(route.method, &route.target)
            .body(good.as_bytes())
            .send();
        silent.assert_refused(415);
    }
    for route in &routes {
        let good = route.good.to_string();
        let kind = "application/json; charset=windows-1251";
        send(&alice, route, kind, good.as_bytes()).assert_error(
            415,
            "the body must be JSON in UTF-8, and its Content-Type names the charset \"windows-1251\"",
        );
    }
    assert_nothing_made(&project);
    let kinds = [
        "Application/JSON; charset=utf-8",
        "application/json;charset=utf8",
    ];
    for (route, kind) in routes.iter().zip(kinds.into_iter().cycle()) {
        let good = route.good.to_string();
        let answer = send(&alice, route, kind, good.as_bytes());
        assert!(matches!(answer.status, 200 | 201), "{}", route.target);
    }
}

#[test]
fn a_body_is_bounded() {
    let daemon = Daemon::start();
    let (alice, project, routes) = setting(&daemon);
    for route in routes
        .iter()
        .filter(|route| !route.target.ends_with("/batch"))
    {
        let mut body = route.good.clone();
        body["name"] = json!("n".repeat((1 << 20) + 1));
        let bytes = body.to_string();
        let answer = send(&alice, route, "application/json", bytes.as_bytes());
        assert_eq!(answer.status, 413, "{}: {answer:?}", route.target);
    }
    assert_nothing_made(&project);
}
