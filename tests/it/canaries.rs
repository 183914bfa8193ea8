//! Whatever proves who somebody is, passwords, tokens, cookies and the ids of instances, is nowhere but with
//! whom it belongs: after every route and every kind of mistake, all that the service wrote and all that it
//! refused is searched. What is not secret is found there, so the search finds what there is.

use std::collections::BTreeMap;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::bytes::Regex;
use serde_json::{Value, json};

use crate::harness::{ADMIN, Answer, Daemon, Project, READ, User, password_of, segment};
use crate::scene::{Caller, Scene};

/// In the name of a project and of a file, in what a file holds, and in what is asked for.
const PLANTED: &str = "planted-8e1c5d";
/// Bytes that a file holds as they are.
const PLANTED_BYTES: &str = "d1a0c7e5b4938271605f4e3d2c1b0a99887766554433221100ffeeddccbbaa90";
/// A password that somebody sends as another kind of value.
const DIGITS: u64 = 918_273_645_546_372_819;

/// A service that says all it can say, and what is told it and must not be repeated.
struct Stage {
    daemon: Daemon,
    /// What each secret is, by its text.
    secrets: BTreeMap<String, String>,
    /// All refusals, heads and bodies.
    refused: Vec<u8>,
}

impl Stage {
    fn new() -> Self {
        let daemon = Daemon::start_with(&[
            "--log",
            "trace",
            "--metrics-listen",
            "127.0.0.1:0",
            "--wrong-logins-minute-max",
            "0",
            "--wrong-logins-minute-address-max",
            "0",
        ]);
        let first = daemon.initial_password();
        Self {
            daemon,
            secrets: BTreeMap::from([(first, "the first password".to_owned())]),
            refused: Vec::new(),
        }
    }

    fn keep(&mut self, secret: &str, what: &str) {
        self.secrets.insert(secret.to_owned(), what.to_owned());
    }

    /// Keeps what an answer tells whom it belongs to, or all of it if it is a refusal.
    fn note(&mut self, what: &str, answer: &Answer) {
        if answer.status >= 400 {
            self.refused
                .extend(format!("{what}: {:?} ", answer.headers).bytes());
            self.refused.extend(&answer.body);
            return;
        }
        if let Some(cookie) = answer.header("Set-Cookie") {
            let value = cookie.split(['=', ';']).nth(1).unwrap();
            if !value.is_empty() {
                self.keep(value, &format!("the cookie of {what}"));
            }
        }
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        for field in ["tokenString", "password"] {
            if let Some(secret) = body[field].as_str() {
                self.keep(secret, &format!("the {field} of {what}"));
            }
        }
    }

    fn log_in(&mut self, name: &str, password: &str) -> Caller {
        self.keep(password, &format!("the password of {name}"));
        let caller = Caller::log_in(&self.daemon, name, password);
        let cookie = caller.user.secrets().next().unwrap().to_owned();
        self.keep(&cookie, &format!("the cookie of {name}"));
        caller
    }

    /// Each route of the document, as whoever may asks for it.
    fn ask_every_route(&mut self, admin: &Caller) {
        let document = admin.user.get("/site-builder/api/openapi.json").json();
        let token = admin
            .user
            .issue(&json!({ "name": "reader", "repos": ["*"] }));
        let token = token["tokenString"].as_str().unwrap().to_owned();
        self.keep(&token, "a token that reads");
        let (reader, nobody) = (self.daemon.token(&token), self.daemon.anonymous());
        let still = Scene::new(&admin.user, admin, "still", "still");
        let mut number = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                let route = format!("{} {path}", method.to_uppercase());
                // It goes on, and its head says all.
                let is_stream = path.ends_with("/events");
                if is_stream || route == "PUT /user/password" {
                    continue;
                }
                number += 1;
                let fresh = (method != "get").then(|| {
                    let name = format!("p{number}");
                    Scene::new(&admin.user, admin, &name, &format!("new-{number}"))
                });
                let scene = fresh.as_ref().unwrap_or(&still);
                self.keep(&password_of(&scene.person), "the password of a person");
                self.keep(&password_of(&format!("new-{number}")), "a new password");
                // Its own session goes on.
                let caller = match route.as_str() {
                    "POST /user/logout" => &self.log_in(&scene.person, &password_of(&scene.person)),
                    _ => admin,
                };
                let asked = scene.request(&self.daemon, &route, caller);
                let user = match path.as_str() {
                    // A login ends the session that comes with it.
                    "/user/login" => &nobody,
                    path if path.contains("/erp-config/") => &reader,
                    _ => &caller.user,
                };
                let answer = asked.by(user).send().expect_status(asked.status);
                self.note(&route, &answer);
            }
        }
    }

    /// Secrets where they do not belong, or that are wrong.
    fn make_mistakes(&mut self, admin: &Caller, project: &Project) {
        let alice = self.log_in("alice", &password_of("alice"));
        let token = alice.user.issue(&json!({ "name": "t", "repos": ["*"] }));
        let bound = json!({ "name": "b", "repos": [project.id], "fingerprint_required": true });
        let bound = admin.user.issue(&bound);
        let [token, bound] = [&token, &bound].map(|token| token["tokenString"].as_str().unwrap());
        self.keep(token, "a token of alice");
        self.keep(bound, "a token that is bound");
        let (instance, other) = ("instance-of-berlin", "instance-of-paris");
        self.keep(instance, "an instance");
        self.keep(other, "another instance");
        self.keep("broken instance", "an id that is none");
        let tree = project.read("/tree");
        let of_bound = self.daemon.token(bound);
        of_bound
            .with("X-Instance-Id", instance)
            .get(&tree)
            .expect_status(200);
        let nobody = self.daemon.anonymous();
        let unknown = "0f1e2d3c4b5a6978".repeat(4);
        self.keep(&unknown, "a token that nobody was given");
        let cookie = alice.user.credential().to_owned();
        let secret = alice.user.secrets().next().unwrap().to_owned();
        let basic = STANDARD.encode(format!("alice:{token}"));
        self.keep(&basic, "a token as a password of the Basic scheme");
        let requests = [
            (
                "another instance",
                of_bound.with("X-Instance-Id", other).get(&tree),
            ),
            (
                "no instance",
                of_bound.with("X-Instance-Id", "broken instance").get(&tree),
            ),
            ("two instances", {
                let twice = of_bound.with("X-Instance-Id", instance);
                twice.with("X-Instance-Id", other).get(&tree)
            }),
            ("of another", self.daemon.token(token).get(&tree)),
            ("unknown", self.daemon.token(&unknown).get(&tree)),
            (
                "two tokens",
                self.daemon
                    .token(token)
                    .with("PRIVATE-TOKEN", bound)
                    .get(&tree),
            ),
            ("cut off", self.daemon.token(&token[1..]).get(&tree)),
            (
                "basic",
                nobody
                    .with("Authorization", &format!("Basic {basic}"))
                    .get(&tree),
            ),
            (
                "in a query",
                nobody.get(&format!(
                    "{tree}?private_token={token}&access_token={bound}"
                )),
            ),
            (
                "in a query of the other API",
                nobody.get(&format!("{ADMIN}/projects?token={token}")),
            ),
            (
                "a session as a token",
                self.daemon.token(&secret).get(&tree),
            ),
            ("a token as a session", {
                let cookie = format!("siteconf_session={token}");
                nobody
                    .with("Cookie", &cookie)
                    .get(&format!("{ADMIN}/projects"))
            }),
            (
                "two sessions",
                alice.user.with("Cookie", &cookie).get("/user/session"),
            ),
            (
                "of another site",
                alice.user.with("Origin", "null").get("/user/session"),
            ),
            (
                "without a right",
                alice.user.get(&format!("{ADMIN}/accounts")),
            ),
            ("another's project", alice.user.get(&project.admin(""))),
        ];
        for (what, answer) in requests {
            assert!(answer.status >= 400, "{what}: {answer:?}");
            self.note(what, &answer);
        }
        self.send_wrong_passwords(&alice);
        self.send_wrong_values(admin);
    }

    fn send_wrong_passwords(&mut self, alice: &Caller) {
        let wrong = "a wrong and secret word";
        self.keep(wrong, "a wrong password");
        self.keep(&DIGITS.to_string(), "a password of digits");
        let right = &alice.password;
        let nobody = self.daemon.anonymous();
        let login = |body: &str| {
            let request = nobody.request("POST", "/user/login");
            let request = request.header("Content-Type", "application/json");
            request.body(body.as_bytes()).send()
        };
        let quoted = |text: &str| json!(text).to_string();
        let (wrong, right) = (quoted(wrong), quoted(right));
        for body in [
            format!(r#"{{"username":"alice","password":{wrong}}}"#),
            format!(r#"{{"username":{right},"password":{wrong}}}"#),
            format!(r#"{{"username":"alice","password":{right}"#),
            format!(r#"{{"username":"alice","password":{right},}}"#),
            format!(r#"{{"username":"alice","password":{right}}} {right}"#),
            format!(r#"{{"username":"alice","password":{right},"password":{right}}}"#),
            format!(r#"{{"username":"alice","password":{DIGITS}}}"#),
            format!(r#"{{"username":"alice","password":-{DIGITS}}}"#),
            format!(r#"{{"username":"alice","password":[{right}]}}"#),
            format!(r#"{{"username":"alice","password":{{"is":{right}}}}}"#),
            format!(r#"{{"username":"alice","password":{right},"more":{right}}}"#),
            format!(r#"["alice",{right}]"#),
            right.clone(),
            DIGITS.to_string(),
        ] {
            let answer = login(&body);
            assert!(matches!(answer.status, 400 | 401), "{body}: {answer:?}");
            self.note(&body.len().to_string(), &answer);
        }
        for form in [
            format!(
                "username=alice&password={}&password=x",
                segment(&alice.password)
            ),
            format!(
                "username=alice&password={}&more=x",
                segment(&alice.password)
            ),
            format!("username=alice&password={}%", segment(&alice.password)),
            format!("password={}", segment(&alice.password)),
        ] {
            let answer = nobody.request("POST", "/user/login").form(&form).send();
            self.note("a form", &answer.expect_status(400));
        }
    }

    fn send_wrong_values(&mut self, admin: &Caller) {
        let guessed = "password1234";
        self.keep(guessed, "a password that is guessed first");
        self.keep("tooshort-1", "a password that is too short");
        let accounts = format!("{ADMIN}/accounts");
        let (digits, own) = (json!(DIGITS), json!(admin.password));
        for password in [
            json!(guessed),
            json!("tooshort-1"),
            digits.clone(),
            json!([guessed]),
        ] {
            let account = json!({ "name": "nobody", "password": password, "roles": [] });
            let answer = admin.user.post(&accounts, &account);
            self.note("an account", &answer.expect_status(400));
            let change = json!({ "password": password });
            let request = admin
                .user
                .request("PUT", &format!("{accounts}/alice/password"));
            let answer = request.json(&change).send();
            self.note("a password", &answer.expect_status(400));
            for body in [
                json!({ "old_password": own, "new_password": password }),
                json!({ "old_password": password, "new_password": own }),
                json!({ "old_password": own, "new_password": own, "more": own }),
            ] {
                let answer = admin
                    .user
                    .request("PUT", "/user/password")
                    .json(&body)
                    .send();
                self.note("the own password", &answer.expect_status(400));
            }
        }
        let answer = admin.user.get(&format!("{ADMIN}/tokens?owner={PLANTED}"));
        self.note("a name of nobody", &answer.expect_status(400));
        let answer = admin
            .user
            .get(&format!("{ADMIN}/projects/no-{PLANTED}.erp"));
        self.note("a project of nobody", &answer.expect_status(404));
    }

    /// All that is written anywhere, by what it is.
    fn written(&mut self, admin: &User) -> Vec<(String, Vec<u8>)> {
        let audit = self.daemon.command(&["audit", "--json"], "");
        let backup = self.daemon.data().with_file_name("backup.tar");
        self.daemon.run(&["backup", backup.to_str().unwrap()], "");
        let mut written = vec![
            ("refusals".to_owned(), self.refused.clone()),
            ("audit".to_owned(), audit.stdout),
            (
                "metrics".to_owned(),
                self.daemon.watcher().get("/metrics").body,
            ),
            ("a backup".to_owned(), fs::read(backup).unwrap()),
        ];
        for list in ["/audit?limit=100", "/tokens?all=1", "/accounts", "/service"] {
            let shown = admin.get(&format!("{ADMIN}{list}")).expect_status(200);
            written.push((list.to_owned(), shown.body));
        }
        // Its end writes the rest of the log.
        assert!(self.daemon.stop().success());
        written.push(("the log".to_owned(), self.daemon.log().into_bytes()));
        for entry in walkdir::WalkDir::new(self.daemon.data()) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let name = entry.path().strip_prefix(self.daemon.data()).unwrap();
                written.push((name.display().to_string(), fs::read(entry.path()).unwrap()));
            }
        }
        written
    }
}

/// The ways in which a secret may be written, as one expression.
fn spellings(secret: &str) -> Regex {
    let base64 = |bytes: &[u8]| {
        let text = STANDARD.encode(bytes);
        text.trim_end_matches('=').as_bytes().to_vec()
    };
    let mut spellings = vec![
        secret.as_bytes().to_vec(),
        secret.to_uppercase().into_bytes(),
        segment(secret).into_bytes(),
        base64(secret.as_bytes()),
        hex::encode(secret).into_bytes(),
    ];
    if let Ok(bytes) = hex::decode(secret) {
        spellings.extend([base64(&bytes), bytes]);
    }
    let escaped = |byte: &u8| format!("\\x{byte:02x}");
    let literals = spellings
        .iter()
        .map(|spelling| -> String { spelling.iter().map(escaped).collect() });
    let either: Vec<_> = literals.collect();
    Regex::new(&format!("(?s-u){}", either.join("|"))).unwrap()
}

/// The names of what holds a secret.
fn holders<'w>(written: &'w [(String, Vec<u8>)], secret: &str) -> Vec<&'w str> {
    let spellings = spellings(secret);
    let found = written
        .iter()
        .filter(|(_, bytes)| spellings.is_match(bytes));
    found.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn no_secret_is_anywhere_but_with_whom_it_belongs() {
    let mut stage = Stage::new();
    let first = stage.daemon.initial_password();
    let admin = stage.log_in("admin", &first);
    stage.daemon.add_account("alice", &[]);
    let project = Project::with_main(&admin.user, PLANTED);
    project.save("main", "a.xml", PLANTED);
    project.save("main", "b.bin", hex::decode(PLANTED_BYTES).unwrap());
    project.save("main", "c.bin", PLANTED.repeat(10_000));
    stage.ask_every_route(&admin);
    stage.make_mistakes(&admin, &project);
    // The password of the first start goes with its file.
    let body = json!({ "old_password": first, "new_password": admin.next_password });
    let changed = admin
        .user
        .request("PUT", "/user/password")
        .json(&body)
        .send();
    stage.note("PUT /user/password", &changed.expect_status(204));
    stage.daemon.kill();
    stage
        .daemon
        .restart_with(&["--log", "trace", "--metrics-listen", "127.0.0.1:0"]);
    let admin = stage.log_in("admin", &admin.next_password);
    let reader = stage.daemon.token(&"0".repeat(64));
    reader.get(&format!("{READ}/projects")).assert_refused(401);

    let written = stage.written(&admin.user);
    assert!(stage.secrets.len() > 50, "{}", stage.secrets.len());
    for (secret, what) in &stage.secrets {
        let found = holders(&written, secret);
        assert!(found.is_empty(), "{what} ({secret}) is in {found:?}");
    }
    // What is no secret is found in each of them.
    let found = holders(&written, PLANTED);
    for place in [
        "refusals",
        "audit",
        "a backup",
        "/audit?limit=100",
        "the log",
    ] {
        assert!(
            found.contains(&place),
            "{PLANTED} is not in {place}: {found:?}"
        );
    }
    assert!(
        found.iter().any(|place| place.starts_with("store.db")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|place| place.starts_with("blobs/")),
        "{found:?}"
    );
    let found = holders(&written, PLANTED_BYTES);
    assert!(
        found.iter().any(|place| place.starts_with("store.db")),
        "{found:?}"
    );
    assert!(holders(&written, "siteconf_http_requests_total").contains(&"metrics"));
}
