//! What the log says of requests, and where it goes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Daemon, Project, READ, soon};

/// The lines of requests, as far as they are whole.
fn requests(log: &str) -> Vec<Value> {
    let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        line
    });
    lines.filter(|line| line["message"] == "request").collect()
}

#[track_caller]
fn masked(mut line: Value) -> Value {
    for (field, is_fine) in [
        ("id", line["id"].as_str().is_some_and(|id| id.len() == 16)),
        ("timestamp", line["timestamp"].is_string()),
        ("micros", line["micros"].is_u64()),
    ] {
        assert!(is_fine, "{field}: {line}");
        line.as_object_mut().unwrap().remove(field);
    }
    line
}

#[test]
fn a_line_tells_who_asked_what_by_which_route() {
    let daemon = Daemon::start_with(&["--trusted-proxies", "127.0.0.1"]);
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project).with("X-Forwarded-For", "192.0.2.7");
    let raw = format!("{READ}/projects/acme%2Fshop.erp/repository/files/a.xml/raw");
    let reader = reader.with("X-Request-Id", "proxy-7");
    assert_eq!(reader.get(&format!("{raw}?ref=main")).status, 200);
    let line = daemon.logged("proxy-7");
    assert_eq!(
        masked(line),
        json!({
            "level": "INFO", "message": "request", "client": "192.0.2.7", "method": "GET",
            "path": raw, "status": 200,
            "route": "/site-builder/api/erp-config/projects/{repo_id}/repository/files/{path}/raw",
            "query": "ref", "bytes": 4, "account": "admin", "token": 1, "proxy_request_id": "proxy-7",
            "target": "siteconf::http::log",
        })
    );
    let stranger = daemon
        .token(&"0".repeat(64))
        .with("X-Request-Id", "proxy 8");
    assert_eq!(stranger.get(&raw).status, 401);
    assert_eq!(
        masked(daemon.logged("unknown token")),
        json!({
            "level": "INFO", "message": "request", "client": "127.0.0.1", "method": "GET",
            "path": raw, "status": 401,
            "route": "/site-builder/api/erp-config/projects/{repo_id}/repository/files/{path}/raw",
            "bytes": 30, "reason": "unknown token", "target": "siteconf::http::log",
        })
    );
    assert_eq!(admin.get("/site-builder/api/tokens").status, 200);
    let listed = daemon.logged("\"route\":\"/site-builder/api/tokens\",\"bytes\":");
    assert_eq!(
        (&listed["account"], &listed["token"]),
        (&json!("admin"), &Value::Null)
    );
    assert_eq!(admin.get("/nowhere").status, 404);
    assert_eq!(daemon.logged("/nowhere")["route"], "none");
}

#[test]
fn the_operator_says_which_requests_have_a_line() {
    for (which, expected) in [
        ("all", &[("GET", 200), ("POST", 200), ("GET", 404)][..]),
        ("writes", &[("POST", 200), ("GET", 404)]),
        ("errors", &[("GET", 404)]),
        ("off", &[]),
    ] {
        let mut daemon = Daemon::start_with(&["--access-log", which]);
        assert_eq!(daemon.anonymous().get("/livez").status, 200);
        daemon.session("admin");
        assert_eq!(daemon.anonymous().get("/nowhere").status, 404);
        // The end waits a second for the log, and no longer.
        soon(|| requests(&daemon.log()).len() >= expected.len());
        assert_eq!(daemon.stop().code(), Some(0));
        let lines = requests(&daemon.log());
        let seen: Vec<_> = lines
            .iter()
            .map(|line| {
                (
                    line["method"].as_str().unwrap(),
                    line["status"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(seen, expected, "{which}");
    }
}

#[test]
fn a_log_file_is_opened_again_when_it_was_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let rotated = folder.path().join("log.1");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let flags = ["--log-file", file.to_str().unwrap()];
    let mut daemon = Daemon::start_with(&flags);
    assert_eq!(daemon.log(), "", "nothing goes to standard error");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let ask = |daemon: &Daemon, path: &str| {
        assert_eq!(daemon.anonymous().get(path).status, 404);
    };
    ask(&daemon, "/first");
    soon(|| read(&file).contains("/first"));
    for (signal, path) in [(Signal::HUP, "/second"), (Signal::USR1, "/third")] {
        fs::rename(&file, &rotated).unwrap();
        daemon.signal(signal);
        // The new file is there a moment before it is written to.
        soon(|| {
            ask(&daemon, path);
            read(&file).contains(path)
        });
        let old = read(&rotated);
        let lines = || read(&file).matches(path).count();
        let before = lines();
        ask(&daemon, path);
        soon(|| lines() > before);
        assert_eq!(read(&rotated), old);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
    }
    // Where it cannot be opened again, the old one goes on to the end, which waits a second for it: on a machine that
    // stands still for longer the last lines are lost, and it is tried once more.
    for attempt in 1.. {
        fs::rename(&file, &rotated).unwrap();
        fs::create_dir(&file).unwrap();
        daemon.signal(Signal::HUP);
        soon(|| read(&rotated).contains("the log cannot be opened again"));
        ask(&daemon, "/fourth");
        soon(|| read(&rotated).contains("/fourth"));
        assert_eq!(daemon.stop().code(), Some(0));
        if read(&rotated).contains("\"message\":\"stopped\"") {
            break;
        }
        assert!(attempt < 5, "{}", read(&rotated));
        fs::remove_dir(&file).unwrap();
        daemon.restart_with(&flags);
    }
}

#[test]
fn a_log_is_text_or_json_as_the_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let file = file.to_str().unwrap();
    for (format, is_json) in [("auto", true), ("json", true), ("text", false)] {
        fs::write(file, "").unwrap();
        let mut daemon = Daemon::start_with(&["--log-file", file, "--log-format", format]);
        // One line says that it serves, one is of this. The end waits a second for the log, and no longer.
        assert_eq!(daemon.anonymous().get("/nowhere").status, 404);
        soon(|| fs::read_to_string(file).unwrap().lines().count() >= 2);
        assert_eq!(daemon.stop().code(), Some(0));
        let log = fs::read_to_string(file).unwrap();
        assert!(log.lines().count() >= 2, "{format}: {log}");
        for line in log.lines() {
            let read = serde_json::from_str::<Value>(line);
            assert_eq!(read.is_ok(), is_json, "{format}: {line}");
            assert!(!line.contains('\u{1b}'), "{format}: {line}");
        }
    }
}

#[test]
fn a_log_file_that_cannot_be_opened_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(["serve", "--log-file", "/nowhere/log", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "siteconf: log_file = \"/nowhere/log\" (--log-file): it cannot be opened: No such file or \
         directory (os error 2)\n"
    );
    assert!(!data.exists());
}
