//! Under which name the service is asked, and what it answers to names that mean nothing.

use crate::harness::{Daemon, Project, READ};

/// Sends a request of this head, and gives the answer's status.
fn status(daemon: &Daemon, head: &str) -> u16 {
    let mut connection = daemon.connect();
    connection.send(format!("{head}\r\n\r\n").as_bytes());
    connection.answer().status
}

#[test]
fn only_the_names_of_the_service_are_answered() {
    let daemon = Daemon::start_with(&[
        "--external-url",
        "https://conf.example",
        "--hosts",
        "conf.inner,10.0.0.1",
    ]);
    let ask =
        |path: &str, host: &str| status(&daemon, &format!("GET {path} HTTP/1.1\r\nHost: {host}"));
    let user = format!("{READ}/user");
    for host in ["conf.example", "conf.inner:8080", "10.0.0.1", "localhost:1"] {
        assert_eq!(ask(&user, host), 401, "{host}");
    }
    assert_eq!(ask(&user, "evil.example"), 421);
    assert_eq!(ask("/user/session", "evil.example"), 421);
    assert_eq!(ask(&format!("{READ}/health"), "10.0.0.7:8080"), 200);
    assert_eq!(status(&daemon, &format!("GET {user} HTTP/1.0")), 401);
    let mut connection = daemon.connect();
    connection.send(format!("GET {user} HTTP/1.1\r\nHost: evil.example\r\n\r\n").as_bytes());
    connection.answer().assert_error(
        421,
        "this service has no such name; its settings external_url and hosts say which it has",
    );
}

#[test]
fn with_an_external_url_only_that_origin_passes() {
    let daemon = Daemon::start_with(&["--external-url", "https://conf.example"]);
    for (origin, expected) in [
        ("https://conf.example", 204),
        ("http://conf.example", 403),
        ("https://conf.example:444", 403),
    ] {
        let head = format!(
            "POST /user/logout HTTP/1.1\r\nHost: conf.example\r\nOrigin: {origin}\r\nContent-Length: 0"
        );
        assert_eq!(status(&daemon, &head), expected, "{origin}");
    }
}

#[test]
fn the_usual_port_of_a_scheme_may_be_written_out() {
    let written_out = Daemon::start_with(&["--external-url", "http://conf.example:80"]);
    let none = Daemon::start();
    let behind = Daemon::start_with(&["--trusted-proxies", "127.0.0.1"]);
    let told = "conf.example:443\r\nX-Forwarded-Proto: https";
    for (daemon, host, origin, expected) in [
        (&written_out, "conf.example", "http://conf.example", 204),
        (&written_out, "conf.example", "http://conf.example:80", 204),
        (&written_out, "conf.example", "https://conf.example", 403),
        (&none, "conf.example:80", "http://conf.example", 204),
        (&none, "conf.example:443", "http://conf.example", 403),
        (&behind, told, "https://conf.example", 204),
        (&behind, told, "http://conf.example", 403),
    ] {
        let head = format!(
            "POST /user/logout HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: 0"
        );
        assert_eq!(status(daemon, &head), expected, "{host} {origin}");
    }
    for (target, host, expected) in [
        ("http://conf.example:80", "conf.example", 200),
        ("http://conf.example", "conf.example:80", 200),
        ("http://conf.example:443", "conf.example", 400),
    ] {
        let head = format!("GET {target}{READ}/health HTTP/1.1\r\nHost: {host}");
        assert_eq!(status(&none, &head), expected, "{target} {host}");
    }
}

#[test]
fn an_unknown_method_is_no_error_of_the_service() {
    let daemon = Daemon::start();
    assert_eq!(status(&daemon, "FOO / HTTP/1.1\r\nHost: x"), 501);
    daemon.logged("\"status\":501");
    // Nor is it one that fills the log.
    let long = "M".repeat(60_000);
    assert_eq!(
        status(&daemon, &format!("{long} / HTTP/1.1\r\nHost: x")),
        501
    );
    assert_eq!(daemon.logged("MMM")["method"], long[..1024]);
    let log = daemon.log();
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn a_project_has_one_number_and_its_answers_vary_by_instance() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let body = serde_json::json!({ "name": "erp", "repos": ["*"] });
    let token = project.user.issue(&body);
    let reader = daemon.token(token["tokenString"].as_str().unwrap());
    let number = project.number;
    let found = reader
        .get(&format!("{READ}/projects/{number}"))
        .expect_status(200);
    let vary = found.header("Vary").unwrap();
    assert!(
        vary.split(", ").any(|name| name == "X-Instance-Id"),
        "{vary}"
    );
    let wrong = reader.get(&format!("{READ}/projects/0{number}"));
    wrong.assert_error(404, "404 Project Not Found");
}
