//! What the service makes of request lines and headers: contract section 1.

use crate::harness::{ADMIN, Answer, Daemon, Project, READ};

/// A target that anybody may get.
const HEALTH: &str = "/site-builder/api/erp-config/health";

/// Sends a head as it stands, with `{host}` replaced, and reads the answer.
fn exchange(daemon: &Daemon, head: &str) -> Answer {
    let head = head.replace("{host}", &daemon.address().to_string());
    let mut connection = daemon.connect();
    connection.send(head.as_bytes());
    connection.answer()
}

#[test]
fn a_request_names_one_well_formed_host() {
    let daemon = Daemon::start();
    for ours in ["{host}", "127.0.0.1", "LOCALHOST", "[::1]:80"] {
        let head = format!("GET {HEALTH} HTTP/1.1\r\nHost: {ours}\r\n\r\n");
        exchange(&daemon, &head).expect_status(200);
    }
    for (hosts, status) in [
        ("", 400),
        ("Host: {host}\r\nHost: {host}\r\n", 400),
        ("Host: {host}\r\nHost: evil.example\r\n", 400),
        ("Host:\r\n", 400),
        ("Host: a b/c@d\r\n", 400),
        ("Host: 127.0.0.1:x\r\n", 400),
        ("Host: user@127.0.0.1\r\n", 400),
    ] {
        let answer = exchange(&daemon, &format!("GET {HEALTH} HTTP/1.1\r\n{hosts}\r\n"));
        assert_eq!(answer.status, status, "{hosts}: {answer:?}");
        answer.assert_lawful();
    }
}

#[test]
fn an_absolute_target_is_routed_by_its_path_if_it_names_the_same_host() {
    let daemon = Daemon::start();
    let ours = format!("GET http://{{host}}{HEALTH} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
    exchange(&daemon, &ours).expect_status(200);
    let other = format!("GET http://evil.example{HEALTH} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
    let answer = exchange(&daemon, &other);
    assert!(matches!(answer.status, 400 | 421), "{answer:?}");
    answer.assert_lawful();
}

#[test]
fn an_unknown_method_is_not_implemented() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for method in ["FOO", "get", "Get", "PROPFIND", &"X".repeat(5000)] {
        for target in [HEALTH, &project.on("main", "/tree"), "/nowhere"] {
            let answer = project.user.request(method, target).send();
            answer.assert_refused(501);
        }
    }
}

#[test]
fn a_known_target_names_the_methods_it_takes() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let reader = daemon.reader(&project);
    let file = project.file("main", "a.xml");
    for (user, target, allow) in [
        (&reader, HEALTH, "GET, HEAD, OPTIONS"),
        (&reader, &project.read("/branches"), "GET, HEAD, OPTIONS"),
        (&reader, &project.read("/tree"), "GET, HEAD, OPTIONS"),
        (&reader, &project.raw("a.xml"), "GET, HEAD, OPTIONS"),
        (
            &project.user,
            &format!("{ADMIN}/projects"),
            "GET, HEAD, POST, OPTIONS",
        ),
        (
            &project.user,
            &project.admin(""),
            "GET, HEAD, PATCH, DELETE, OPTIONS",
        ),
        (
            &project.user,
            &project.on("main", ""),
            "GET, HEAD, PATCH, DELETE, OPTIONS",
        ),
        (&project.user, &file, "GET, HEAD, PUT, DELETE, OPTIONS"),
        (
            &project.user,
            &project.on("main", "/batch"),
            "POST, OPTIONS",
        ),
        (
            &project.user,
            &format!("{ADMIN}/tokens"),
            "GET, HEAD, POST, OPTIONS",
        ),
        (
            &project.user,
            &format!("{ADMIN}/tokens/1"),
            "PATCH, DELETE, OPTIONS",
        ),
        (&project.user, "/user/login", "POST, OPTIONS"),
        (&project.user, "/user/session", "GET, HEAD, OPTIONS"),
    ] {
        let sorted = |list: &str| {
            let mut methods: Vec<_> = list.split(", ").map(str::to_owned).collect();
            methods.sort();
            methods
        };
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"] {
            if allow.split(", ").any(|known| known == method) {
                continue;
            }
            let answer = user.request(method, target).send();
            assert_eq!(answer.status, 405, "{method} {target}: {answer:?}");
            let allowed = answer.header("Allow").expect("Allow is sent");
            assert_eq!(sorted(allowed), sorted(allow), "{method} {target}");
        }
        let answer = user
            .request("OPTIONS", target)
            .header("Origin", &format!("http://{}", daemon.address()))
            .header("Access-Control-Request-Method", "PUT")
            .send();
        answer.assert_empty(204);
        assert_eq!(sorted(answer.header("Allow").unwrap()), sorted(allow));
    }
}

#[test]
fn a_tunnel_is_refused() {
    let daemon = Daemon::start();
    let head = "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\n\r\n";
    let answer = exchange(&daemon, head);
    answer.assert_refused(405);
    let allow = answer.header("Allow").expect("Allow is sent");
    assert!(!allow.contains("CONNECT"), "{allow}");
}

#[test]
fn the_server_itself_can_be_asked_for_its_options_only() {
    let daemon = Daemon::start();
    let answer = exchange(&daemon, "OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n");
    answer.assert_empty(204);
    let answer = exchange(&daemon, "GET * HTTP/1.1\r\nHost: {host}\r\n\r\n");
    answer.assert_refused(400);
}

#[test]
fn an_unknown_target_is_not_found() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for target in [
        "/nowhere",
        "/site-builder/-/nowhere",
        "/site-builder/api/nowhere",
        "/site-builder/api/erp-config/nowhere",
        "/site-builder/api/erp-config/api/v4/nowhere",
        "/site-builder/api/erp-config/api/v5/health",
        "/user",
        "/user/nowhere",
        "/SITE-BUILDER/api/projects",
        "/etc/passwd",
        &project.on("main", "/nowhere"),
        &project.admin("/nowhere"),
    ] {
        let answer = project.user.get(target);
        assert!(matches!(answer.status, 401 | 404), "{target}: {answer:?}");
    }
}

#[test]
fn bytes_that_no_target_may_hold_are_refused() {
    let daemon = Daemon::start();
    for path in [
        "/caf\u{e9}".as_bytes(),
        b"/a\\b",
        b"/a\"b",
        b"/a{b}",
        b"/a`b",
        b"/?ref=\xd1\x8f",
        b"/a b",
        b"/a\x01",
        b"/a<b>",
        b"/a\x7f",
        b"/\xff",
        b"/\xe2\x82",
    ] {
        let host = daemon.address();
        let mut connection = daemon.connect();
        let end = format!(" HTTP/1.1\r\nHost: {host}\r\n\r\n");
        connection.send(&[b"GET ", READ.as_bytes(), path, end.as_bytes()].concat());
        let answer = connection.answer();
        assert_eq!(answer.status, 400, "{path:?}: {answer:?}");
    }
}

#[test]
fn bad_escapes_are_refused_everywhere() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for bad in ["%", "%z", "%zz", "%2", "a%", "%u002e", "%ff", "%c0%ae"] {
        for target in [
            format!("{ADMIN}/projects/{bad}"),
            project.admin(&format!("/branches/{bad}/tree")),
            project.on("main", &format!("/files/{bad}")),
            project.on("main", &format!("/snapshots/{bad}/tree")),
            project.on("main", &format!("/tree?path={bad}")),
            project.on("main", &format!("/history?before={bad}")),
        ] {
            project.user.get(&target).assert_refused(400);
        }
    }
}

#[test]
fn heads_are_bounded() {
    let daemon = Daemon::start();
    let long_target = format!("{HEALTH}?{}", "x".repeat(40 << 10));
    let head = format!("GET {long_target} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
    exchange(&daemon, &head).expect_status(414);
    let fine = format!("{HEALTH}?{}", "x".repeat(16 << 10));
    let head = format!("GET {fine} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
    exchange(&daemon, &head).expect_status(200);
    let many = "X-Line: 1\r\n".repeat(101);
    let head = format!("GET {HEALTH} HTTP/1.1\r\nHost: {{host}}\r\n{many}\r\n");
    exchange(&daemon, &head).expect_status(431);
    let large = "x".repeat(200 << 10);
    let head = format!("GET {HEALTH} HTTP/1.1\r\nHost: {{host}}\r\nX-Line: {large}\r\n\r\n");
    exchange(&daemon, &head).expect_status(431);
}

#[test]
fn malformed_heads_are_refused() {
    let daemon = Daemon::start();
    for head in [
        "GET {health} HTTP/1.1\r\nHost: {host}\r\nX: a\0b\r\n\r\n",
        "GET {health} HTTP/1.1\r\nHost: {host}\r\nX : a\r\n\r\n",
        "GET {health} HTTP/1.1\r\nHost: {host}\r\n: a\r\n\r\n",
        "GET {health} HTTP/1.1\r\n Host: {host}\r\n\r\n",
        "GET {health} HTTP/1.1\r\nHost: {host}\r\nX: a\r\n folded\r\n\r\n",
        "GET {health} HTTP/1.2\r\nHost: {host}\r\n\r\n",
        "GET {health} HTTP/1.1\r\n\r\n",
        "GET {health} HTTP/1.0\r\nHost: a b\r\n\r\n",
        "GET  {health} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    ] {
        let answer = exchange(&daemon, &head.replace("{health}", HEALTH));
        assert_eq!(answer.status, 400, "{head:?}: {answer:?}");
    }
}

#[test]
fn a_probe_of_http_1_0_needs_no_host() {
    let daemon = Daemon::start();
    exchange(&daemon, &format!("GET {HEALTH} HTTP/1.0\r\n\r\n")).expect_status(200);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let token = daemon.reader(&project).credential().to_owned();
    let target = project.read("/branches?per_page=1");
    let head = format!("GET {target} HTTP/1.0\r\nPrivate-Token: {token}\r\n\r\n");
    let answer = exchange(&daemon, &head).expect_status(200);
    let links = answer.header("Link").unwrap();
    assert!(
        links.starts_with("<http://localhost/site-builder/"),
        "{links}"
    );
}

#[test]
fn headers_that_would_change_the_request_are_ignored() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    project.save("main", "a.xml", "kept");
    let target = project.file("main", "a.xml");
    for (name, value) in [
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("X-Original-URL", "/user/logout"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"),
        ("Upgrade", "h2c"),
        ("Upgrade", "websocket"),
        ("X-Request-Id", "mine"),
        ("Accept", "text/html"),
        ("Content-Type", "application/json"),
    ] {
        let answer = project.user.with(name, value).get(&target);
        answer.assert_bytes(200, b"kept");
        assert_ne!(answer.header("X-Request-Id"), Some("mine"));
        assert!(!format!("{:?}", answer.headers).contains("evil.example"));
    }
    let answer = project.user.get(&format!("{target}?_method=DELETE"));
    assert!(matches!(answer.status, 200 | 400), "{answer:?}");
    project.user.get(&target).assert_bytes(200, b"kept");
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let mut pipeline = Vec::new();
    for number in 0..100 {
        let path = format!("{number}.xml");
        project.save("main", &path, &path);
        let request = project.user.request("GET", &project.file("main", &path));
        pipeline.extend(request.to_bytes());
    }
    let mut connection = daemon.connect();
    connection.send(&pipeline);
    for number in 0..100 {
        let answer = connection.answer();
        answer.assert_bytes(200, format!("{number}.xml").as_bytes());
    }
}

#[test]
fn a_connection_outlives_an_error() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let mut connection = daemon.connect();
    for _ in 0..3 {
        let absent = project.user.request("GET", &project.file("main", "none"));
        connection.send(&absent.to_bytes());
        connection.answer().assert_refused(404);
        let tree = project.user.request("HEAD", &project.on("main", "/tree"));
        connection.send(&tree.to_bytes());
        assert_eq!(connection.answer_to_head().status, 200);
    }
}
