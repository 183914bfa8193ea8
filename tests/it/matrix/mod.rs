//! Every route by every method with every kind of credential, against what the document says whom the
//! route is for. Whatever is refused has one text, changes nothing, and shows nothing of others.

mod credentials;
mod policy;
mod stage;
mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use serde_json::Value;

use crate::harness::{Answer, Connection, User};
use crate::scene::{Asked, Caller, Scene};
use credentials::{CREDENTIALS, Credential, OWNER, Session};
use policy::{Outcome, Policy, of_method, outcome};
use stage::{MARKS, Stage};
use tally::Tally;

/// The methods that are tried of every path; one is of nobody.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
];
/// The page, which no document tells of.
const PAGE: [&str; 4] = [
    "/",
    "/site-builder/{state}",
    "/site-builder/licences",
    "/site-builder/-/{hash}/{name}",
];
/// Queries that make another policy of a route, or let more be seen.
const FURTHER: [(&str, &str, &[&str]); 9] = [
    ("GET /site-builder/api/projects", "scope=accessible", &[]),
    (
        "GET /site-builder/api/projects",
        "scope=accessible&search=canary",
        &[],
    ),
    ("GET /site-builder/api/deleted", "scope=accessible", &[]),
    ("GET /site-builder/api/tokens", "all=1", &["all_tokens"]),
    (
        "GET /site-builder/api/tokens",
        "owner=mallory",
        &["all_tokens", "is mallory"],
    ),
    (
        "POST /site-builder/api/projects/{repo_id}/branches/{ref}/rollback",
        "dry_run=1",
        &["read"],
    ),
    (
        "PUT /site-builder/api/projects/{repo_id}/branches/{ref}/files/{path}",
        "no_validate=1",
        &["everything"],
    ),
    (
        "POST /site-builder/api/projects/{repo_id}/branches/{ref}/batch",
        "no_validate=1",
        &["everything"],
    ),
    (
        "POST /site-builder/api/projects/{repo_id}/branches/{ref}/rollback",
        "no_validate=1",
        &["everything"],
    ),
];
/// What there must be, so that a table that came out empty is noticed.
const CELLS_MIN: usize = 30_000;

/// Sends requests over one connection; of a stream that goes on only the head is read.
fn send(user: &User, asked: &[Asked], is_stream: bool) -> Vec<Answer> {
    let mut connection = Connection::open(user.address());
    let bytes: Vec<_> = asked
        .iter()
        .map(|asked| asked.by(user).to_bytes())
        .collect();
    connection.send(&bytes.concat());
    let mut answers = Vec::new();
    for asked in asked {
        let answer = if asked.method == "HEAD" || is_stream {
            connection.answer_to_head()
        } else {
            connection.answer()
        };
        answer.assert_lawful();
        answers.push(answer);
    }
    answers
}

/// A row of the matrix: a route, what its query says beside what it must, and whom it is for.
struct Row {
    route: String,
    more: &'static str,
    policy: Policy,
}

/// The routes of the document with their policies, those of the page, and further queries.
fn rows(stage: &Stage) -> Vec<Row> {
    let document = stage.root.get("/site-builder/api/openapi.json").json();
    let mut rows = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            rows.push(Row {
                route: format!("{} {path}", method.to_uppercase()),
                more: "",
                policy: Policy::of(operation),
            });
        }
    }
    rows.extend(PAGE.map(|path| Row {
        route: format!("GET {path}"),
        more: "",
        policy: Policy::Anybody,
    }));
    rows.extend(FURTHER.map(|(route, more, needs)| Row {
        route: route.to_owned(),
        more,
        policy: Policy::Session(needs.iter().map(|need| (*need).to_owned()).collect()),
    }));
    rows
}

/// A request that is right but for its sender.
fn request(stage: &Stage, scene: &Scene, row: &Row, credential: &Credential) -> Asked {
    let caller: &Caller = match credential.session {
        Session::Of(account) => stage.caller(account),
        Session::Nothing => stage.caller(OWNER),
    };
    let mut asked = match row.route.as_str() {
        "GET /" => Asked::get("/", 303),
        "GET /site-builder/{state}" => Asked::get("/site-builder/", 200),
        "GET /site-builder/licences" => Asked::get("/site-builder/licences", 200),
        "GET /site-builder/-/{hash}/{name}" => {
            let page = stage.root.get("/site-builder/");
            let mut parts = page.text().split('"');
            match parts.find(|text| text.starts_with("/site-builder/-/")) {
                Some(asset) => Asked::get(asset, 200),
                None => Asked::get("/site-builder/-/hash/name", 404),
            }
        }
        route => scene.request(&stage.daemon, route, caller),
    };
    if !row.more.is_empty() {
        let joint = if asked.target.contains('?') { '&' } else { '?' };
        asked.target.push(joint);
        asked.target.push_str(row.more);
    }
    asked
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "how much was tried is said where the tests are run"
)]
fn every_route_opens_for_whom_its_policy_says_and_for_nobody_else() {
    let mut stage = Stage::new();
    let rows = rows(&stage);
    let mut tally = Tally::default();
    for row in &rows {
        if row.route.starts_with("GET ") {
            reads(&stage, row, &mut tally);
        } else {
            changes(&mut stage, row, &mut tally);
        }
    }
    let of_routes = tally.cells;
    other_methods(&stage, &rows, &mut tally);
    assert_eq!(
        tally.seen.len(),
        MARKS.len(),
        "nobody saw what was hidden, not even who may"
    );
    eprintln!(
        "{} rows, {} credentials: {} cells, {of_routes} of methods that routes have, {} refused",
        rows.len(),
        CREDENTIALS.len(),
        tally.cells,
        tally.refused
    );
    assert!(tally.cells >= CELLS_MIN, "{} cells", tally.cells);
}

/// A route that changes nothing, by `GET` and `HEAD`.
fn reads(stage: &Stage, row: &Row, tally: &mut Tally) {
    let Row { route, policy, .. } = row;
    let before = stage.state(&stage.still);
    for credential in CREDENTIALS {
        let expected = outcome(route, policy, credential);
        let asked = request(stage, &stage.still, row, credential);
        let user = stage.user(credential);
        let is_stream = route.ends_with("/events") && expected == Outcome::Done;
        let both = ["HEAD", "GET"].map(|method| asked.by_method(method, asked.status));
        for (asked, answer) in both.iter().zip(send(&user, &both, is_stream)) {
            tally.check(route, credential, &expected, (asked, &user), &answer);
        }
    }
    assert_unchanged(&before, &stage.state(&stage.still), route);
}

/// A route that changes something: first all who may not, then each who may, on a scene of its own.
fn changes(stage: &mut Stage, row: &Row, tally: &mut Tally) {
    let Row { route, policy, .. } = row;
    let mut scene = stage.scene();
    let may = |credential: &&Credential| outcome(route, policy, credential) == Outcome::Done;
    // Some names of the scene are made when they are first asked for.
    request(stage, &scene, row, &CREDENTIALS[0]);
    let before = stage.state(&scene);
    for credential in CREDENTIALS.iter().filter(|credential| !may(credential)) {
        let asked = request(stage, &scene, row, credential);
        let user = stage.user(credential);
        let answer = &send(&user, slice::from_ref(&asked), false)[0];
        let expected = outcome(route, policy, credential);
        tally.check(route, credential, &expected, (&asked, &user), answer);
    }
    assert_unchanged(&before, &stage.state(&scene), route);
    for credential in CREDENTIALS.iter().filter(may) {
        let asked = request(stage, &scene, row, credential);
        let user = stage.user(credential);
        let answer = &send(&user, slice::from_ref(&asked), false)[0];
        tally.check(route, credential, &Outcome::Done, (&asked, &user), answer);
        if let (true, Session::Of(account)) = (route.contains(" /user/"), credential.session) {
            stage.log_in(account, *route == "PUT /user/password");
        }
        scene = stage.scene();
    }
}

/// Asserts that what was refused, or only read, changed nothing. The first of the parts tells what did.
#[track_caller]
fn assert_unchanged(before: &[Value], after: &[Value], route: &str) {
    for (before, after) in before.iter().zip(after) {
        assert_eq!(after, before, "{route} changed something");
    }
}

/// The methods that the routes of a path do not have, whoever asks.
fn other_methods(stage: &Stage, rows: &[Row], tally: &mut Tally) {
    let mut paths: BTreeMap<&str, (&Row, BTreeSet<&str>)> = BTreeMap::new();
    for row in rows {
        let (method, path) = row.route.split_once(' ').unwrap();
        let (_, has) = paths.entry(path).or_insert((row, BTreeSet::new()));
        has.extend([method, "OPTIONS"]);
        if method == "GET" {
            has.insert("HEAD");
        }
    }
    let before = stage.state(&stage.still);
    for (path, (row, allowed)) in paths {
        let asked = request(stage, &stage.still, row, &CREDENTIALS[0]);
        let is_other = |method: &&str| *method == "OPTIONS" || !allowed.contains(*method);
        let others: Vec<_> = METHODS
            .into_iter()
            .filter(is_other)
            .map(|method| asked.by_method(method, 204))
            .collect();
        for credential in CREDENTIALS {
            let user = stage.user(credential);
            for (asked, answer) in others.iter().zip(send(&user, &others, false)) {
                let expected = of_method(&asked.method, path, credential);
                tally.check(path, credential, &expected, (asked, &user), &answer);
                if matches!(answer.status, 204 | 405) {
                    let allow = answer.header("Allow").expect("it says which it has");
                    let allow: BTreeSet<_> = allow.split(", ").collect();
                    assert_eq!(allow, allowed, "{} {path}", asked.method);
                }
            }
        }
    }
    assert_unchanged(&before, &stage.state(&stage.still), "another method");
}
