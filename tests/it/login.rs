//! Logging in: contract section 7.

use serde_json::json;

use crate::harness::{Answer, Daemon, cookie_of, password_of, soon};

const REFUSAL: &str = "Invalid username or password";

/// What a cookie is given besides its value, in lower case and sorted.
fn attributes(answer: &Answer) -> Vec<String> {
    let cookie = answer.header("Set-Cookie").expect("a cookie is set");
    let mut attributes: Vec<_> = cookie
        .split(';')
        .skip(1)
        .map(|attribute| attribute.trim().to_lowercase())
        .collect();
    attributes.sort();
    attributes
}

/// Asserts that an answer tells its session as the session itself does.
#[track_caller]
fn assert_is(answer: &Answer, name: &str, roles: &[&str]) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.json();
    assert_eq!(
        (&told["username"], &told["roles"]),
        (&json!(name), &json!(roles))
    );
    let fields: Vec<_> = told.as_object().unwrap().keys().collect();
    let all = [
        "expires_at",
        "idle_s",
        "limits",
        "may",
        "roles",
        "server",
        "username",
    ];
    assert_eq!(fields, all);
}

#[test]
fn a_user_logs_in_with_json() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &["ROLE_SITEBUILDER_USER"]);
    let answer = daemon.login("alice", &password_of("alice"));
    assert_is(&answer, "alice", &["ROLE_SITEBUILDER_USER"]);
}

#[test]
fn a_user_logs_in_with_a_form() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    let answer = daemon
        .anonymous()
        .request("POST", "/user/login")
        .form("username=alice&password=alice+has+a%20password")
        .send();
    assert_is(&answer, "alice", &[]);
    cookie_of(&answer);
    // The escapes are ASCII in every charset.
    let answer = daemon
        .anonymous()
        .request("POST", "/user/login")
        .header(
            "Content-Type",
            "application/x-www-form-urlencoded; charset=ISO-8859-1",
        )
        .body(b"username=alice&password=alice+has+a%20password")
        .send();
    assert_is(&answer, "alice", &[]);
}

#[test]
fn the_first_start_makes_an_administrator() {
    let daemon = Daemon::start();
    let answer = daemon.login("admin", &daemon.initial_password());
    assert_is(&answer, "admin", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
}

#[test]
fn a_wrong_password_and_an_unknown_user_get_the_same_answer() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    let wrong = daemon.login("alice", "not her password");
    wrong.assert_error(401, REFUSAL);
    let unknown = daemon.login("nobody", "not her password");
    unknown.assert_error(401, REFUSAL);
    assert_eq!(wrong.lasting_headers(), unknown.lasting_headers());
    assert_eq!(wrong.header("Set-Cookie"), None);
    for name in ["", "ALICE", "../alice", "алиса", "a b"] {
        daemon
            .login(name, &password_of("alice"))
            .assert_error(401, REFUSAL);
    }
}

#[test]
fn a_disabled_user_is_told_no_more_than_an_unknown_one() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    daemon
        .login("alice", &password_of("alice"))
        .expect_status(200);
    daemon.run(&["user", "disable", "alice"], "");
    soon(|| daemon.login("alice", &password_of("alice")).status != 200);
    daemon
        .login("alice", &password_of("alice"))
        .assert_error(401, REFUSAL);
    daemon.run(&["user", "enable", "alice"], "");
    soon(|| daemon.login("alice", &password_of("alice")).status == 200);
}

#[test]
fn the_cookie_is_out_of_reach_of_scripts_and_other_sites() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    let answer = daemon.login("alice", &password_of("alice"));
    let attributes = attributes(&answer);
    for attribute in ["httponly", "path=/", "samesite=strict"] {
        assert!(
            attributes.iter().any(|have| have == attribute),
            "{attributes:?}"
        );
    }
    for attribute in &attributes {
        assert!(
            !attribute.starts_with("domain") && attribute != "secure",
            "{attribute} over plain HTTP"
        );
    }
    let cookie = cookie_of(&answer);
    let value = cookie.split_once('=').unwrap().1;
    assert_eq!(value.len(), 64);
    assert!(value.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn every_login_gets_a_cookie_of_its_own() {
    let daemon = Daemon::start();
    daemon.add_account("alice", &[]);
    let usual = cookie_of(&daemon.login("alice", &password_of("alice")));
    let name = usual.split_once('=').unwrap().0;
    let fixed = format!("{name}={}", "a".repeat(64));
    let login = || {
        daemon
            .anonymous()
            .with("Cookie", &fixed)
            .post(
                "/user/login",
                &json!({ "username": "alice", "password": password_of("alice") }),
            )
            .expect_status(200)
    };
    let (first, second) = (cookie_of(&login()), cookie_of(&login()));
    assert_ne!(first, second);
    assert_ne!(first, fixed);
    daemon
        .anonymous()
        .with("Cookie", &fixed)
        .get("/user/session")
        .assert_refused(401);
}

#[test]
fn a_login_is_a_name_and_a_password_and_nothing_else() {
    let daemon = Daemon::start();
    let login = |body: &str| {
        daemon
            .anonymous()
            .request("POST", "/user/login")
            .header("Content-Type", "application/json")
            .body(body.as_bytes())
            .send()
    };
    for body in [
        "",
        "{}",
        "null",
        "[]",
        r#"{"username":"admin"}"#,
        r#"{"password":"x"}"#,
        r#"{"username":"admin","password":1}"#,
        r#"{"username":["admin"],"password":"x"}"#,
        r#"{"username":"admin","password":"x","roles":[]}"#,
        r#"{"username":"admin","username":"admin","password":"x"}"#,
        r#"{"username":"admin","password":"x"} trailing"#,
    ] {
        login(body).assert_refused(400);
    }
    for (form, message) in [
        ("", "field \"username\" of the form is missing"),
        (
            "username=admin&password=x&remember=1",
            "the form has an unknown field \"remember\"",
        ),
        (
            "username=admin",
            "field \"password\" of the form is missing",
        ),
        (
            "username=admin&password=%zz",
            "malformed percent escape: \"%\" must be followed by two hexadecimal digits",
        ),
    ] {
        let login = daemon.anonymous().request("POST", "/user/login");
        login.form(form).send().assert_error(400, message);
    }
    daemon
        .anonymous()
        .request("POST", "/user/login")
        .header("Content-Type", "text/plain")
        .body(br#"{"username":"admin","password":"x"}"#)
        .send()
        .assert_refused(415);
    let answer = daemon.anonymous().get("/user/login");
    answer.assert_refused(405);
    assert_eq!(answer.header("Allow"), Some("POST, OPTIONS"));
}
