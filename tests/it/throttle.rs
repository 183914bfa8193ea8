//! Who fails too often, and what the log says of who is refused.

use std::thread;

use regex::Regex;
use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, READ, User, password_of, soon};

/// So many a minute, of which the first is forgiven after half of it: longer than a password takes on any machine.
const FEW: &str = "2";

/// A daemon behind a proxy, which tells of its clients.
fn behind_a_proxy(flags: &[&str]) -> Daemon {
    Daemon::start_with(&[&["--trusted-proxies", "127.0.0.1"], flags].concat())
}

fn from(daemon: &Daemon, address: &str) -> User {
    daemon.anonymous().with("X-Forwarded-For", address)
}

fn log_in(user: &User, name: &str, password: &str) -> Answer {
    let body = json!({ "username": name, "password": password });
    user.post("/user/login", &body)
}

/// Waits until the log's last line of a request is of this status, and gives it.
#[track_caller]
fn logged(daemon: &Daemon, status: u16) -> Value {
    let mut last = Value::Null;
    soon(|| {
        let log = daemon.log();
        let whole = log.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let lines = whole.lines().rev().map(serde_json::from_str::<Value>);
        let mut lines = lines.map(|line| line.expect("a line is JSON"));
        last = lines
            .find(|line| line["message"] == "request")
            .unwrap_or_default();
        last["status"] == status
    });
    last
}

#[track_caller]
fn assert_logged(daemon: &Daemon, status: u16, client: &str, account: &Value, reason: &str) {
    let mut line = Value::Null;
    soon(|| {
        line = logged(daemon, status);
        line["reason"] == reason
    });
    assert_eq!(
        [&line["client"], &line["account"]],
        [&json!(client), account]
    );
}

#[track_caller]
fn assert_to_wait(answer: &Answer, message: &str) {
    let seconds = answer.header("Retry-After").expect("when to come back");
    let message = format!("{message}; try again in {seconds} s");
    answer.assert_error(429, &message);
    let seconds: u64 = seconds.parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
}

#[test]
fn who_guesses_a_password_waits_and_others_do_not() {
    let daemon = behind_a_proxy(&["--wrong-logins-minute-max", FEW]);
    daemon.add_account("alice", &[]);
    let guesser = from(&daemon, "192.0.2.66");
    for guess in 0..2 {
        log_in(&guesser, "alice", &format!("guess {guess}")).assert_refused(401);
    }
    let right = password_of("alice");
    let answer = log_in(&guesser, "alice", &right);
    assert_to_wait(&answer, "too many wrong logins");
    let reason = "too many wrong logins";
    assert_logged(&daemon, 429, "192.0.2.66", &json!("alice"), reason);
    // The same network of IPv6 is the same client, another address is not.
    log_in(&from(&daemon, "2001:db8::1"), "alice", &right).expect_status(200);
    for _ in 0..2 {
        log_in(&from(&daemon, "2001:db8:1::1"), "alice", "guess").assert_refused(401);
    }
    let neighbour = from(&daemon, "2001:db8:1::2");
    assert_to_wait(&log_in(&neighbour, "alice", &right), reason);
}

#[test]
fn who_guesses_names_waits_and_who_logged_in_there_does_not() {
    let daemon = behind_a_proxy(&["--wrong-logins-minute-address-max", FEW]);
    for name in ["alice", "bob"] {
        daemon.add_account(name, &[]);
    }
    let office = from(&daemon, "192.0.2.66");
    log_in(&office, "alice", &password_of("alice")).expect_status(200);
    for guess in 0..2 {
        log_in(&office, &format!("user{guess}"), "guess").assert_refused(401);
    }
    let waits = log_in(&office, "bob", &password_of("bob"));
    assert_to_wait(&waits, "too many wrong logins");
    log_in(&office, "alice", &password_of("alice")).expect_status(200);
    log_in(&from(&daemon, "192.0.2.1"), "bob", &password_of("bob")).expect_status(200);
}

#[test]
fn who_logs_in_all_the_time_waits_and_others_do_not() {
    let daemon = behind_a_proxy(&["--logins-minute-account-max", FEW]);
    for name in ["alice", "bob"] {
        daemon.add_account(name, &[]);
    }
    let right = password_of("alice");
    let once = |number| {
        let client = from(&daemon, &format!("192.0.2.{number}"));
        log_in(&client, "alice", &right)
    };
    for number in 2..4 {
        once(number).expect_status(200);
    }
    assert_to_wait(&once(4), "too many logins of one account");
    let office = from(&daemon, "192.0.2.1");
    log_in(&office, "bob", &password_of("bob")).expect_status(200);
}

#[test]
fn who_finds_no_place_to_log_in_is_told_whether_others_have_them() {
    let daemon = behind_a_proxy(&[
        "--logins-at-once-max=1",
        "--logins-waiting-max=0",
        "--logins-waiting-address-max=1",
        "--logins-minute-account-max=0",
    ]);
    daemon.add_account("alice", &[]);
    let right = password_of("alice");
    // Who finds the place taken, of some who log in at once.
    let refused = |addresses: [&str; 4]| {
        let mut refused = None;
        soon(|| {
            let clients = addresses.map(|address| from(&daemon, address));
            let answers = thread::scope(|scope| {
                let right = &right;
                let logins =
                    clients.map(|client| scope.spawn(move || log_in(&client, "alice", right)));
                logins.map(|login| login.join().unwrap())
            });
            refused = answers.into_iter().find(|answer| answer.status != 200);
            refused.is_some()
        });
        refused.unwrap()
    };
    let by_others = refused(["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"]);
    by_others.assert_error(503, "too many logins at once; try again in a moment");
    assert_eq!(by_others.header("Retry-After"), Some("1"));
    // Both logs tell of it, as of what one client does too often.
    let reason = "too many logins at once";
    soon(|| {
        let log = daemon.log();
        let mut lines = log.lines().filter(|line| line.contains("\"status\":503"));
        lines.any(|line| line.contains(&format!("\"reason\":\"{reason}\"")))
    });
    soon(|| {
        let shown = daemon.command(&["audit", "--json"], "");
        assert!(shown.status.success(), "{shown:?}");
        let text = String::from_utf8(shown.stdout).unwrap();
        let mut entries = text.lines().map(serde_json::from_str::<Value>);
        entries.any(|entry| {
            let entry = entry.expect("a line is JSON");
            entry["action"] == "login-throttled"
                && entry["by"] == "alice"
                && entry["detail"] == format!("{reason}: POST /user/login")
        })
    });
    let by_itself = refused(["192.0.2.1"; 4]);
    assert_to_wait(&by_itself, reason);
}

#[test]
fn a_new_password_that_will_not_do_counts_as_a_login() {
    // The first is that of its session.
    let daemon = Daemon::start_with(&["--logins-minute-account-max", FEW]);
    let alice = daemon.user("alice", &[]);
    let body = json!({ "old_password": password_of("alice"), "new_password": "short" });
    let put = || alice.request("PUT", "/user/password").json(&body).send();
    put().assert_refused(400);
    assert_to_wait(&put(), "too many logins of one account");
}

#[test]
fn an_account_guessed_from_many_addresses_opens_where_it_had_a_session_before_the_start() {
    let flags = [
        "--trusted-proxies",
        "127.0.0.1",
        "--wrong-logins-minute-account-max",
        FEW,
    ];
    let mut daemon = Daemon::start_with(&flags);
    daemon.add_account("alice", &[]);
    let right = password_of("alice");
    let home = |daemon: &Daemon| log_in(&from(daemon, "2001:db8::1"), "alice", &right);
    home(&daemon).expect_status(200);
    daemon.stop();
    daemon.restart_with(&flags);
    for guesser in 1..3 {
        let guesser = from(&daemon, &format!("192.0.2.{guesser}"));
        log_in(&guesser, "alice", "guess").assert_refused(401);
    }
    let elsewhere = log_in(&from(&daemon, "192.0.2.66"), "alice", &right);
    assert_to_wait(&elsewhere, "too many wrong logins");
    home(&daemon).expect_status(200);
}

#[test]
fn who_guesses_names_keeps_nobody_out_who_had_a_session_there_before_the_start() {
    let flags = [
        "--trusted-proxies",
        "127.0.0.1",
        "--wrong-logins-minute-address-max",
        FEW,
    ];
    let mut daemon = Daemon::start_with(&flags);
    for name in ["alice", "bob"] {
        daemon.add_account(name, &[]);
    }
    let at_office = |daemon: &Daemon, name: &str, password: &str| {
        let office = from(daemon, "192.0.2.66");
        log_in(&office, name, password)
    };
    at_office(&daemon, "alice", &password_of("alice")).expect_status(200);
    daemon.stop();
    daemon.restart_with(&flags);
    for guess in 0..2 {
        at_office(&daemon, &format!("user{guess}"), "guess").assert_refused(401);
    }
    let waits = at_office(&daemon, "bob", &password_of("bob"));
    assert_to_wait(&waits, "too many wrong logins");
    at_office(&daemon, "alice", &password_of("alice")).expect_status(200);
}

#[test]
fn bad_tokens_are_told_to_wait_and_good_ones_beside_them_are_not() {
    let daemon = behind_a_proxy(&["--wrong-tokens-minute-address-max", "3"]);
    let alice = daemon.user("alice", &[]);
    let token = alice.issue(&json!({ "name": "erp", "repos": ["*"] }));
    let good = token["tokenString"].as_str().unwrap();
    let office = from(&daemon, "192.0.2.66");
    let ask = |token: &str| {
        office
            .with("PRIVATE-TOKEN", token)
            .get(&format!("{READ}/user"))
    };
    let bad = "0".repeat(64);
    for _ in 0..3 {
        ask(&bad).assert_refused(401);
    }
    let reason = "too many requests with tokens that do not count";
    assert_to_wait(&ask(&bad), reason);
    assert_logged(&daemon, 429, "192.0.2.66", &Value::Null, reason);
    for _ in 0..10 {
        ask(good).expect_status(200);
    }
    let elsewhere = from(&daemon, "192.0.2.1").with("PRIVATE-TOKEN", &bad);
    elsewhere.get(&format!("{READ}/user")).assert_refused(401);
}

#[test]
fn bad_tokens_of_a_48_of_ipv6_are_told_to_wait_from_wherever_they_come_there() {
    let daemon = behind_a_proxy(&["--wrong-tokens-minute-address-max", "1"]);
    let ask = |address: &str| {
        let client = from(&daemon, address).with("PRIVATE-TOKEN", &"0".repeat(64));
        client.get(&format!("{READ}/user"))
    };
    // Each is another client, which has shown none before.
    let mut answers = (0..50).map(|network| ask(&format!("2001:db8:1:{network}::1")));
    let refused = answers.find(|answer| answer.status != 401);
    let reason = "too many requests with tokens that do not count";
    assert_to_wait(&refused.expect("the /48 has its part"), reason);
    ask("2001:db8:2::1").assert_refused(401);
}

#[test]
fn the_log_says_who_was_refused_and_why() {
    let daemon = behind_a_proxy(&[]);
    let alice = daemon.user("alice", &[]);
    let client = from(&daemon, "192.0.2.66");
    let project = Project::create(&alice, "acme");
    let user = format!("{READ}/user");
    let bound = json!({ "name": "erp", "repos": ["*"], "fingerprint_required": true });
    let bound = alice.issue(&bound)["tokenString"]
        .as_str()
        .unwrap()
        .to_owned();
    let bound = client.with("PRIVATE-TOKEN", &bound);
    let session = client.with("Cookie", daemon.user("bob", &[]).credential());
    let expect = |status: u16, account: &Value, reason: &str| {
        assert_logged(&daemon, status, "192.0.2.66", account, reason);
    };
    let (nobody, name) = (Value::Null, json!("alice"));

    log_in(&client, "alice", "wrong").assert_refused(401);
    expect(401, &name, "wrong password");
    log_in(&client, "a password as a name", "wrong").assert_refused(401);
    expect(401, &nobody, "unknown account");
    client.get(&user).assert_refused(401);
    expect(
        401,
        &nobody,
        "no credential, or one that is not in its form",
    );
    client
        .with("PRIVATE-TOKEN", &"0".repeat(64))
        .get(&user)
        .assert_refused(401);
    expect(401, &nobody, "unknown token");
    bound.get(&user).assert_refused(401);
    expect(401, &name, "no X-Instance-Id beside a bound token");
    session.get(&project.admin("")).assert_refused(403);
    expect(403, &json!("bob"), "no role allows it");
    session
        .with("Sec-Fetch-Site", "cross-site")
        .get(&project.admin(""))
        .assert_refused(403);
    expect(403, &nobody, "a request of another site");
    client.get(&format!("{READ}/health")).expect_status(200);
    let line = logged(&daemon, 200);
    assert_eq!(
        (&line["client"], line.get("account"), line.get("reason")),
        (&json!("192.0.2.66"), None, None)
    );
}

#[test]
fn the_filter_of_the_readme_finds_wrong_logins_and_nothing_else() {
    let daemon = behind_a_proxy(&["--wrong-logins-minute-max", "1"]);
    let alice = daemon.user("alice", &[]);
    for address in ["192.0.2.66", "2001:db8::7"] {
        let guesser = from(&daemon, address);
        log_in(&guesser, "alice", "guess").assert_refused(401);
        // That may be what others did, who guess at the same account.
        log_in(&guesser, "alice", "guess").assert_refused(429);
    }
    log_in(&from(&daemon, "192.0.2.1"), "alice", &password_of("alice")).expect_status(200);
    // However the path is written.
    for (address, path) in [
        ("192.0.2.67", "//user/login"),
        ("192.0.2.68", "/user/%6cogin"),
    ] {
        let body = json!({ "username": "alice", "password": "guess" });
        from(&daemon, address).post(path, &body).assert_refused(401);
    }
    // What a client writes into a request does not pass for another's failure.
    let rest = r#"","status":401,"route":"/user/login","#;
    let another = format!(r#"/x","client":"192.0.2.9","method":"POST","path":"{rest}"#);
    for forged in [another, format!("/x{rest}"), format!("/user/login{rest}")] {
        for path in [forged.clone(), forged.replace('"', "%22")] {
            let client = from(&daemon, "192.0.2.2");
            let status = client.post(&path, &json!({})).status;
            assert!([400, 404].contains(&status), "{path}: {status}");
        }
    }
    alice.get(&format!("{READ}/user")).assert_refused(401);
    from(&daemon, "192.0.2.3").get("/last").assert_refused(404);
    soon(|| daemon.log().contains("\"path\":\"/last\""));

    let readme = include_str!("../../README.md");
    let filter = readme
        .lines()
        .find_map(|line| line.strip_prefix("failregex = "))
        .expect("the README has a filter");
    // fail2ban takes the time out of the line, and puts this in place of the address.
    let filter = Regex::new(&filter.replace("<ADDR>", "(?<address>[0-9a-f.:]+)")).unwrap();
    let time = Regex::new(r#""timestamp":"[^"]*""#).unwrap();
    let log = daemon.log();
    let found = log.lines().filter_map(|line| {
        let line = time.replace(line, r#""timestamp":"""#);
        Some(filter.captures(&line)?["address"].to_owned())
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        ["192.0.2.66", "2001:db8::7", "192.0.2.67", "192.0.2.68"]
    );
}
