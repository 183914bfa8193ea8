//! Requests that a page of another site makes with a user's cookie: contract section 7.

use serde_json::json;

use crate::harness::{ADMIN, Daemon, Project, password_of};

#[test]
fn a_page_of_another_site_is_refused() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let port = daemon.address().port();
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    let foreign: [(&str, &str); 8] = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "anything"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", &other_port),
        ("Origin", "http://127.0.0.1.evil.example"),
        ("Origin", ""),
    ];
    for (header, value) in foreign {
        let page = project.seen_by(&project.user.with(header, value));
        let (user, case) = (&page.user, format!("{header}: {value}"));
        for answer in [
            user.get(&format!("{ADMIN}/projects")),
            user.get("/user/session"),
            user.get(&page.on("main", "/tree")),
            user.put(&page.file("main", "a.xml"), b"x"),
            user.post(
                &format!("{ADMIN}/projects"),
                &json!({"name": "x", "type": "erp"}),
            ),
            user.delete(&page.on("main", "")),
            user.request("POST", "/user/logout").send(),
        ] {
            assert_eq!(answer.status, 403, "{case}: {answer:?}");
        }
    }
    assert_eq!(project.tree("main"), json!([]));
}

#[test]
fn the_services_own_page_and_programs_pass() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let ours = format!("http://{}", daemon.address());
    let own: [&[(&str, &str)]; 5] = [
        &[],
        &[("Sec-Fetch-Site", "same-origin")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", &ours)],
        &[("Sec-Fetch-Site", "same-origin"), ("Origin", &ours)],
    ];
    for headers in own {
        let add = |user: crate::harness::User, (name, value): &(&str, &str)| user.with(name, value);
        let page = headers.iter().fold(alice.clone(), add);
        page.get(&format!("{ADMIN}/projects"))
            .assert_json(200, &json!([]));
    }
}

#[test]
fn another_site_cannot_log_a_user_in() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    for (header, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "https://evil.example"),
    ] {
        let answer = daemon
            .anonymous()
            .with(header, value)
            .request("POST", "/user/login")
            .json(&json!({ "username": "alice", "password": password_of("alice") }))
            .send();
        answer.assert_refused(403);
        assert_eq!(answer.header("Set-Cookie"), None);
    }
}

#[test]
fn a_token_is_no_business_of_other_sites_rules() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project).with("Sec-Fetch-Site", "cross-site");
    reader
        .get(&project.read("/tree"))
        .assert_json(200, &json!([]));
}
