//! What a session opens and what ends it: specification section 5.3, contract section 7.

use serde_json::json;

use crate::harness::{ADMIN, Daemon, Project, READ, User, password_of, soon};

const SESSION: &str = "/user/session";

/// Asserts that a cookie opens nothing.
#[track_caller]
fn assert_logged_out(user: &User) {
    user.get(SESSION).assert_refused(401);
    user.get(&format!("{ADMIN}/projects")).assert_refused(401);
}

#[test]
fn a_user_can_ask_who_is_logged_in() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &["ROLE_SITEBUILDER_USER__acme"]);
    let told = alice.get(SESSION).expect_status(200).json();
    assert_eq!(told["username"], "alice");
    assert_eq!(told["roles"], json!(["ROLE_SITEBUILDER_USER__acme"]));
    daemon.anonymous().get(SESSION).assert_refused(401);
}

#[test]
fn nothing_of_the_admin_api_opens_without_a_session() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    let anonymous = daemon.anonymous();
    let name = project.user.credential().split_once('=').unwrap().0;
    let made_up = anonymous.with("Cookie", &format!("{name}={}", "0".repeat(64)));
    let token = daemon.reader(&project);
    let routes = [
        ("GET", format!("{ADMIN}/projects")),
        ("POST", format!("{ADMIN}/projects")),
        ("GET", project.admin("")),
        ("DELETE", project.admin("")),
        ("GET", project.admin("/branches")),
        ("POST", project.admin("/branches")),
        ("DELETE", project.on("main", "")),
        ("GET", project.on("main", "/tree")),
        ("GET", project.file("main", "a.xml")),
        ("PUT", project.file("main", "a.xml")),
        ("DELETE", project.file("main", "a.xml")),
        ("GET", project.on("main", "/events")),
        ("GET", project.admin("/events")),
        ("POST", project.on("main", "/batch")),
        ("GET", project.on("main", "/history")),
        ("GET", project.on("main", "/snapshots/v0001/tree")),
        ("GET", project.on("main", "/snapshots/v0001/files/a.xml")),
        ("GET", project.on("main", "/diff?from=v0001&to=v0002")),
        ("POST", project.on("main", "/rollback?to=v0001")),
        ("GET", format!("{ADMIN}/tokens")),
        ("POST", format!("{ADMIN}/tokens")),
        ("PATCH", format!("{ADMIN}/tokens/1")),
        ("DELETE", format!("{ADMIN}/tokens/1")),
        ("POST", format!("{ADMIN}/tokens/1/rotate")),
        ("PATCH", project.admin("")),
        ("GET", project.admin("/tokens")),
        ("PATCH", project.on("main", "")),
        ("GET", project.admin("/validation")),
        ("PUT", project.admin("/validation")),
        ("GET", project.on("main", "/validation")),
        ("GET", format!("{ADMIN}/service")),
        ("GET", format!("{ADMIN}/accounts")),
        ("POST", format!("{ADMIN}/accounts")),
        ("GET", format!("{ADMIN}/accounts/admin")),
        ("PATCH", format!("{ADMIN}/accounts/admin")),
        ("DELETE", format!("{ADMIN}/accounts/admin")),
        ("PUT", format!("{ADMIN}/accounts/admin/password")),
        ("PUT", format!("{ADMIN}/accounts/admin/roles/x")),
        ("DELETE", format!("{ADMIN}/accounts/admin/roles/x")),
        ("PUT", "/user/password".to_owned()),
        ("GET", "/user/sessions".to_owned()),
        ("DELETE", "/user/sessions/0".to_owned()),
        ("GET", format!("{ADMIN}/projects/none.erp")),
    ];
    for user in [&anonymous, &made_up, &token] {
        for (method, target) in &routes {
            user.request(method, target).send().assert_refused(401);
        }
    }
    assert_eq!(project.tree("main"), json!([]));
    assert_eq!(project.versions("main"), [""; 0]);
}

#[test]
fn a_session_opens_nothing_of_the_read_api() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for rest in ["/branches", "/tree", "/files/a.xml/raw"] {
        let answer = project.user.get(&project.read(rest));
        answer.assert_error(401, "401 Unauthorized");
    }
    let answer = project.user.get(&format!("{READ}/health"));
    answer.expect_status(200);
}

#[test]
fn logging_out_ends_the_session_on_the_server() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let elsewhere = daemon.session("alice");
    let answer = alice.request("POST", "/user/logout").send();
    answer.assert_empty(204);
    let cookie = answer.header("Set-Cookie").expect("the cookie is taken");
    assert!(cookie.to_lowercase().contains("max-age=0"), "{cookie}");
    assert_logged_out(&alice);
    elsewhere.get(SESSION).expect_status(200);
}

#[test]
fn a_new_password_ends_every_session() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    daemon.run(
        &["user", "passwd", "alice", "--password-stdin"],
        "another password\n",
    );
    soon(|| alice.get(SESSION).status != 200);
    assert_logged_out(&alice);
    daemon
        .login("alice", &password_of("alice"))
        .assert_refused(401);
    daemon.login("alice", "another password").expect_status(200);
}

#[test]
fn disabling_an_account_ends_its_sessions() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    daemon.run(&["user", "disable", "alice"], "");
    soon(|| alice.get(SESSION).status != 200);
    assert_logged_out(&alice);
    daemon.run(&["user", "enable", "alice"], "");
    soon(|| daemon.login("alice", &password_of("alice")).status == 200);
    assert_logged_out(&alice);
}

#[test]
fn a_role_counts_from_the_moment_it_is_given_or_taken() {
    let daemon = Daemon::start();
    let shop = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let bob = daemon.user("bob", &[]);
    let target = shop.on("main", "/tree");
    bob.get(&target).assert_refused(403);
    let role = "ROLE_SITEBUILDER_USER__acme";
    daemon.run(&["user", "role", "add", "bob", role], "");
    soon(|| daemon.session("bob").get(&target).status == 200);
    let bob = daemon.session("bob");
    daemon.run(&["user", "role", "remove", "bob", role], "");
    soon(|| bob.get(&target).status != 200);
    daemon.session("bob").get(&target).assert_refused(403);
}

#[test]
fn a_session_outlives_a_restart_of_the_service() {
    let mut daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let cookie = alice.credential().to_owned();
    daemon.kill();
    daemon.restart();
    daemon
        .anonymous()
        .with("Cookie", &cookie)
        .get(SESSION)
        .expect_status(200);
}

#[test]
fn two_session_cookies_are_no_session() {
    let daemon = Daemon::start();
    let alice = daemon.user("alice", &[]);
    let (cookie, name) = {
        let cookie = alice.credential();
        (cookie, cookie.split_once('=').unwrap().0)
    };
    let anonymous = daemon.anonymous();
    let ask = |value: &str| anonymous.with("Cookie", value).get(SESSION);
    ask(&format!("theme=dark; {cookie}; lang=ru")).expect_status(200);
    ask(&format!("{cookie}; {name}=other")).assert_refused(401);
    ask(&format!("{name}=other; {cookie}")).assert_refused(401);
    let two_lines = anonymous
        .with("Cookie", cookie)
        .with("Cookie", &format!("{name}={}", "0".repeat(64)));
    two_lines.get(SESSION).assert_refused(401);
    for value in [
        format!("{name}="),
        format!("{cookie}0"),
        format!("{cookie} 0"),
        cookie.to_uppercase(),
        cookie.replacen(name, "other", 1),
    ] {
        ask(&value).assert_refused(401);
    }
}
