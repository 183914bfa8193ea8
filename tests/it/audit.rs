//! The audit log: every route that changes something leaves exactly one record, and so does every command.

use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::audit_people;
use crate::harness::{ADMIN, Daemon, Project, password_of, segment, soon};
use crate::scene::{Caller, Scene};

const AUDIT: &str = "/site-builder/api/audit";

/// Every entry of the log, oldest first, as the command shows them.
fn log(daemon: &Daemon) -> Vec<Value> {
    let shown = daemon.command(&["audit", "--json"], "");
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// An entry without what is another every time.
fn told(entry: &Value) -> Value {
    let mut entry = entry.clone();
    let fields = entry.as_object_mut().unwrap();
    for field in ["id", "at", "suffix"] {
        fields.remove(field);
    }
    entry
}

/// What a request of this operation adds to the log.
fn change(daemon: &Daemon, name: &str) -> Value {
    let admin = Caller::log_in(daemon, "admin", &daemon.initial_password());
    let number = log(daemon).len();
    let new = format!("new-{number}");
    let scene = Scene::new(&admin.user, &admin, &format!("p{number}"), &new);
    let vera = &scene.person;
    let vera = Caller::log_in(daemon, vera, &password_of(vera));
    // Its own session goes on.
    let caller = if name == "PUT /user/password" {
        &vera
    } else {
        &admin
    };
    let asked = scene.request(daemon, name, caller);
    let before = log(daemon).len();
    asked.by(&caller.user).send().expect_status(asked.status);
    let log = log(daemon);
    let [entry] = &log[before..] else {
        panic!("{name} left {:#?}", &log[before..]);
    };
    let mut entry = told(entry);
    for field in ["project", "project_id", "tokenId"] {
        if let Some(value) = entry.get_mut(field) {
            *value = json!("*");
        }
    }
    audit_people::masked(entry)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of all routes")]
fn every_route_that_changes_something_leaves_exactly_one_record() {
    let daemon = Daemon::start();
    let document = daemon
        .anonymous()
        .get("/site-builder/api/openapi.json")
        .json();
    let mut entries = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            if method != "get" {
                let name = format!("{} {path}", method.to_uppercase());
                entries.push(json!([name, change(&daemon, &name)]));
            }
        }
    }
    let expected = |name: &str, action: &str, more: Value| {
        let mut entry = json!({ "by": "admin", "from": "127.0.0.1", "action": action });
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!([name, entry])
    };
    let project = json!({ "project": "*", "project_id": "*" });
    let main = |more: Value| {
        let mut main = json!({ "project": "*", "project_id": "*", "branch": "main" });
        main.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        main
    };
    let own = |detail: Option<&str>| {
        let mut token = json!({ "account": "admin", "tokenId": "*" });
        if let Some(detail) = detail {
            token["detail"] = json!(detail);
        }
        token
    };
    let below = "/site-builder/api/projects/{repo_id}";
    let branch = format!("{below}/branches/{{ref}}");
    let next =
        json!({ "project": "*", "project_id": "*", "branch": "next", "detail": "from main" });
    let all = [
        expected(
            "POST /site-builder/api/projects",
            "project-created",
            project.clone(),
        ),
        expected(&format!("DELETE {below}"), "project-deleted", project),
        expected(&format!("POST {below}/branches"), "branch-created", next),
        expected(
            &format!("DELETE {branch}"),
            "branch-deleted",
            main(json!({})),
        ),
        expected(
            &format!("POST {branch}/batch"),
            "batch",
            main(json!({ "snapshot": "v0003", "count": 2 })),
        ),
        expected(
            &format!("DELETE {branch}/files/{{path}}"),
            "delete",
            main(json!({ "path": "a.xml", "snapshot": "v0003" })),
        ),
        expected(
            &format!("PUT {branch}/files/{{path}}"),
            "save",
            main(json!({ "path": "a.xml", "snapshot": "v0003" })),
        ),
        expected(
            &format!("POST {branch}/rollback"),
            "rollback",
            main(json!({ "snapshot": "v0003", "restored": "v0001" })),
        ),
        expected(
            "POST /site-builder/api/tokens",
            "token-created",
            own(Some("\"n\" for *")),
        ),
        expected(
            "DELETE /site-builder/api/tokens/{token_id}",
            "token-revoked",
            own(None),
        ),
        expected(
            "PATCH /site-builder/api/tokens/{token_id}",
            "token-changed",
            own(Some("name")),
        ),
        expected(
            "POST /site-builder/api/deleted/{deleted_id}/restore",
            "branch-restored",
            json!({ "project": "*", "project_id": "*", "branch": "gone" }),
        ),
        expected("POST /user/logout", "logout", json!({})),
    ];
    entries.sort_by_key(Value::to_string);
    let mut all = all.to_vec();
    all.extend(audit_people::expected());
    all.sort_by_key(Value::to_string);
    assert_eq!(json!(entries), json!(all));
}

#[test]
fn a_first_start_is_told_and_refused_changes_are_not() {
    let daemon = Daemon::start();
    let first: Vec<_> = log(&daemon)
        .iter()
        .map(|entry| entry["action"].clone())
        .collect();
    assert_eq!(first, ["server-key-set", "account-created"]);
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    let before = log(&daemon).len();
    let body = json!({ "name": "acme/shop", "type": "erp" });
    admin
        .post(&format!("{ADMIN}/projects"), &body)
        .expect_status(400);
    admin
        .delete(&project.file("main", "absent"))
        .expect_status(404);
    let conditional = admin.with("If-Match", "\"0\"");
    conditional
        .put(&project.file("main", "a"), b"1")
        .expect_status(412);
    let dry = project.on("main", "/rollback?to=v0001&dry_run=1");
    admin.request("POST", &dry).send().expect_status(404);
    admin.get(&project.on("main", "/tree")).expect_status(200);
    assert_eq!(log(&daemon).len(), before);
}

#[test]
fn the_route_pages_and_filters_for_those_who_see_everything() {
    let daemon = Daemon::start();
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    let alice = daemon.user("alice", &["ROLE_SITEBUILDER_USER"]);
    let shop = Project::with_main(&alice, "acme/shop");
    Project::with_main(&alice, "other");
    for text in ["1", "2", "3"] {
        let saved = alice.put(&shop.file("main", "a.xml"), text.as_bytes());
        assert!(saved.status < 300);
    }
    daemon.anonymous().get(AUDIT).expect_status(401);
    alice.get(AUDIT).expect_status(403);

    let of_shop = format!("{AUDIT}?project={}", segment(&shop.id));
    let read = |target: &str| auditor.get(target).expect_status(200).json();
    let actions = |page: &Value| -> Vec<String> {
        let entries = page["entries"].as_array().unwrap().iter();
        entries
            .map(|entry| entry["action"].as_str().unwrap().to_owned())
            .collect()
    };
    let whole = read(&of_shop);
    assert_eq!(
        actions(&whole),
        ["save", "save", "save", "branch-created", "project-created"]
    );
    assert_eq!(whole["next"], Value::Null);
    let page = read(&format!("{of_shop}&limit=2"));
    assert_eq!(actions(&page), ["save", "save"]);
    let rest = read(&format!("{of_shop}&before={}", page["next"]));
    assert_eq!(
        actions(&rest),
        ["save", "branch-created", "project-created"]
    );
    assert_eq!(whole["entries"][0]["snapshot"], "v0003");
    assert_eq!(whole["entries"][0]["by"], "alice");

    let of_auditor = read(&format!("{AUDIT}?user=auditor&since=1h"));
    assert_eq!(actions(&of_auditor), ["login", "account-created"]);
    let nobody = read(&format!(
        "{AUDIT}?user=nobody&project=none&since=2026-01-01"
    ));
    assert_eq!(nobody, json!({ "entries": [], "next": null }));
    for wrong in ["since=soon", "limit=0", "limit=101", "before=x", "who=x"] {
        auditor.get(&format!("{AUDIT}?{wrong}")).expect_status(400);
    }

    // What alice was refused is told a little later.
    let refused = || {
        let entries = read(&format!("{AUDIT}?user=alice&limit=1"));
        told(&entries["entries"][0])
    };
    soon(|| refused()["action"] == "forbidden");
    assert_eq!(
        refused(),
        json!({
            "by": "alice",
            "from": "127.0.0.1",
            "action": "forbidden",
            "detail": "no role allows it: GET /site-builder/api/audit",
        })
    );
}

#[test]
fn refusals_are_told_with_whom_and_whence_and_without_secrets() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    let token = alice.issue(&json!({ "name": "t", "repos": ["*"], "expires_at": "2020-01-01" }));
    let secret = token["tokenString"].as_str().unwrap();
    daemon.login("alice", "a wrong password").expect_status(401);
    daemon
        .login("my password by mistake", "x")
        .expect_status(401);
    daemon
        .token(secret)
        .get(&project.read("/branches"))
        .expect_status(401);
    let unknown = "0".repeat(64);
    daemon
        .token(&unknown)
        .get(&project.read("/branches"))
        .expect_status(401);
    // Nobody showed anything.
    daemon
        .anonymous()
        .get(&project.read("/branches"))
        .expect_status(401);
    let refused = || -> Vec<Value> {
        let log = log(&daemon);
        log.iter()
            .filter(|entry| entry["action"].as_str().unwrap().ends_with("-refused"))
            .map(told)
            .collect()
    };
    soon(|| refused().len() >= 4);
    let from = |by: &str, action: &str, detail: String| {
        json!({
            "by": by, "from": "127.0.0.1", "action": action, "detail": detail
        })
    };
    let read = format!("GET {}", project.read("/branches"));
    let mut expired = from("alice", "token-refused", format!("expired token: {read}"));
    expired["tokenId"] = token["tokenId"].clone();
    let login = "POST /user/login";
    assert_eq!(
        refused(),
        [
            from("alice", "login-refused", format!("wrong password: {login}")),
            from(
                "unknown account",
                "login-refused",
                format!("unknown account: {login}")
            ),
            expired,
            from(
                "unknown account",
                "token-refused",
                format!("unknown token: {read}")
            ),
        ]
    );
    let all = json!(log(&daemon)).to_string();
    for secret in [secret, "a wrong password", "by mistake", &unknown] {
        assert!(!all.contains(secret), "{secret}");
    }
}

/// `siteconf audit --follow` beside a daemon.
struct Follower {
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Follower {
    fn start(daemon: &Daemon) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .args(["audit", "--follow", "--json"])
            .args(daemon.store_flags())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn what_comes_is_followed_until_ctrl_c_or_until_nobody_reads() {
    let daemon = Daemon::start();
    let mut follower = Follower::start(&daemon);
    assert_eq!(follower.next()["action"], "server-key-set");
    assert_eq!(follower.next()["action"], "account-created");
    let admin = daemon.session("admin");
    assert_eq!(follower.next()["action"], "login");
    Project::create(&admin, "acme/shop");
    assert_eq!(follower.next()["project"], "acme/shop.erp");
    let id = i32::try_from(follower.process.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    assert_eq!(follower.process.wait().unwrap().code(), Some(130));
    let mut rest = String::new();
    follower.lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");

    let mut follower = Follower::start(&daemon);
    follower.next();
    let Follower { process, lines } = &mut follower;
    *lines = BufReader::new(
        Command::new("true")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
            .stdout
            .take()
            .unwrap(),
    );
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_person_reads_columns_without_control_characters() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    admin
        .put(&project.file("main", "файл.xml"), b"1")
        .expect_status(201);
    let shown = daemon.command(
        &["audit", "--since", "1d", "--project", "acme/shop.erp"],
        "",
    );
    let text = String::from_utf8(shown.stdout).unwrap();
    let lines: Vec<_> = text
        .lines()
        .map(|line| line.split_once("  ").unwrap().1.trim())
        .collect();
    assert_eq!(
        lines,
        [
            "ACTION            BY                    FROM             WHAT",
            "project-created   admin                 127.0.0.1        acme/shop.erp",
            "branch-created    admin                 127.0.0.1        acme/shop.erp:main",
            "save              admin                 127.0.0.1        acme/shop.erp:main, файл.xml, snapshot v0001",
        ]
    );
    let none = daemon.command(&["audit", "--user", "nobody"], "");
    assert_eq!(String::from_utf8(none.stdout).unwrap().lines().count(), 1);
    let wrong = daemon.command(&["audit", "--since", "soon"], "");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn who_has_no_token_hides_no_refusal_of_one_that_is_known() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let token = project.user.issue(&json!({
        "name": "t", "repos": ["*"], "fingerprint_required": true
    }));
    let target = project.read("/branches");
    let holder = daemon.token(token["tokenString"].as_str().unwrap());
    let first = holder.request("GET", &target).header("X-Instance-Id", "a");
    first.send().expect_status(200);
    for number in 0..30 {
        let unknown = daemon.token(&format!("{number:064x}"));
        assert!(matches!(unknown.get(&target).status, 401 | 429));
    }
    let other = holder.request("GET", &target).header("X-Instance-Id", "b");
    assert!(matches!(other.send().status, 401 | 429));
    let refused = || {
        let log = log(&daemon);
        let refused = log
            .into_iter()
            .filter(|entry| entry["action"] == "token-refused");
        refused.collect::<Vec<_>>()
    };
    // It is written after all that came before it.
    soon(|| refused().len() >= 20);
    soon(|| {
        refused()
            .iter()
            .any(|entry| entry["tokenId"] == token["tokenId"])
    });
}
