//! `GET /health`: specification section 4.1.

use serde_json::json;

use crate::harness::{Daemon, READ, READ_V4, masked, soon};

#[test]
fn anybody_may_ask_whether_the_service_is_well() {
    let daemon = Daemon::start();
    for mount in [READ, READ_V4] {
        let answer = daemon.anonymous().get(&format!("{mount}/health"));
        assert_eq!(answer.status, 200);
        assert_eq!(
            masked(answer.json()),
            json!({ "status": "ok", "time": "<time>", "writes": "ok" })
        );
    }
}

#[test]
fn a_wrong_address_below_the_page_is_the_page_to_a_browser_alone() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    let document = anonymous.get("/site-builder/").expect_status(200);
    let browser = anonymous.with(
        "Accept",
        "application/xhtml+xml, Text/HTML;q=0.9, */*;q=0.8",
    );
    let bearer = format!("Bearer {}", "a".repeat(64));
    // As a proxy passes on that asks people for a password of its own.
    let of_proxy = browser.with("Authorization", "Basic YTpi");
    for path in ["readyz", "v4/projects/1/repository/branches", "metrics"] {
        let target = format!("/site-builder/{path}");
        for user in [
            &anonymous,
            &anonymous.with("Accept", "*/*"),
            &anonymous.with("Accept", "application/json"),
            &browser.with("PRIVATE-TOKEN", &"a".repeat(64)),
            &browser.with("Authorization", &bearer),
        ] {
            let answer = user.get(&target);
            answer.assert_error(404, "there is no such route");
            assert_eq!(user.head(&target).status, 404, "{target}");
        }
        for user in [&browser, &of_proxy] {
            user.get(&target).assert_bytes(200, &document.body);
        }
    }
    let with_token = anonymous.with("PRIVATE-TOKEN", &"a".repeat(64));
    for user in [&with_token, &anonymous.with("Accept", "application/json")] {
        let answer = user.get("/site-builder/");
        answer.assert_bytes(200, &document.body);
    }
}

#[test]
fn probes_are_answered_to_anybody_under_any_name() {
    let daemon = Daemon::start_with(&["--hosts", "conf.example"]);
    let ask = |method: &str, path: &str| {
        let mut connection = daemon.connect();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n");
        connection.send(head.as_bytes());
        match method {
            "HEAD" => connection.answer_to_head(),
            _ => connection.answer(),
        }
    };
    for (path, status) in [("/livez", "live"), ("/readyz", "ready")] {
        let answer = ask("GET", path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.json(), json!({ "status": status }));
        assert_eq!(ask("HEAD", path).status, 200, "{path}");
        assert_eq!(ask("DELETE", path).status, 405, "{path}");
        assert_eq!(ask("GET", &format!("{path}/x")).status, 404, "{path}");
    }
    assert_eq!(ask("GET", "/user/session").status, 421);
}

/// Waits for a line of the metrics.
#[track_caller]
fn soon_shown(daemon: &Daemon, line: &str) {
    let watcher = daemon.watcher();
    soon(|| watcher.get("/metrics").text().lines().any(|it| it == line));
}

#[test]
fn a_disk_with_little_room_is_told_once() {
    let daemon = Daemon::start_with(&[
        "--disk-low-bytes",
        "1000000000000000000",
        "--metrics-listen",
        "127.0.0.1:0",
    ]);
    soon_shown(&daemon, "siteconf_disk_low 1.0");
    for _ in 0..3 {
        let answer = daemon.anonymous().get("/readyz");
        assert_eq!(answer.status, 503);
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        let rest = message.strip_prefix("not ready: the disk of the store has ");
        assert!(
            rest.unwrap()
                .ends_with(" MiB left, less than disk_low_bytes"),
            "{message}"
        );
        assert_eq!(daemon.anonymous().get("/livez").status, 200);
    }
    let told = "the disk of the store has little room left";
    assert_eq!(
        daemon.logged(told)["disk_low_bytes"],
        1_000_000_000_000_000_000_u64
    );
    assert_eq!(daemon.log().matches(told).count(), 1);
}

#[test]
fn a_bad_token_does_not_make_the_service_unwell() {
    let daemon = Daemon::start();
    let answer = daemon.token("nonsense").get(&format!("{READ}/health"));
    assert_eq!(answer.status, 200);
}

#[test]
fn a_service_that_has_stopped_writing_says_so_everywhere_until_it_is_restarted() {
    const STOPPED: &str = "the service has stopped writing after a failed write; it goes on \
                           reading, and must be restarted";
    let mut daemon = Daemon::start_with(&["--metrics-listen", "127.0.0.1:0"]);
    soon_shown(&daemon, "siteconf_writes_refused 0.0");
    let admin = daemon.session("admin");
    let project = crate::harness::Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let mark = daemon.data().join("STOPPED");
    // As any process leaves it that uses the folder.
    std::fs::write(&mark, "syncing an upload failed\n").unwrap();
    let health = || daemon.anonymous().get(&format!("{READ}/health"));
    let refused = admin.put(&project.file("main", "b.xml"), b"<b/>");
    let large = admin.put(&project.file("main", "large"), &vec![0; 100_000]);
    for answer in [health(), refused, large] {
        assert_eq!(answer.status, 503);
        assert_eq!(answer.json(), json!({ "message": STOPPED }));
        assert_eq!(answer.header("retry-after"), Some("60"));
    }
    admin
        .get(&project.file("main", "a.xml"))
        .assert_bytes(200, b"<a/>");
    let ready = daemon.anonymous().get("/readyz");
    assert_eq!(ready.status, 503);
    assert_eq!(
        ready.json(),
        json!({ "message": "not ready: writes are refused after a failed write, until the service is \
                            restarted" })
    );
    assert_eq!(daemon.anonymous().get("/livez").status, 200);
    soon_shown(&daemon, "siteconf_writes_refused 1.0");
    // Once for all of them, and not beside the line of each request.
    assert_eq!(daemon.logged("changes are refused")["refusal"], "Stopped");
    let log = daemon.log();
    assert_eq!(log.matches("changes are refused").count(), 1, "{log}");
    assert!(!log.contains("request failed"), "{log}");
    let beside = daemon.command(&["user", "add", "ann"], "");
    assert_eq!(beside.status.code(), Some(1));
    let said = String::from_utf8(beside.stderr).unwrap();
    assert!(said.contains("has stopped writing"), "{said}");

    assert_eq!(daemon.stop().code(), Some(0));
    daemon.restart();
    assert!(!mark.exists());
    let answer = daemon.anonymous().get(&format!("{READ}/health"));
    assert_eq!(answer.status, 200);
    let admin = daemon.session("admin");
    let again = admin.put(&project.file("main", "b.xml"), b"<b/>");
    assert_eq!(again.status, 201);
}

#[test]
fn a_service_whose_data_folder_was_moved_away_says_so_until_it_is_back() {
    const MOVED: &str = "the data folder of the service is not at its place any more; it must be put back, or the \
                         service restarted with the new one";
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = crate::harness::Project::with_main(&admin, "acme/shop");
    let before = vec![1; 100_000];
    project.save("main", "before", &before);
    let away = daemon.data().with_file_name("data2");
    std::fs::rename(daemon.data(), &away).unwrap();
    let small = admin.put(&project.file("main", "a.xml"), b"<a/>");
    let large = admin.put(&project.file("main", "large"), &vec![0; 100_000]);
    let read = admin.get(&project.file("main", "before"));
    for answer in [small, large, read] {
        answer.assert_error(503, MOVED);
    }
    let ready = daemon.anonymous().get("/readyz");
    ready.assert_error(
        503,
        "not ready: writes are refused: the data folder is not at its place any more; put it back, or \
         restart the service with the new one",
    );
    std::fs::rename(&away, daemon.data()).unwrap();
    let saved = admin.put(&project.file("main", "a.xml"), b"<a/>");
    assert_eq!(saved.status, 201);
    admin
        .get(&project.file("main", "before"))
        .assert_bytes(200, &before);
    assert_eq!(daemon.anonymous().get("/readyz").status, 200);
}

#[test]
fn the_service_stops_when_asked_and_keeps_what_it_has() {
    let mut daemon = Daemon::start_with(&["--metrics-listen", "127.0.0.1:0"]);
    soon_shown(&daemon, "siteconf_writes_refused 0.0");
    let admin = daemon.session("admin");
    let project = crate::harness::Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    assert_eq!(daemon.stop().code(), Some(0));
    daemon.restart();
    let answer = daemon.session("admin").get(&project.file("main", "a.xml"));
    answer.assert_bytes(200, b"<a/>");
}
